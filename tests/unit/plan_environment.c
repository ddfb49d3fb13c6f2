/* Which variables are taken for credentials by their names. */
#include "plan/environment.h"

#include "tap.h"

/* Names of credentials that programs and services document; `*` where they have several. */
static const char *const documented[] = {
	"TOKEN", "API_TOKEN", "*_API_TOKEN", "ACCESS_TOKEN", "*_ACCESS_TOKEN", "*ACCESSTOKEN",
	"AUTH_TOKEN", "*_AUTH_TOKEN", "BEARER_TOKEN", "*_BEARER_TOKEN", "OAUTH_TOKEN",
	"*_OAUTH_TOKEN", "REFRESH_TOKEN", "*_REFRESH_TOKEN", "SESSION_TOKEN", "*_SESSION_TOKEN",
	"SERVICE_ACCOUNT_TOKEN", "*_SERVICE_ACCOUNT_TOKEN", "BOT_TOKEN", "*_BOT_TOKEN",
	"JWT_TOKEN", "AZP_TOKEN", "HTTP_AUTHORIZATION", "DEPLOY_TOKEN", "*_DEPLOY_TOKEN",
	"*_HTTP_TOKEN", "ID_TOKEN", "*_ID_TOKEN", "*_PROJECT_TOKEN", "*_PUBLISH_TOKEN",
	"*_REST_TOKEN", "*_SERVICE_TOKEN", "AWS_*TOKEN*", "AZURE_*TOKEN", "OPENAI_*TOKEN",
	"OPENAI_*TOKEN_*", "ANTHROPIC_*TOKEN", "ANTHROPIC_*TOKEN_*", "CLAUDE_*TOKEN",
	"CLAUDE_*TOKEN_*", "GEMINI_*TOKEN", "GEMINI_*TOKEN_*", "COPILOT_*TOKEN",
	"DEEPINFRA_*TOKEN", "HF_TOKEN", "HUB_TOKEN", "HUGGING*TOKEN", "MODAL_TOKEN_*",
	"OCTOAI_TOKEN", "GH_*TOKEN", "GHCR_TOKEN", "GIT_TOKEN", "GITHUB*TOKEN", "GITLAB*TOKEN",
	"GITEA_*TOKEN", "BITBUCKET_*TOKEN", "ACTIONS_*TOKEN", "CI_JOB_TOKEN", "CI_JOB_JWT*",
	"CIRCLE*TOKEN", "TRAVIS_TOKEN", "BUILDKITE_*TOKEN", "DRONE_*TOKEN", "JENKINS_*TOKEN",
	"RUNNER_TOKEN", "CODECOV_TOKEN", "COVERALLS_*TOKEN", "SENTRY_*TOKEN", "SONAR_TOKEN",
	"SNYK_TOKEN", "NPM_TOKEN", "PYPI_TOKEN", "POETRY_PYPI_TOKEN_*", "CARGO_REGISTR*TOKEN",
	"ARTIFACTORY_*TOKEN", "JFROG_*TOKEN", "DOCKER*TOKEN", "QUAY_*TOKEN", "TFE_TOKEN",
	"TF_TOKEN_*", "CLOUDFLARE_*TOKEN", "DATABRICKS_TOKEN", "DIGITALOCEAN_*TOKEN", "DO_TOKEN",
	"DOPPLER_TOKEN", "EXPO_TOKEN", "FIREBASE_*TOKEN", "FLY_*TOKEN", "HCLOUD_TOKEN",
	"INFISICAL_TOKEN", "LINODE_*TOKEN", "NETLIFY_*TOKEN", "NOMAD_TOKEN", "RAILWAY_*TOKEN",
	"RENDER_*TOKEN", "VAULT_TOKEN", "VERCEL_*TOKEN", "ASANA_*TOKEN", "ATLASSIAN_*TOKEN",
	"CONFLUENCE_*TOKEN", "DISCORD_*TOKEN", "FIGMA_*TOKEN", "GRAFANA_*TOKEN", "JIRA_*TOKEN",
	"NOTION_*TOKEN", "OKTA_*TOKEN", "PAGERDUTY_*TOKEN", "POSTMARK_*TOKEN", "SHOPIFY_*TOKEN",
	"SLACK_*TOKEN", "TELEGRAM_*TOKEN", "TRELLO_*TOKEN", "TWILIO_*TOKEN", "ZENDESK_*TOKEN",
	"GH_PAT", "*_PAT", "BW_SESSION", "OP_SESSION_*", "*AUTHTOKEN", "*_AUTH_TOKENS",
	"*_API_*_TOKEN", "APP_TOKEN", "*_APP_TOKEN", "*_CLOUD_TOKEN", "*_CONNECT_TOKEN",
	"*_DELIVERY_TOKEN", "*_HEC_TOKEN", "*_MANAGEMENT_TOKEN", "*_OIDC_*TOKEN", "*_READ_TOKEN",
	"*_SAS_TOKEN", "SECRET_TOKEN", "*_SECRET_TOKEN", "*_WRITE_TOKEN", "AIRTABLE_TOKEN",
	"AKEYLESS_TOKEN", "ATTIC_TOKEN", "AXIOM_TOKEN", "BETTERSTACK_TOKEN", "BOUNDARY_TOKEN",
	"CF_TOKEN", "CIVO_TOKEN", "CLICKUP_TOKEN", "CONDA_TOKEN", "CONSUL_TOKEN",
	"CONTENTFUL_*TOKEN", "DEPENDABOT_TOKEN", "DEPOT_TOKEN", "DROPBOX_TOKEN", "EARTHLY_TOKEN",
	"EAS_TOKEN", "FLAKEHUB_TOKEN", "GL_TOKEN", "HUBSPOT_TOKEN", "INFLUX*_TOKEN",
	"INTERCOM_TOKEN", "JSR_TOKEN", "KOYEB_TOKEN", "KUBE*_TOKEN", "LOGFIRE_TOKEN",
	"LOGTAIL_TOKEN", "MAPBOX_TOKEN", "MILVUS_TOKEN", "MLFLOW_*TOKEN", "MONDAY_TOKEN",
	"MOTHERDUCK_TOKEN", "OS_TOKEN", "OSSRH_TOKEN", "PERCY_TOKEN", "PIXI_TOKEN",
	"PRISMIC_TOKEN", "QSTASH_TOKEN", "RENOVATE_TOKEN", "ROLLBAR_TOKEN", "SANITY_TOKEN",
	"SNOWFLAKE_TOKEN", "SONARQUBE_TOKEN", "SPLUNK_TOKEN", "STORYBLOK_TOKEN", "STRAPI_TOKEN",
	"SURGE_TOKEN", "TERRAFORM_TOKEN", "TF_VAR_*TOKEN", "TFC_TOKEN", "TODOIST_TOKEN",
	"TUNNEL_TOKEN", "TURBO_TOKEN", "TWITCH_TOKEN", "UPCLOUD_TOKEN", "VAULT_*TOKEN_ID",
	"ZEROTIER_TOKEN", "FASTLANE_SESSION", "AUGMENT_SESSION_AUTH", "API_KEY", "*_API_KEY",
	"*_API_KEYS", "*_API_KEY_*", "*APIKEY", "*APIKEYS", "ACCESS_KEY", "*_ACCESS_KEY",
	"*_ACCESSKEY", "*_ACCESS_KEY_ID", "SECRET_KEY", "*_SECRET_KEY", "*SECRETKEY",
	"SECRET_KEY_BASE", "PRIVATE_KEY", "*_PRIVATE_KEY", "*PRIVATEKEY", "*_MASTER_KEY",
	"ADMIN_KEY", "*_ADMIN_KEY", "APP_KEY", "*_APP_KEY", "LICENSE_KEY", "*_LICENSE_KEY",
	"SERVICE_KEY", "*_SERVICE_KEY", "*_SERVICE_ROLE_KEY", "*_ACCOUNT_KEY", "AUTH_KEY",
	"*_AUTH_KEY", "*_AUTHKEY", "*_DEPLOY_KEY", "SERPAPI_KEY", "SIGNING_KEY", "*_SIGNING_KEY",
	"ENCRYPTION_KEY", "*_ENCRYPTION_KEY", "AGE_KEY", "*_AGE_KEY", "*_SA_KEY", "*_SDK_KEY",
	"*_WRITE_KEY", "KAGGLE_KEY", "*_KEY_CONTENT", "OPENAI_KEY*", "*_OPENAI_KEY*",
	"ANTHROPIC_KEY*", "AWS_*KEY*", "AZURE_*KEY*", "CLAUDE_*KEY*", "FAL_*KEY*", "GEMINI_*KEY*",
	"GOOGLE_*KEY*", "HEROKU_*KEY", "LITELLM_*KEY*", "STRIPE_*KEY", "SUPABASE_KEY",
	"QIANFAN_AK", "QIANFAN_SK", "REPLICATE_*", "MASTER_KEY", "DEPLOY_KEY", "SSH_KEY",
	"JWT_KEY", "*_JWT_KEY", "FERNET_KEY", "*_FERNET_KEY", "*_APPLICATION_KEY",
	"*_APPLICATION_KEY_ID", "*_CONSUMER_KEY", "*_RECORD_KEY", "*_SETUP_KEY",
	"*_SIGNATURE_KEY", "ORG_GRADLE_PROJECT_*KEY", "ALCHEMY_KEY", "BACKBLAZE_KEY",
	"ETHERSCAN_KEY", "FASTLY_KEY", "INFURA_KEY", "ITCH_BUTLER_KEY", "LOGDNA_KEY",
	"NEWRELIC_KEY", "STABILITY_KEY", "TRELLO_KEY", "HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK",
	"TENCENTCLOUD_SECRET_ID", "UNITY_LICENSE", "UNITY_SERIAL", "MNEMONIC", "*_MNEMONIC",
	"SEED_PHRASE", "*_SEED_PHRASE", "*PASSWORD", "*PASSWD", "PASSPHRASE", "*_PASSPHRASE",
	"PASS", "*_PASS", "DB_PWD", "MYSQL_PWD", "ORACLE_PWD", "SNOWSQL_PWD", "REDISCLI_AUTH",
	"NEO4J_AUTH", "ETCDCTL_USER", "*CLIENTSECRET", "*APISECRET", "VAULT_SECRET_ID",
	"DBT_ENV_SECRET_*", "IDENTITY_HEADER", "SONAR_LOGIN", "SECRET", "*_SECRET", "SECRETS",
	"*_SECRETS", "AZURE_*SECRET*", "CONNECTION_STRING", "*_CONNECTION_STRING", "*_WEBHOOK",
	"WEBHOOK_URL", "*_WEBHOOK_URL", "DOCKER_AUTH_CONFIG", "AWS_CREDENTIALS", "COMPOSER_AUTH",
	"NPM_CONFIG_*AUTH*", "BUNDLE_*__COM", "BUNDLE_*__ORG", "BUNDLE_*__NET", "BUNDLE_*__IO",
	"BUNDLE_*__DEV", "GOOGLE_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS",
	"*_CREDENTIALS_JSON", "*_KEYFILE_JSON", "VERTEX_*CREDENTIALS", "AZURE_CREDENTIALS",
	"BIGQUERY_CREDENTIALS", "GCP_CREDENTIALS", "KSM_CONFIG", "CSC_LINK", "SFDX_AUTH_URL",
	"CI_REPOSITORY_URL", "MC_HOST_*", "AIRFLOW_CONN_*", "AIRFLOW__*__SQL_ALCHEMY_CONN",
	"*_OTLP_HEADERS", "*_OTLP_*_HEADERS", "ANTHROPIC_CUSTOM_HEADERS", "YARN_NPM_AUTH_IDENT",
	"HATCH_INDEX_AUTH", "*_EXTERNAL_FEED_ENDPOINTS", "GIT_CONFIG_PARAMETERS", "KRB5CCNAME",
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SUDO_ASKPASS", "GIT_ASKPASS",
	"GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "AWS_CONTAINER_CREDENTIALS_*",
	"VSCODE_GIT_IPC_HANDLE", "VSCODE_IPC_HOOK_CLI",
};

/* Of those: a star beside letters stands for whole words of a name alone (AWS_ACCESS_KEY_ID,
 * not AWS_XKEYX). */
static const char *const only_whole_words[] = {
	"AWS_*TOKEN*", "OPENAI_KEY*", "*_OPENAI_KEY*", "ANTHROPIC_KEY*", "AWS_*KEY*",
	"AZURE_*KEY*", "CLAUDE_*KEY*", "FAL_*KEY*", "GEMINI_*KEY*", "GOOGLE_*KEY*", "HEROKU_*KEY",
	"LITELLM_*KEY*", "STRIPE_*KEY", "AZURE_*SECRET*", "NPM_CONFIG_*AUTH*",
	"VERTEX_*CREDENTIALS", NULL
};

/* What a star of a documented name is replaced by. */
enum star { NOTHING, WORDS, LETTERS };

/* PATTERN with something in the place of each star. */
static struct str example(const char *pattern, enum star star, char out[static 64])
{
	size_t n = 0;

	for (const char *at = pattern; *at; at++) {
		bool after = at > pattern && at[-1] != '_', before = at[1] && at[1] != '_';

		if (*at != '*')
			out[n++] = *at;
		else if (star == LETTERS)
			out[n++] = 'X';
		else if (star == WORDS)
			n += (size_t)snprintf(out + n, 8, "%sAB_X%s", after ? "_" : "",
					      before ? "_" : "");
	}
	return str_first((struct str){ out, 0 }, n);
}

static void test_documented_names_are_left_out(void)
{
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(documented); i++)
		for (enum star star = NOTHING; star <= LETTERS; star++) {
			struct str name = example(documented[i], star, text);
			bool taken = environment_is_credential(name);
			bool decided = star == LETTERS &&
				       str_is_one_of(str_from(documented[i]), only_whole_words);

			ok(taken != decided, "%s as %.*s", documented[i], STR_FMT(name));
		}
}

static void test_each_form_of_a_name(void)
{
	static const char *const secret[] = {
		/* of a program that no list knows */
		"MYAPP_TOKEN", "MYAPP_KEY", "MYAPP_SECRET_OLD", "X_PASS", "X_PAT", "X_PWD", "KEY",
		"X_KEYS", "X_TOKENS", "X_SECRETS", "X_WEBHOOK", "AUTH", "X_MNEMONIC",
		"X_PASSPHRASE", "X_CREDENTIALS", "MYPASSWORD", "MYPASSWD", "X_ASKPASS_2",
		/* in other letters, with digits */
		"openai_api_key", "openai.api-key", "MyApp_Token", "OPENAI_API_KEY2", "TOKEN_2",
		"SSH_AUTH_SOCK",
		/* the path and the number are of something else */
		"X_TOKEN_FILENAME", "KEY_PATHS", "X_PWD2", "MAX_TOKEN", "AIRFLOW_CONN_MY_FILE", NULL
	};
	static const char *const plain[] = {
		"PWD", "OLDPWD", "HOST_PWD", "INIT_CWD", "KEYBOARD_LAYOUT", "KEYMAP", "KEYTIMEOUT",
		"PASSED", "PATH", "GIT_AUTHOR_NAME", "AUTHORS", "TOKENIZERS_PARALLELISM",
		"NPM_TOKEN_FILE", "X_API_KEY_FILE", "OPENAI_API_KEY_PATH", "SSH_KEY_PATH",
		"GPG_KEY", "GPG_KEYS", "CACHE_KEY", "SUPABASE_ANON_KEY", "LANGFUSE_PUBLIC_KEY",
		"GIT_CONFIG_KEY_0", "MAX_TOKENS", "OPENAI_MAX_TOKENS", "MAX_THINKING_TOKENS",
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "PASSWORD_STORE_DIR", "WEBHOOK_PORT", "SECRETISH",
		"_", "__", "2", "DATABASE_URL", "LC_ALL", NULL
	};
	char longest[257];

	for (size_t i = 0; secret[i]; i++)
		ok(environment_is_credential(str_from(secret[i])), "%s is left out", secret[i]);
	for (size_t i = 0; plain[i]; i++)
		ok(!environment_is_credential(str_from(plain[i])), "%s is passed on", plain[i]);
	memset(longest, 'A', sizeof(longest));
	ok(!environment_is_credential((struct str){ longest, 256 }), "the longest");
	ok(environment_is_credential((struct str){ longest, 257 }), "one too long to be judged");
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_documented_names_are_left_out),
					    TAP(test_each_form_of_a_name), TAP_END });
}

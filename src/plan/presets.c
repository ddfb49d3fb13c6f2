/* The places behind the words; see presets.h. */
#include "plan/presets.h"

#include <stddef.h>

const char *const preset_system[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", NULL
};

const char *const preset_etc[] = {
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives",
	"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf",
	"/etc/resolv.conf", "/etc/gai.conf", "/etc/protocols", "/etc/services",
	"/etc/localtime", "/etc/timezone", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
	"/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/pki/tls/certs",
	"/etc/pki/ca-trust", "/etc/crypto-policies", "/etc/locale.alias", "/etc/locale.conf",
	"/etc/default/locale", "/etc/profile", "/etc/profile.d", "/etc/bash.bashrc",
	"/etc/bash_completion.d", "/etc/inputrc", "/etc/zsh", "/etc/shells", "/etc/terminfo",
	"/etc/os-release", "/etc/debian_version", "/etc/lsb-release", "/etc/redhat-release",
	"/etc/login.defs", "/etc/mime.types", "/etc/magic",
	"/etc/gitconfig", "/etc/python3", "/etc/python3.*", "/etc/perl",
	"/etc/java-*-openjdk", "/etc/nodejs", "/etc/npmrc",
	"/etc/maven", "/etc/fonts", "/etc/xdg", "/etc/vim", "/etc/nanorc",
	"/etc/wgetrc", "/etc/gss", "/etc/apt", "/etc/dpkg", "/etc/gdb", "/etc/emacs", "/etc/R",
	"/etc/ghc", "/etc/php", "/etc/java", "/etc/groovy", "/etc/mono", "/etc/nim", "/etc/fish",
	/* what refuses to work, or asks a question, when it may not read its own */
	"/etc/sbclrc", "/etc/fpc.cfg", "/etc/fpc-*.cfg", "/etc/manpath.config", "/etc/groff",
	"/etc/screenrc", "/etc/tmux.conf", "/etc/ltrace.conf", "/etc/debuginfod", "/etc/iproute2",
	"/etc/networks", "/etc/rpc", "/etc/ImageMagick-*", "/etc/texmf",
	"/etc/papersize", "/etc/mailcap", "/etc/sgml", "/etc/xml", "/etc/libreoffice",
	"/etc/chromium", "/etc/chromium.d", "/etc/X11", "/etc/gtk-*",
	"/etc/glvnd", "/etc/vulkan", NULL
};

const char *const preset_toolchains[] = {
	"/opt", ".asdf", ".bun", ".cargo", ".deno", ".dotnet", ".fnm", ".ghcup", ".juliaup",
	".local/bin", ".local/lib", ".local/share/mise", ".local/share/pnpm", ".local/share/uv",
	".local/share/virtualenv", ".nvm", ".pyenv", ".rbenv", ".rustup", ".sdkman", ".swiftly",
	".volta", "go", NULL
};

const char *const preset_config[] = {
	".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
	".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml", ".condarc",
	".editorconfig", NULL
};

const char *const protect_git[] = {
	".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir",
	".git/info/attributes", ".git/modules", ".git/worktrees",
	/* where a remote of that name is, which may be a folder with hooks of its own */
	".git/remotes", ".git/branches",
	/* with which the folder itself would be taken for one, should `.git` not be good */
	"HEAD", NULL };

const char *const protect_git_folder_names[] = { "hooks", "config", "config.worktree", "commondir",
						 "info/attributes", "modules", "remotes",
						 "branches", NULL };
const char *const guard_worktrees[] = { "worktrees/*/config.worktree", "worktrees/*/commondir",
					NULL };

/* What harnesses and editors run, start or take their permissions from when somebody
 * opens the folder.  Not instructions: these are text to a model, and projects live
 * with them. */
const char *const protect_agent[] = {
	/* ours, and other harnesses' policies */
	"cordon.toml", "harness.md", ".harness", "task.toml", ".srt-settings.json",
	/* hooks, servers to start, tools that need no question */
	".claude", ".mcp.json", ".codex", ".gemini", ".qwen", ".cursor", ".cursorrules",
	".windsurf", ".continue", ".roo", ".roomodes", ".kiro", ".amazonq", ".amp", ".factory",
	".junie", ".trae", ".kilocode", ".kilocodemodes", ".vibe", ".opencode", "opencode.json",
	"opencode.jsonc", ".crush", ".crush.json", "crush.json", ".crushrc", "crushrc",
	".aider.conf.yml",
	/* a script that is run first */
	".openhands",
	/* hooks of Copilot and Cline; the rest is run elsewhere, or text */
	".github/hooks", ".clinerules/hooks",
	/* tasks, debuggers, interpreters and servers of a workspace */
	".vscode", ".idea", ".zed", ".fleet", ".theia", ".helix",
	/* hooks, aliases and tools of others than git, which prompts run as well */
	".hg/hgrc", ".hg/hgrc-not-shared", ".jj/repo/config.toml", ".jj/workspace-config.toml",
	/* servers, hooks and permissions of an agent or an editor below HOME */
	".copilot", ".config/opencode", ".config/crush", ".config/goose", ".config/amp",
	".config/zed",
	/* a command for the host before the container */
	".devcontainer", ".devcontainer.json",
	/* run by the shell's prompt; mise trusts a folder, whatever it holds later, and runs
	 * what templates in its versions say */
	".envrc", ".envrc.local", "mise.toml", "mise.local.toml", ".mise.toml",
	".mise.local.toml", ".mise", "mise/config.toml", "mise/config.local.toml",
	".config/mise.toml", ".config/mise.local.toml", ".config/mise", ".rtx.toml",
	".rtx.local.toml", ".tool-versions", NULL
};

const char *const protect_anywhere[] = { "**/cordon.toml", "**/harness.md",
					 "**/.harness/config.toml", "**/task.toml", NULL };

const char *const protect_shell[] = {
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc",
	".login", ".inputrc", ".config/fish", ".config/autostart", ".config/systemd",
	".xinitrc", ".xprofile", ".xsession", ".gitconfig", ".config/git", ".npmrc", ".pypirc",
	".pam_environment", ".bash_completion", ".config/environment.d", ".bashrc.d",
	/* run by programs that everybody starts */
	".vimrc", ".vim", ".exrc", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs",
	".tmux.conf", ".config/tmux", ".screenrc", ".gdbinit", ".psqlrc", ".sqliterc",
	/* run by a login */
	".local/share/systemd", ".local/share/dbus-1", ".config/plasma-workspace",
	".config/autostart-scripts", ".xsessionrc", ".config/i3", ".config/sway", ".config/hypr",
	".gnomerc", ".config/openbox", ".config/awesome", ".config/qtile", ".config/river",
	/* by other shells, and by their prompts */
	".config/zsh", ".oh-my-zsh", ".config/nushell", ".config/powershell", ".xonshrc",
	".config/starship.toml", ".config/direnv", ".direnvrc", ".config/elvish",
	".config/xonsh", ".p10k.zsh", ".fzf.bash", ".fzf.zsh", ".local/share/bash-completion",
	/* by terminals and editors */
	".config/kitty", ".config/alacritty", ".alacritty.toml", ".config/wezterm",
	".wezterm.lua", ".config/ghostty", ".config/Code/User", ".config/Cursor/User",
	".config/VSCodium/User", ".config/Windsurf/User", ".vscode-server", ".cursor-server",
	".lldbinit", ".config/gdb", ".selected_editor",
	/* hooks, aliases and tools of others than git */
	".hgrc", ".config/hg", ".jjconfig.toml", ".config/jj",
	/* found before the programs of the system, or read by them */
	".local/bin", ".cargo/bin", ".cargo/env", ".nvm/nvm.sh", ".docker/cli-plugins",
	".deno/env", ".ghcup/env", ".asdfrc",
	/* let somebody in, or run something when a letter comes */
	".rhosts", ".shosts", ".forward", NULL
};

const struct protected_set protected_sets[] = { { "git", protect_git },
						{ "agent-config", protect_agent },
						{ "shell-rc", protect_shell },
						{ NULL, NULL } };

const char *const credentials[] = {
	".ssh", ".aws", ".azure", ".gnupg", ".netrc", ".git-credentials", ".pypirc", ".npmrc",
	".yarnrc.yml", ".pgpass", ".my.cnf", ".docker/config.json", ".kube", ".config/gh",
	".config/gcloud", ".config/git/credentials", ".config/glab-cli", ".config/hub",
	".config/github-copilot", ".config/rclone", ".config/doctl", ".config/hcloud",
	".config/containers/auth.json", ".config/.wrangler", ".config/stripe", ".config/sops",
	".config/configstore", ".config/composer/auth.json", ".config/op", ".config/anthropic",
	".config/openai", ".composer/auth.json", ".cargo/credentials",
	".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
	".gradle/gradle.properties", ".cache/huggingface/token",
	".cache/huggingface/stored_tokens", ".huggingface/token", ".claude.json",
	".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json",
	".local/share/keyrings", ".password-store", ".mozilla", ".config/google-chrome",
	".config/chromium", ".terraform.d/credentials.tfrc.json", ".vault-token",
	/* in what developer_toolchains opens */
	".local/share/uv/credentials", ".dotnet/corefx",
	".config/pypoetry/auth.toml", ".nuget/NuGet/NuGet.Config", ".bundle/config",
	".ivy2/.credentials", ".sbt/.credentials", ".terraformrc", ".s3cfg", ".boto", ".oci",
	".databrickscfg", ".kaggle", ".fly", ".supabase", ".config/netlify",
	".local/share/com.vercel.cli", ".config/heroku", ".authinfo", ".authinfo.gpg",
	".msmtprc", ".fetchmailrc", ".smbcredentials", ".Xauthority", ".ICEauthority",
	".local/share/kwalletd", ".config/Bitwarden CLI", ".config/1Password", ".thunderbird",
	".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera",
	".config/solana", ".ethereum", ".bitcoin",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history",
	".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history",
	".irb_history", ".local/share/fish/fish_history", ".histfile", ".sh_history",
	".local/share/atuin",
	/* browsers and letters, as snaps and flatpaks keep them too */
	"snap/firefox/common/.mozilla", "snap/chromium", ".var/app", ".librewolf",
	".config/google-chrome-beta", ".config/Slack", ".config/Signal", ".purple",
	/* of agents and models */
	".local/share/opencode/auth.json", ".qwen/oauth_creds.json", ".config/goose/secrets.yaml",
	".config/io.datasette.llm", ".modal.toml",
	/* of where things are sent to and run */
	".config/helm/registry", ".config/argocd", ".pulumi/credentials.json", ".jfrog",
	".circleci", ".railway", ".config/scw", ".config/linode-cli", ".cloudflared",
	".config/ngrok", ".snowflake", ".dbt", ".chef", ".sentryclirc", ".gist", ".curlrc",
	".wgetrc", ".mylogin.cnf", ".pg_service.conf", ".subversion/auth", ".rclone.conf", ".vnc",
	".config/filezilla", ".config/syncthing", ".local/share/remmina",
	/* of keepers of keys, and purses */
	".config/Bitwarden", ".local/share/gopass", ".electrum", NULL
};

const struct moved_folder moved_folders[] = {
	{ "ZDOTDIR", "", ".z", MOVED_WHOLE },
	{ "XDG_CONFIG_HOME", ".config", "", MOVED_WHOLE },
	{ "XDG_DATA_HOME", ".local/share", "", MOVED_WHOLE },
	{ "GIT_CONFIG_GLOBAL", ".gitconfig", "", MOVED_WHOLE },
	{ "BASH_ENV", ".bashrc", "", MOVED_BY_SHELL },
	{ "CARGO_HOME", ".cargo", "", MOVED_WHOLE },
	{ "DOCKER_CONFIG", ".docker", "", MOVED_WHOLE },
	{ "GNUPGHOME", ".gnupg", "", MOVED_WHOLE },
	{ "CLAUDE_CONFIG_DIR", ".claude", "", MOVED_WHOLE },
	{ "CODEX_HOME", ".codex", "", MOVED_WHOLE },
	{ "GH_CONFIG_DIR", ".config/gh", "", MOVED_WHOLE },
	{ "CLOUDSDK_CONFIG", ".config/gcloud", "", MOVED_WHOLE },
	{ "AZURE_CONFIG_DIR", ".azure", "", MOVED_WHOLE },
	{ "CLAUDE_CONFIG_DIR", "", ".claude.json", MOVED_WHOLE },
	{ "XDG_CACHE_HOME", ".cache", "", MOVED_WHOLE },
	{ "HF_HOME", ".cache/huggingface", "", MOVED_WHOLE },
	{ "NVM_DIR", ".nvm", "", MOVED_WHOLE },
	{ "DENO_INSTALL", ".deno", "", MOVED_WHOLE },
	{ "GHCUP_INSTALL_BASE_PREFIX", "", ".ghcup", MOVED_WHOLE },
	{ "MISE_CONFIG_DIR", ".config/mise", "", MOVED_WHOLE },
	{ "OPENCODE_CONFIG_DIR", ".config/opencode", "", MOVED_WHOLE },
	{ "COPILOT_HOME", ".copilot", "", MOVED_WHOLE },
	{ "GEMINI_CLI_HOME", "", ".gemini", MOVED_WHOLE },
	{ "QWEN_HOME", ".qwen", "", MOVED_WHOLE },
	{ "DIRENV_CONFIG", ".config/direnv", "", MOVED_WHOLE },
	{ "KITTY_CONFIG_DIRECTORY", ".config/kitty", "", MOVED_WHOLE },
	{ "ZSH", ".oh-my-zsh", "", MOVED_WHOLE },
	{ "HGRCPATH", ".hgrc", "", MOVED_LIST },
	{ "JJ_CONFIG", ".jjconfig.toml", "", MOVED_LIST },
	{ "PASSWORD_STORE_DIR", ".password-store", "", MOVED_WHOLE },
	{ "PULUMI_HOME", ".pulumi", "", MOVED_WHOLE },
	{ "GRADLE_USER_HOME", ".gradle", "", MOVED_WHOLE },
	{ "COMPOSER_HOME", ".composer", "", MOVED_WHOLE },
	{ "HELM_CONFIG_HOME", ".config/helm", "", MOVED_WHOLE },
	{ "LLM_USER_PATH", ".config/io.datasette.llm", "", MOVED_WHOLE },
	{ NULL, NULL, NULL, MOVED_WHOLE }
};

const char *const root_files[] = {
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
	"/etc/security/opasswd", "/etc/krb5.keytab", "/etc/apt/auth.conf", "/proc/kcore",
	"/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/kmsg",
	"/proc/timer_list", "/proc/slabinfo", "/proc/vmallocinfo", NULL
};

const char *const root_folders[] = {
	"/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/etc/apt/auth.conf.d", NULL
};

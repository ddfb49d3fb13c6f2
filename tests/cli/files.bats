# Files of every kind: missing, unreadable, empty, huge, binary.
# beside: yes
# weight: 2/4
# The variables come from place.bash; commands are split into words on purpose.
# shellcheck disable=SC2154,SC2086
load place

@test "a good file: nothing is said, exit 0" {
	printf '[limits]\nmemory = "1G"\n' >cordon.toml
	cordon check cordon.toml
	is "$status" 0
	is "$out$err" ""
}

@test "a wrong file: each problem with its place, on stderr, exit 1" {
	printf 'profil = "wasi"\n[limits]\nmemory = "lots"\n' >cordon.toml
	cordon check cordon.toml
	is "$status" 1
	is "$out" ""
	is "$err" "cordon.toml:1:1: unknown key 'profil'; did you mean 'profile'?
cordon.toml:3:10: 'lots' is not valid for limits.memory; write a size such as \"512M\", or \"none\""
}

@test "several files are checked by themselves" {
	printf 'profil = 1\n' >a.toml
	printf '' >b.toml
	printf 'backen = 1\n' >c.toml
	cordon check a.toml b.toml c.toml
	is "$status" 1
	has "$err" "a.toml:1:1: "
	has "$err" "c.toml:1:1: "
	has_not "$err" "b.toml"
}

@test "hundreds of files can be checked" {
	for i in $(seq 300); do printf '[limits]\ncpus = %s\n' "$i" >"$i.toml"; done
	cordon check ./*.toml
	is "$status" 0
	cordon policy show ./*.toml
	usage_error "300 policy files are given; 64 at most"
}

@test "a missing file is exit 2" {
	for command in "check" "policy show" "policy convert" "policy diff none" \
		"policy intersect none" "explain --policy"; do
		cordon $command none
		is "$status" 2
		is "$out" ""
		has "$err" "cannot open 'none': No such file or directory; name a policy that can be read"
	done
	for command in "run --policy none -- true" "explain --policy none" \
		"session start --policy none" "policy match --policy none a.example"; do
		cordon $command
		is "$status" 2
		has "$err" "--policy: cannot open 'none': No such file or directory; name a policy"
	done
	cordon trial none
	is "$status" 2
	has "$err" "there is no task 'none'; name a task.toml"
	cordon policy match --policy none a.example
	is "$status" 2
	is "$out" "denied: the policy is not valid"
}

@test "a directory" {
	mkdir d
	cordon check d
	is "$status" 2
	has "$err" "'d' is a directory; name a file"
}

@test "a pipe that nobody writes to does not hang, and is no empty policy" {
	mkfifo pipe
	run timeout 10 "$CORDON" check pipe
	is "$status" 2
	has "$output" "'pipe' is a pipe that nobody writes to"
}

@test "a pipe that somebody writes to" {
	run bash -c '"$0" check <(echo "profil = 1")' "$CORDON"
	is "$status" 1
	has "$output" "unknown key 'profil'"
}

@test "a file that cannot be read" {
	if [ "$(id -u)" = 0 ]; then
		chmod 755 .
		printf 'x\n' >secret.toml
		chmod 600 secret.toml
		run setpriv --reuid 65534 --regid 65534 --clear-groups \
			"$CORDON" check "$place/secret.toml"
	else
		printf 'x\n' >secret.toml
		chmod 0 secret.toml
		run "$CORDON" check secret.toml
	fi
	is "$status" 2
	has "$output" "Permission denied"
}

@test "an empty file is an empty policy" {
	: >cordon.toml
	cordon check cordon.toml
	is "$status" 0
	cordon policy intersect cordon.toml cordon.toml
	is "$status" 0
	is "$out" ""
	: >empty.json
	cordon check --dialect srt empty.json
	is "$status" 1
	has "$err" "empty.json:1:1: "
}

@test "a file that is too large" {
	head -c 17000000 /dev/zero | tr '\0' '#' >cordon.toml
	cordon check cordon.toml
	is "$status" 2
	has "$err" "'cordon.toml' is larger than 16777216 bytes"
	run timeout 20 "$CORDON" check /dev/zero
	is "$status" 2
	has "$output" "is larger than"
}

@test "binary files, in every dialect" {
	head -c 100000 /dev/urandom >random
	printf 'a = "\0"\n' >nul
	printf '\xff\xfe' >utf16
	for dialect in cordon ai-harness openharness harn harbor srt; do
		for file in random nul utf16; do
			cordon check --dialect $dialect $file
			[ "$status" -le 1 ]
			run -1 grep -P '[\x00-\x08\x0b-\x1f\x7f]' .err
		done
	done
	cordon check random
	is "$status" 1
}

@test "an unknown dialect" {
	: >f
	for command in "check --dialect x f" "policy show --dialect x f" \
		"policy convert --dialect x f"; do
		cordon $command
		is "$status" 2
		has "$err" "'x' is not a dialect; write cordon, ai-harness, "
	done
}

@test "a policy in another dialect than the one that is said is not ignored" {
	printf '[network]\nmode = "allowlist"\n[commands]\nblock = ["curl"]\n' >n.toml
	for dialect in harbor ai-harness openharness; do
		cordon check --dialect $dialect n.toml
		is "$status" 1
		cordon run --dialect $dialect --policy n.toml -- true
		is "$status" 2
	done
	has "$err" "n.toml:1:2: 'network' belongs to cordon.toml"
	has "$err" "n.toml:3:2: 'commands' belongs to cordon.toml"
	cordon check --dialect harbor n.toml
	has "$err" "n.toml:1:2: unknown key 'network' at the top of the file; it belongs to cordon.toml"
	printf '# Reviewer\nYou review.\n' >harness.md
	cordon check harness.md
	is "$status" 1
	has "$err" "harness.md:1:1: there is no front matter"
}

@test "a misspelt block of another program's file" {
	printf -- '---\nname: a\nnetwrk:\n  allowed_domains: [a.com]\n---\n' >harness.md
	cordon check harness.md
	is "$status" 1
	is "$err" "harness.md:3:1: unknown key 'netwrk'; did you mean 'network'?"
	printf '[sandbx]\nenabled = true\n' >config.toml
	cordon check --dialect openharness config.toml
	is "$status" 1
	is "$err" "config.toml:1:2: unknown key 'sandbx'; did you mean 'sandbox'?"
}

@test "a key of another program's block outside of it is an error" {
	printf -- '---\nname: a\nallowed_domains: [a.example]\n---\n' >harness.md
	cordon check harness.md
	is "$status" 1
	is "$err" "harness.md:3:1: 'allowed_domains' would be ignored here; write it into 'network'"
	printf -- '---\nsandbox:\n  network:\n    allowed_domains: [a.example]\n---\n' >harness.md
	cordon check harness.md
	is "$status" 1
	is "$err" "harness.md:4:22: 'allowed_domains' would be ignored here; write it into 'network' at the top"
	printf -- '---\nagents:\n  - sandbox:\n      allowed_domains: [a.example]\n---\n' >harness.md
	cordon check harness.md
	is "$status" 1
	# Of another tool.
	printf -- '---\ntools:\n  search:\n    allowed_domains: [a.example]\n---\n' >harness.md
	cordon check harness.md
	is "$status" 0
	printf 'blocked_commands = ["curl"]\nmode = "fast"\n' >config.toml
	cordon check --dialect openharness config.toml
	is "$status" 1
	is "$err" "config.toml:1:1: 'blocked_commands' would be ignored here; write it into 'sandbox'"
}

@test "an entry that ai-harness has no rule for is named" {
	printf -- '---\nnetwork: {allowed_domains: ["a.example:443", 10.0.0.1, "https://u:pw@b"]}\n---\n' \
		>harness.md
	cordon check harness.md
	is "$status" 1
	has "$err" "harness.md:2:29: network.allowed_domains: 'a.example:443' has a ':'"
	has "$err" "'10.0.0.1' is an address, which no rule of this dialect names; write NAME, *.NAME or *"
	has_not "$err" "pw"
}

@test "the other keys of another program's file are its own" {
	printf -- '---\nname: a\nprofile: fast\nenv: [A]\nlimits: {turns: 4}\nmeta: {}\n---\n' \
		>harness.md
	printf '[model]\nname = "x"\n[limits]\nturns = 4\n[sandbox]\nmode = "process"\n' >config.toml
	printf 'version = "1.0"\n[metadata]\nlimits = 1\n[task]\nname = "x"\n[other]\n' >task.toml
	cordon check harness.md task.toml
	is "$status" 0
	cordon check --dialect openharness config.toml
	is "$status" 0
}

@test "dialects are told by name and content" {
	mkdir .harness
	printf '[sandbox]\nmode = "docker"\n' >.harness/config.toml
	printf '[environment]\nnetwork_mode = "public"\n' >task.toml
	printf -- '---\nnetwork: {allowed_domains: [a.example]}\n---\n' >any.md
	printf '{"network": {"allowedDomains": ["a.example"]}}' >s.json
	printf '{"side_effect_level": "none"}' >h.json
	printf '[limits]\ncpus = 1\n' >multitask.toml
	cordon policy show .harness/config.toml
	has "$out" 'backend = "docker"'
	cordon policy show task.toml
	has "$out" 'mode = "public"'
	cordon policy show any.md
	has "$out" 'allow = ["**.a.example"]'
	cordon policy show s.json
	has "$out" 'allow = ["a.example"]'
	cordon policy show h.json
	has "$out" 'block = ["*"]'
	cordon policy show multitask.toml
	has "$out" 'cpus = 1'
}

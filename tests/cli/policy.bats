# Policies as data: show, convert, intersect, diff, match.
# beside: yes
# weight: 2/4
# The variables come from place.bash; commands are split into words on purpose.
# shellcheck disable=SC2154,SC2086
load place

@test "show: what is written, and defaults as comments; twice the same" {
	printf '[limits]\nmemory = "1024M"\n[network]\nallow = ["B.example", "a.example"]\n' >a.toml
	cordon policy show a.toml
	is "$status" 0
	is "$err" ""
	has "$out" 'memory = "1G"'
	has "$out" 'allow = ["a.example", "b.example"]'
	has "$out" '# timeout = "24h"   (default)'
	cp .out b.toml
	cordon policy show b.toml
	cmp .out b.toml
}

@test "show: several files are composed" {
	printf '[limits]\nmemory = "2G"\n' >a.toml
	printf '[limits]\nmemory = "1G"\ncpus = 2\n' >b.toml
	cordon policy show a.toml b.toml
	is "$status" 0
	has "$out" 'memory = "1G"'
	has "$out" 'cpus = 2'
}

@test "show --json is JSON" {
	printf '[env]\nset = { A = "\\u001b\\"" }\n[phase."x y".limits]\ncpus = 1\n' >a.toml
	cordon policy show --json a.toml
	is "$status" 0
	python3 - <<-'END'
	import json
	p = json.load(open(".out"))
	assert p["env"]["set"]["A"] == "\x1b\""
	assert p["phase"]["x y"]["limits"]["cpus"] == 1
	END
}

@test "convert: each dialect's sample is written as a cordon.toml of the same meaning" {
	samples=$BATS_TEST_DIRNAME/../../examples/policies
	for pair in ai-harness:harness.md openharness:.harness/config.toml harn:policy.json \
		srt:srt-settings.json harbor:task.toml; do
		cd "$samples/${pair%%:*}"
		cordon policy show "${pair#*:}"
		is "$status" 0
		cp "$place/.out" "$place/first"
		cordon policy convert "${pair#*:}"
		is "$status" 0
		cp "$place/.out" "$place/native.toml"
		cordon policy show "$place/native.toml"
		cmp "$place/.out" "$place/first"
		cordon policy convert --to cordon "${pair#*:}"
		cmp "$place/.out" "$place/native.toml"
	done
}

@test "convert: other dialects are not written" {
	touch cordon.toml
	for dialect in ai-harness harn x ''; do
		cordon policy convert --to "$dialect" cordon.toml
		usage_error "--to $dialect: policy convert writes cordon.toml only; leave --to out"
		is "$out" ""
	done
}

@test "convert: a long entry is not cut off" {
	long=$(printf 'x%.0s' $(seq 2000))
	printf '{"filesystem":{"allowWrite":["."],"denyWrite":["%s"]}}' "${long:0:1000}" \
		>srt-settings.json
	cordon policy show srt-settings.json
	has "$out" "/${long:0:1000}\""
	printf '[sandbox]\nmode = "process"\nblocked_commands = ["%s"]\n' \
		"${long:0:1000} ${long:0:900}" >c.toml
	cordon policy convert --dialect openharness c.toml
	is "$status" 0
	has "$out" "${long:0:1000} ${long:0:900}"
}

@test "match: what is wrong with a URL is said once" {
	printf '[network]\nallow = ["a.example"]\n' >p.toml
	cordon policy match --policy p.toml 'http://a.example\@b' a.example/x
	is "$status" 1
	is "$out" "denied: invalid URL: it has a backslash
denied: invalid URL: it has no scheme"
}

@test "intersect: the strictest of both" {
	printf '[network]\nallow = ["*.a.example", "b.example"]\n[limits]\nmemory = "1G"\n' >a.toml
	printf '[network]\nallow = ["x.a.example", "c.example"]\ndeny = ["b.example"]\n' >b.toml
	cordon policy intersect a.toml b.toml
	is "$status" 0
	is "$out" '[network]
mode = "allowlist"
allow = ["x.a.example"]
deny = ["b.example"]

[limits]
memory = "1G"'
	cp .out c.toml
	cordon check c.toml
	is "$status" 0
	cordon policy intersect --json a.toml b.toml
	python3 - <<-'END'
	import json
	assert json.load(open(".out"))["network"]["allow"] == ["x.a.example"]
	END
}

@test "diff: in words, both ways; equal is exit 0" {
	printf '[limits]\nmemory = "1G"\n' >a.toml
	printf '[limits]\nmemory = "2G"\n[network]\nmode = "no-network"\n' >b.toml
	cordon policy diff a.toml b.toml
	is "$status" 1
	is "$out" "b.toml allows more: limits.memory is 2G, not 1G"
	cordon policy diff b.toml a.toml
	is "$status" 1
	is "$out" "b.toml allows more: limits.memory is 2G, not 1G"
	cordon policy diff a.toml a.toml
	is "$status" 0
	is "$out" ""
	printf 'nonsense' >c.toml
	cordon policy diff a.toml c.toml
	is "$status" 2
}

@test "match: a line each, exit 1 when one is denied" {
	printf '[network]\nallow = ["a.example", "b.example:443"]\ndeny = ["*:25"]\n' >a.toml
	cordon policy match --policy a.toml a.example https://b.example/ http://b.example/ \
		evil.test a.example:25
	is "$status" 1
	is "$out" "allowed
allowed
denied: port 80 of host b.example is not in the allowlist
denied: host evil.test is not in the allowlist
denied: host a.example is denied by the rule *:25"
	cordon policy match --policy a.toml a.example
	is "$status" 0
	cordon policy match --policy a.toml --resolves-to 127.0.0.1 a.example
	is "$out" "denied: host a.example resolves to 127.0.0.1, a special address (loopback)"
	cordon policy match --policy a.toml --resolves-to localhost a.example
	usage_error "'localhost' is not an address"
}

# The verdict is the one that a run gives.
@test "match: special addresses are named by rules no wider than their block" {
	printf '[network]\nallow = ["a.example", "128.0.0.0/1", "10.0.0.0/8"]\n' >a.toml
	cordon policy match --policy a.toml 169.254.169.254 10.1.2.3 192.168.0.1 200.1.2.3
	is "$out" "denied: host 169.254.169.254 is a special address (metadata) that no rule names
allowed
denied: host 192.168.0.1 is a special address (private) that no rule names
allowed"
	cordon policy match --policy a.toml --resolves-to 169.254.169.254 a.example
	is "$out" "denied: host a.example resolves to 169.254.169.254, a special address (metadata)"
	cordon policy match --policy a.toml --connect-to 169.254.169.254::10.0.0.1: 169.254.169.254
	is "$out" "allowed"
	printf '[network]\nhost_ports = [5432]\n' >b.toml
	cordon policy match --policy b.toml host.cordon.internal:5432 host.cordon.internal:22
	is "$out" "allowed
denied: port 22 of host.cordon.internal is not in network.host_ports"
	printf -- '---\nnetwork: {allowed_domains: ["*"]}\n---\n' >harness.md
	cordon policy match --policy harness.md http://10.0.0.1/ http://8.8.8.8/
	is "$out" "denied: SandboxError: host 10.0.0.1 is a special address (private) that no rule names
allowed"
}

@test "match: never repeats user, password, path or query" {
	printf '[network]\nallow = ["a.example"]\n' >a.toml
	printf -- '---\nnetwork: {allowed_domains: [a.example]}\n---\n' >harness.md
	for policy in a.toml harness.md; do
		for url in 'https://uuu:sss@evil.test/ppp?qqq#fff' \
			'https://uuu:sss@evil.test:99999/ppp' 'https://uuu:sss@ev il/ppp' \
			'uuu:sss@evil.test' 'https://uuu:sss@/ppp' \
			'https://evil.test\@a.example/ppp' \
			"$(printf 'https://evil.test/ppp\033[2J')"; do
			cordon policy match --policy $policy "$url"
			is "$status" 1
			for secret in uuu sss ppp qqq fff "$(printf '\033')"; do
				has_not "$out$err" "$secret"
			done
		done
	done
}

@test "match: phases and several policies" {
	printf '[network]\nallow = ["a.example"]\n[phase.p.network]\nmode = "no-network"\n' >a.toml
	printf '[network]\nallow = ["**.example"]\ndeny = ["a.example:80"]\n' >b.toml
	cordon policy match --policy a.toml --phase p a.example
	is "$out" "denied: host a.example is not reachable: network.mode is no-network"
	cordon policy match --policy a.toml --phase q a.example
	usage_error "the policy has no phase 'q'"
	cordon policy match --policy a.toml --policy b.toml a.example:443 a.example:80 b.example
	is "$status" 1
	is "$out" "allowed
denied: host a.example is denied by the rule a.example:80
denied: host b.example is not in the allowlist"
}

@test "match: commands" {
	printf '[commands]\nblock = ["curl"]\n' >a.toml
	cordon policy match --policy a.toml --command 'ls; curl http://x'
	is "$status" 1
	is "$out" "blocked: Command blocked by sandbox policy: contains 'curl'"
	cordon policy match --policy a.toml --command 'ls'
	is "$status" 0
	is "$out" allowed
}

@test "match: a bad policy allows nothing, exit 2" {
	printf 'nonsense' >a.toml
	cordon policy match --policy a.toml a.example b.example
	is "$status" 2
	is "$out" "denied: the policy is not valid
denied: the policy is not valid"
	has "$err" "a.toml:1:"
}

@test "trial --check answers in JSON" {
	printf '[environment]\nnetwork_mode = "no-network"\n' >task.toml
	cordon trial --check --json task.toml
	is "$status" 0
	has "$out" '"verdict":"accepted"'
	cordon trial --check --capabilities= --json task.toml
	is "$status" 1
	has "$out" '"verdict":"rejected"'
}

@test "check: what this machine, or any, would refuse to run" {
	# refused LINE:COL MESSAGE TEXT
	refused() {
		printf '%b' "$3" >p.toml
		cordon check p.toml
		is "$status" 1
		is "$out" ""
		is "$(wc -l <.err)" 1
		has "$err" "p.toml:$1: $2"
		cordon run --policy p.toml -- true
		is "$status" 125
	}
	refused 2:11 "profile wasi is not built" '\nprofile = "wasi"\n'
	refused 1:11 "backend docker is not built" 'backend = "docker"\n'
	refused 2:10 "files.write: '/' cannot be" '[files]\nwrite = ["/"]\n'
	refused 2:17 "'/proc' is the kernel's" '[files]\nread = ["/srv", "/proc"]\n'
	refused 2:9 "files.deny: the pattern '**/*' means everything" '[files]\ndeny = ["**/*"]\n'
	refused 3:1 "files.deny: the pattern" '[files]\ndeny = ["b",\n"a/**/b"]\n'
	refused 1:11 "backend none enforces nothing" 'backend = "none"\n'
}

@test "check: a file that cannot be read says nothing about the others" {
	printf '[network]\nmode = "public"\n' >good.toml
	printf '[network]\nmode = "pubic"\n' >bad.toml
	cordon check missing.toml good.toml bad.toml
	is "$status" 2
	has "$err" "cannot open 'missing.toml'"
	has "$err" "bad.toml:2:8: "
	is "$(wc -l <.err)" 2
}

@test "check: what only this machine lacks" {
	printf 'require = ["landlock"]\n' >p.toml
	cordon_without landlock check p.toml
	is "$status" 1
	has "$err" "p.toml:1:12: the policy needs landlock"
	printf 'may_lack = ["namespaces", "cgroup"]\n' >p.toml
	work
	cordon_without net check ../p.toml
	is "$status" 0
	printf '' >p.toml
	cordon_without net check p.toml
	is "$status" 1
	has "$err" "p.toml:1:1: the policy needs net"
}

# shellcheck disable=SC2016  # they are expanded by cordon
@test "check: a value of env.set that does not say what it looks like" {
	for text in 'A:-$\{B}' 'A:-$\{B:-c}' 'A B' '' ':-x' 'A-b' 'A?x' '1A' '\{A}' ' A '; do
		printf '[env]\nset = { V = "${%s}" }\n' "${text//\\/}" >p.toml
		cordon check p.toml
		is "$status" 1
		has "$err" "p.toml:2:9: the value of 'V' takes '\${"
		has "$err" "write \${NAME} or \${NAME:-plain text}"
	done
	printf '[environment.env]\nA = "${B:-${C}}"\n' >task.toml
	cordon check task.toml
	is "$status" 1
	has "$err" "task.toml:2:1: the value of 'A' takes '\${B}', whose default holds another"
	printf '[env]\nset = { V = "a ${B' >p.toml
	printf '" }\n' >>p.toml
	cordon check p.toml
	has "$err" "p.toml:2:9: the value of 'V' has '\${' without '}'"
	printf '[env]\nset = { V = "$A ${A:-} ${HOME}/$${B:-x:-y}}" }\n' >p.toml
	cordon check p.toml
	is "$status" 0
}

@test "check: neither the caller's place nor its variables are the machine's" {
	printf '[env]\nset = { A = "$%s" }\n' '{NOT_HERE}' >p.toml
	cordon check p.toml
	is "$status" 0
	cd /
	cordon check "$place/p.toml"
	is "$status" 0
	cd "$place"
	printf '[env]\nset = { A = "$%s" }\n' '{OPENAI_API_KEY}' >p.toml
	cordon check p.toml
	is "$status" 1
	has "$err" "p.toml:1:1: env.set: A takes \${OPENAI_API_KEY}"
}

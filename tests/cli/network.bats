#!/usr/bin/env bats
# run-as: user root
# beside: yes
# settings: others
# weight: 2/6
# The network on the command line: what is asked for, what is planned, and what
# is refused before anything starts.
# Variables in single quotes are cordon's to read:
# shellcheck disable=SC2016
# shellcheck disable=SC2154  # out, err and place are set by place.bash
bats_require_minimum_version 1.5.0
load place

plan() {
	cordon run --dry-run "$@" -- true
}

# The words of the plan's network lines, blanks squeezed.
network() {
	printf '%s\n' "$out" | grep '^network' | tr -s ' '
}

value() {
	cordon explain "${@:2}"
	printf '%s\n' "$out" | sed '/^cut:/,$d' | tr -s ' ' | grep "^$1 " | cut -d' ' -f2 | tr '\n' ' '
}

has_gate() {
	"$CORDON" doctor --json | /usr/bin/python3 -c "
import json, sys
f = {x['name']: x['available'] for x in json.load(sys.stdin)['features']}
sys.exit(not (f['net'] and f['tproxy']))"
}

@test "options say what fields say" {
	is "$(value network.mode --allow-host a.example)" '"allowlist" '
	is "$(value network.allow --allow-host a.example --allow-host '*.b.example:443')" \
		'a.example *.b.example:443 '
	is "$(value network.allow --allowed-domain a.example)" '**.a.example '
	is "$(value network.mode --allowed-domain a.example)" '"allowlist" '
	is "$(value network.deny --deny-host '*:25')" '*:25 '
	is "$(value network.mode --deny-host '*:25')" '"no-network" '
	is "$(value network.mode --network public)" '"public" '
	is "$(value network.mode --network allowlist)" '"allowlist" '
	is "$(value network.expose --expose 8080 --expose 81)" '81 8080 '
	is "$(value network.mode --expose 8080)" '"no-network" '
	is "$(value network.host_ports --host-port 5432)" '5432 '
	is "$(value network.udp_allow --allow-udp ntp.example:123)" 'ntp.example:123 '
	is "$(value network.mode --allow-udp ntp.example:123)" '"allowlist" '
	is "$(value network.tls --tls name-only)" '"name-only" '
	is "$(value network.tls --allow-host a.example)" '"strict" '
	is "$(value network.connections)" '512 '
}

# The first example of ai-harness's own document, beside each kind of policy.
@test "--allowed-domain beside a policy that is found, named or not there" {
	both=(--allowed-domain api.github.com --allowed-domain '*.example.com')
	is "$(value network.allow "${both[@]}")" '*.example.com **.api.github.com '
	printf -- '---\nnetwork:\n  allowed_domains: [a.example]\n---\n' >harness.md
	is "$(value network.allow "${both[@]}")" '*.example.com **.api.github.com '
	is "$(value network.allow --policy harness.md "${both[@]}")" \
		'*.example.com **.api.github.com **.a.example '
	printf 'backend = "process"\n' >cordon.toml
	is "$(value network.allow "${both[@]}")" '*.example.com **.api.github.com '
	is "$(value network.protocols --policy cordon.toml "${both[@]}")" 'any '
	# No more than without the policy.
	is "$(value network.protocols "${both[@]}")" 'http tls '
	rm cordon.toml
	is "$(value network.protocols --policy harness.md "${both[@]}")" 'http tls '
	rm harness.md
	is "$(value network.protocols "${both[@]}")" 'http tls '
	is "$(value network.protocols "${both[@]}" --protocols any)" 'any '
	has_gate || skip "no gate"
	cordon run "${both[@]}" -- true
	is "$status" 0
}

@test "--protocols: words, places, and what composing leaves" {
	is "$(value network.protocols)" 'any '
	is "$(value network.protocols --protocols http)" 'http '
	is "$(value network.protocols --protocols tls,http)" 'http tls '
	is "$(value network.protocols --protocols tls,any)" 'any '
	cordon explain --protocols ftp
	is "$status" 2
	has "$err" "'ftp' is not known for network.protocols"
	cordon explain --protocols http,
	is "$status" 2
	printf '[network]\nallow = ["a.example"]\nprotocols = "any"\n' >a.toml
	printf '[network]\nallow = ["a.example"]\nprotocols = ["http", "tls"]\n' >b.toml
	printf '[network]\nallow = ["a.example"]\nprotocols = ["tls"]\n' >c.toml
	printf '[network]\nprotocols = "http"\n' >d.toml
	is "$(value network.protocols --policy a.toml --policy b.toml)" 'http tls '
	is "$(value network.protocols --policy b.toml --policy c.toml)" 'tls '
	cordon policy diff b.toml a.toml
	is "$out" 'a.toml allows more: network.protocols has any'
	cordon check d.toml
	is "$status" 1
	has "$err" 'd.toml:2:13: network.protocols is a string; write "any", or a list of protocols'
	cordon policy match --policy c.toml https://a.example/ http://a.example/ ftp://a.example/ \
		a.example:21
	is "$out" 'allowed
denied: connection to host a.example begins with HTTP, which network.protocols does not list
denied: scheme "ftp" is not permitted (only http/https)
allowed'
	has_gate || skip "no gate"
	plan --policy c.toml
	has "$(network)" "network protocols tls only: the first bytes of each connection are read"
}

@test "a public network whose protocols are listed is judged by the gate" {
	has_gate || skip "no gate"
	plan --network public
	has "$(network)" "network open"
	printf '[network]\nmode = "public"\nprotocols = ["http", "tls"]\n' >cordon.toml
	plan --policy cordon.toml
	has "$(network)" "network by name public"
}

@test "--network only tightens, and --allow-host never opens what it closes" {
	printf '[network]\nmode = "no-network"\n' >cordon.toml
	is "$(value network.mode --network public)" '"no-network" '
	is "$(value network.mode --network no-network --allow-host a.example)" '"no-network" '
	printf '[network]\nmode = "public"\n' >cordon.toml
	is "$(value network.mode --network no-network)" '"no-network" '
	is "$(value network.mode --allow-host a.example)" '"allowlist" '
	is "$(value network.allow --network allowlist --allow-host a.example)" 'a.example '
	is "$(value network.allow --network allowlist)" '[] '
	is "$(value network.tls --network allowlist --tls name-only --allow-host a)" '"name-only" '
}

@test "bad values are usage errors of one line that name the option" {
	check() {
		cordon run "$@" -- true
		is "$status" 2
		is "$(wc -l <"$place/.err")" 1
		has "$err" "$1"
	}
	check --network some
	check --allow-host 'http://a.example/'
	check --allow-host 'a b'
	check --deny-host ''
	check --allowed-domain 'a b'
	check --expose 0
	check --expose http
	check --host-port 65536
	check --allow-udp ntp.example
	check --allow-udp '*:123'
	check --tls off
	check --connect-to a.example
	check --connect-to :443:127.0.0.1:1
	check --connect-to a.example:443:b.example:1
	check --connect-to a.example:443:::1:1
	check --connect-to a.example:0:127.0.0.1:1
	check --connect-to host.cordon.internal:80:127.0.0.1:1
	cordon run --connect-to a:1:127.0.0.1:1 --connect-to A.:1:127.0.0.1:2 -- true
	is "$status" 2
	has "$err" "again"
}

@test "a plan tells how the network is held" {
	has_gate || skip "this machine has no gate"
	plan
	is "$(network)" ""
	plan --network public
	is "$(network)" "network open public: nothing: the host's network is meant"
	plan --allow-host a.example --connect-to a.example:443:127.0.0.1:8443 \
		--connect-to '[2001:db8::1]::[::1]:' --host-port 5432 --expose 8080 \
		--allow-udp ntp.example:123
	is "$status" 0
	is "$(network)" "network by name allowlist: network namespace, AnyIP routes, nf_tables \
TPROXY to one listener
network tls strict: names inside TLS and HTTP are read
network reroute a.example:443 to 127.0.0.1:8443: dialled outside
network reroute [2001:db8::1] to [::1]: dialled outside
network host ports 5432 as host.cordon.internal: dialled outside
network expose 8080 on the caller's loopback: a listener outside for each
network datagrams ntp.example:123: UDP, sent outside
network connections 512: counted where they are accepted"
	has "$out" "namespace  net"
	plan --network public --deny-host '*:25'
	has "$(network)" "network by name public: "
	has "$out" "namespace  net"
	plan --expose 8080
	has "$(network)" "network by name no-network: "
}

@test "explain names what is behind each line" {
	has_gate || skip "this machine has no gate"
	cordon explain --allow-host a.example --host-port 1 --network allowlist
	has "$out" "[network namespace, AnyIP routes, nf_tables TPROXY to one listener]"
	has "$out" "[the gate: judged by name, resolved and dialled outside]"
	has "$out" "[the gate: dialled outside]"
	has_not "$out" "refused on this machine"
	cordon explain --network public
	has "$out" "[nothing: the host's network is meant]"
	cordon explain
	has "$out" "[network namespace]"
}

@test "--connect-to leads nowhere that a ceiling denies" {
	mkdir -p "$HOME/.config/cordon"
	printf '[network]\nmode = "public"\ndeny = ["10.0.0.0/8", "*:25"]\n' \
		>"$HOME/.config/cordon/cordon.toml"
	for to in a.example:443:10.0.0.1:443 a.example::10.0.0.1: a.example:80:192.0.2.1:25; do
		cordon run --allow-host a.example --connect-to "$to" -- touch ran
		is "$status" 2
		is "$err" "cordon: --connect-to: '$to' leads to an address that a ceiling denies \
($HOME/.config/cordon/cordon.toml:3:8); name another"
	done
	[ ! -e ran ]
	cordon session start --allow-host a.example --connect-to a.example:443:10.0.0.1:443
	is "$status" 2
	# The operator's own rules are the same person's word.
	plan --allow-host a.example --connect-to a.example:443:192.168.0.1:443 \
		--deny-host 192.168.0.0/16
	is "$status" 0
}

@test "--connect-to allows nothing by itself" {
	is "$(value network.mode --connect-to a.example:443:127.0.0.1:8443)" '"no-network" '
	plan --connect-to a.example:443:127.0.0.1:8443
	is "$(network)" ""
}

@test "credentials of a proxy are in no output and not inside" {
	has_gate || skip "this machine has no gate"
	export PROXY_USER=alice PROXY_WORD=sesame ALL_OF_IT=http://alice:sesame@proxy.example:3128
	for text in 'http://${PROXY_USER}:${PROXY_WORD}@proxy.example:3128' '${ALL_OF_IT}'; do
		printf '[network]\nallow = ["a.example"]\nupstream_proxy = "%s"\n' "$text" >p.toml
		printf '[env]\npass = ["*"]\n' >>p.toml
		plan --policy p.toml
		is "$status" 0
		has "$(network)" \
			"network upstream proxy.example:3128 with credentials: HTTP CONNECT"
		has_not "$out$err" sesame
		has_not "$out$err" YWxpY2U6c2VzYW1l
		for words in "explain --policy p.toml" "explain --json --policy p.toml" \
			"policy show p.toml" "policy show --json p.toml" "run --policy p.toml -- env"; do
			# Words on purpose:
			# shellcheck disable=SC2086
			cordon $words
			# What the variable that was not named holds is the caller's to pass on.
			has_not "$(grep -v -e '^ALL_OF_IT=' -e '^PROXY_' <<<"$out")$err" sesame
		done
		case $text in
		*ALL*) has_not "$out" ALL_OF_IT= ;;
		*) has_not "$out" PROXY_ ;;
		esac
	done
	unset ALL_OF_IT
	plan --policy p.toml
	is "$status" 125
	has "$err" 'network.upstream_proxy takes ${ALL_OF_IT}, which the caller does not have'
}

@test "a password that stands in a policy is refused, and not repeated" {
	printf '[network]\nupstream_proxy = "http://alice:sesame@proxy.example"\n' >p.toml
	cordon check p.toml
	is "$status" 1
	has "$err" "p.toml:2:18: network.upstream_proxy holds credentials"
	has_not "$out$err" sesame
}

@test "backend none cannot keep an allowlist" {
	cordon run --no-sandbox --allow-host a.example -c 'echo ran >ran'
	is "$status" 125
	has "$err" "network.mode allowlist is not supported by the backend none"
	# Nor less than that, where a ceiling asks for it.
	mkdir -p "$HOME/.config/cordon"
	printf '[network]\nmode = "no-network"\n' >"$HOME/.config/cordon/cordon.toml"
	cordon run --no-sandbox -c 'echo ran >ran'
	is "$status" 125
	has "$err" "backend none does not enforce network.mode, which a ceiling sets \
($HOME/.config/cordon/cordon.toml:2:8); use --sandbox process"
	has_not "$err" warning
	[ ! -e ran ]
	# What is the default as well is told to be the ceiling's.
	cordon explain
	has "$(grep '^network.mode' <<<"$out")" "$HOME/.config/cordon/cordon.toml:2:8"
	# The default, and the project, are given up with the sandbox.
	mv "$HOME/.config/cordon/cordon.toml" project.toml
	cordon run --policy project.toml --no-sandbox -c 'echo ran >ran'
	is "$status" 0
	[ -e ran ]
}

# systemd-resolved, NetworkManager and others write the file elsewhere, and /etc has a link to it.
@test "a public network has the host's name servers, also behind a link out of /etc" {
	unshare --map-root-user --mount true || skip "no user namespace here"
	mkdir -p etc run/of-host work
	cp /etc/passwd /etc/group /etc/ld.so.cache etc
	ln -s ../run/of-host/servers etc/resolv.conf
	echo "nameserver 192.0.2.1" >run/of-host/servers
	echo 'mount --bind etc /etc && mount --bind run /run && cd work && exec "$@"' >script
	run -0 unshare --map-root-user --mount sh script "$CORDON" run --network public -- \
		cat /etc/resolv.conf
	is "$output" "nameserver 192.0.2.1"
	run -0 unshare --map-root-user --mount sh script "$CORDON" run --allow-host a.example -- \
		cat /etc/resolv.conf
	is "$output" "nameserver 127.0.0.1"
	# A link that leads nowhere is none.
	rm run/of-host/servers
	run -1 unshare --map-root-user --mount sh script "$CORDON" run --network public -- \
		cat /etc/resolv.conf
}

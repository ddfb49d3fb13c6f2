#!/usr/bin/env bats
# run-as: user root
# beside: yes
# weight: 2/4
# The ladder of the network: which rung holds it on which machine, that the result
# and the log say so, and what no rung can keep.
# shellcheck disable=SC2154  # out, err and place are set by place.bash
load place

# json EXPRESSION: does it hold of the result?
json() {
	printf '%s' "$out" | /usr/bin/python3 -c "
import json, sys
d = json.load(sys.stdin)
assert ($1), d"
}

# logged EXPRESSION: does it hold of the last line of the log?
logged() {
	/usr/bin/python3 -c "
import json
e = json.loads(open('$place/log', encoding='utf-8').readlines()[-1])
assert ($1), e"
}

@test "the rung is in the result and in the log" {
	work
	cordon_without "" run --json --audit "$place/log" --allow-host a.example:443 -- true
	is "$status" 0
	json "d['network'] == {'rung': 'tproxy'} and list(d)[-1] == 'network'"
	logged "e['event'] == 'run.end' and e['network.rung'] == 'tproxy'"
	cordon_without tproxy run --json --audit "$place/log" --allow-host a.example:443 -- true
	is "$status" 0
	json "d['network'] == {'rung': 'ports'} and 'net' in d['enforced']"
	logged "e['network.rung'] == 'ports'"
	cordon_without tproxy run --dry-run --allow-host a.example:443 -- true
	has "$out" "a listener for each port"
}

@test "where nobody is judged the result says nothing of a rung" {
	work
	cordon run --json --audit "$place/log" -- true
	json "'network' not in d"
	logged "e['network.rung'] == 'closed'"
	cordon run --json --audit "$place/log" --network public -- true
	json "'network' not in d"
	logged "e['network.rung'] == 'open'"
	cordon run --json --audit "$place/log" --no-sandbox -- true
	json "'network' not in d"
	logged "e['network.rung'] is None"
	cordon run --json --audit "$place/log" --allow-host a.example -- no-such-command
	json "d['network'] == {'rung': 'tproxy'}"
	cordon_without anyip,tproxy run --json --audit "$place/log" --allow-host a.example -- true
	is "$status" 125
	json "'network' not in d"
	logged "e['network.rung'] is None"
}

# ---- without network namespaces: a proxy ---------------------------------------

# A server on the loopback that says who it is; $port is its port.
serve() {
	/usr/bin/python3 -c '
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello " + self.headers["Host"].encode() + b"\n")
    def log_message(self, *args):
        pass
s = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(s.server_address[1], flush=True)
s.serve_forever()' >"$place/port" 2>/dev/null 3>&- &
	server=$!
	# A test that fails does not come to its end; the server must.
	echo "$server" >>"$place/servers"
	while [ ! -s "$place/port" ]; do sleep 0.05; done
	port=$(cat "$place/port")
}

end_server() {
	kill "$server"
	wait "$server" || true
	rm "$place/servers"
}

teardown() {
	# shellcheck disable=SC2046  # one word each
	[ ! -e "$place/servers" ] || kill $(cat "$place/servers")
	cd / || return 1
	rm -rf "$place"
}

# proxied [OPTION...] -- CMD...: on a machine without network namespaces, where the
# policy can do without.
proxied() {
	printf 'may_lack = ["net"]\n' >"$place/work/cordon.toml"
	cordon_without net run "$@"
}

@test "without network namespaces an allowlist is refused, and the hint names the proxy" {
	work
	cordon_without net run --json --allow-host a.example -- /bin/echo ran
	is "$status" 125
	has "$err" "cordon: the policy needs net ("
	has "$err" "max_net_namespaces"
	has "$err" 'may_lack = ["net"]'
	json "'CORDON_PROXY' in d['error']['hint'] and not d['stdout'] and 'network' not in d"
	printf 'may_lack = ["net"]\n' >cordon.toml
	CORDON_SANDBOX=enforce cordon_without net run --allow-host a.example -- /bin/echo ran
	is "$status" 125
	printf 'require = ["net"]\n' >cordon.toml
	CORDON_SANDBOX=warn cordon_without net run --allow-host a.example -- /bin/echo ran
	is "$status" 125
	proxied --profile os_hardened --allow-host a.example -- /bin/echo ran
	is "$status" 125
}

@test "a proxy holds an allowlist" {
	work
	serve
	set -- --allow-host a.test --connect-to "a.test:80:127.0.0.1:$port" --audit "$place/log"
	proxied "$@" --json -- curl -sS http://a.test/
	is "$status" 0
	json "d['stdout'] == 'hello a.test\n' and d['network'] == {'rung': 'proxy'}"
	json "'net' in d['missing'] and 'seccomp' in d['enforced'] and not d['denials']"
	has "$err" "this machine does not offer net; the command runs without; allowed hosts are \
reached through the proxy that CORDON_PROXY names"
	logged "e['network.rung'] == 'proxy' and e['denials'] == 0"
	grep -q '"network.policy":"allowed","network.host":"a.test","port":80' "$place/log"
	# By CORDON_SANDBOX as well.
	rm cordon.toml
	CORDON_SANDBOX=warn cordon_without net run "$@" -- curl -sS http://a.test/
	is "$out" "hello a.test"
	# Another name, another port, another host inside; and the denials say so.
	proxied "$@" --json -- curl -sS http://b.test/
	is "$status" 97
	json "[(x['host'], x['port'], x['hint']) for x in d['denials']] == \
[('b.test', 80, '--allow-host b.test')]"
	proxied "$@" --json -- curl -sS -H 'Host: b.test' http://a.test/
	json "'HTTP request for b.test on a connection to a.test' in d['stdout']"
	proxied "$@" --deny-host '*:80' -- curl -sS http://a.test/
	is "$status" 97
	# Every address, special ones as ever.
	proxied "$@" -- curl -sS "http://127.0.0.1:$port/"
	is "$status" 97
	# Nor without the proxy.
	proxied "$@" -- curl -sS --noproxy '*' "http://127.0.0.1:$port/"
	[ "$status" -ne 0 ]
	has_not "$out" hello
	end_server
}

@test "ports of the host and public networks with a rule go through a proxy as well" {
	work
	serve
	proxied --host-port "$port" -- curl -sS "http://host.cordon.internal:$port/"
	has "$out" "hello host.cordon.internal"
	proxied --network public --deny-host b.test --connect-to "a.test:80:127.0.0.1:$port" -- \
		curl -sS http://a.test/
	is "$out" "hello a.test"
	proxied --network public --deny-host b.test --connect-to "b.test:80:127.0.0.1:$port" -- \
		curl -sS http://b.test/
	is "$status" 97
	# The host's own network needs none.
	proxied --network public --json -- curl -sS "http://127.0.0.1:$port/"
	json "d['stdout'].startswith('hello') and 'network' not in d"
	end_server
}

@test "HTTP CONNECT says why" {
	work
	proxied --allow-host a.test -- /usr/bin/python3 -c '
import os, socket
for target in "b.test:443", "a.test":
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["CORDON_PROXY"].removeprefix("unix:"))
    s.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
    print(s.makefile().read())'
	is "$status" 0
	has "$out" "HTTP/1.1 403 "
	has "$out" "cordon: host b.test is not in the allowlist; allow with --allow-host b.test"
	has "$out" "HTTP/1.1 400 "
}

@test "what a proxy cannot keep is refused by name" {
	work
	proxied --allow-host a.test --expose 8080 -- /bin/echo ran
	is "$status" 125
	is "$out" ""
	has "$err" "network.expose needs net ("
	proxied --allow-udp a.test:123 -- /bin/echo ran
	is "$status" 125
	has "$err" "network.udp_allow needs net ("
	printf 'may_lack = ["net", "landlock"]\n' >cordon.toml
	cordon_without net,landlock run --allow-host a.test -- /bin/echo ran
	is "$status" 125
	has "$err" "network.mode allowlist needs net ("
	has "$err" "nor Landlock of ABI 6"
	# A network that routes cannot be made in is no reason for a proxy.
	printf 'may_lack = ["net"]\n' >cordon.toml
	cordon_without anyip,tproxy run --allow-host a.test -- /bin/echo ran
	is "$status" 125
	has "$err" "network.mode allowlist needs tproxy ("
}

@test "the variables lead to the proxy, and the caller's do not lead elsewhere" {
	work
	printf 'may_lack = ["net"]\n[env]\npass = ["*"]\n[network]\nallow = ["a.test"]\n' >cordon.toml
	https_proxy=http://192.0.2.1:1 NO_PROXY='*' ALL_PROXY=x cordon_without net run -- env
	has "$out" "ALL_PROXY=socks5h://localhost/run/cordon/proxy"
	has "$out" "CORDON_PROXY=unix:/run/cordon/proxy"
	has_not "$out" https_proxy
	has_not "$out" NO_PROXY
	is "$(grep -c ALL_PROXY= <<<"$out")" 1
	printf '[env.set]\nALL_PROXY = "mine"\n' >>cordon.toml
	cordon_without net run -- env
	has "$out" "ALL_PROXY=mine"
	has_not "$out" "ALL_PROXY=socks5h"
	# Where there is a network of its own, nothing is set.
	cordon run -- env
	has_not "$out" CORDON_PROXY
}

@test "with all of the host readable, the proxy is all there is in /run" {
	work
	serve
	proxied --read / --allow-host a.test --connect-to "a.test:80:127.0.0.1:$port" -- \
		/bin/sh -c 'find /run; curl -sS http://a.test/'
	is "$out" "/run
/run/cordon
/run/cordon/proxy
hello a.test"
	end_server
}

@test "a plan with a proxy" {
	work
	proxied --dry-run --allow-host a.test -- true
	is "$status" 0
	has "$out" "mount      proxy        /run/cordon: tmpfs with a unix socket"
	has "$out" "network    by name      allowlist: proxy on a unix socket"
	has "$out" "seccomp    network      no inet socket can be made"
	has_not "$out" "namespace  net"
	cordon_without net explain --allow-host a.test
	has "$out" "[proxy on a unix socket; seccomp: no inet one; Landlock: no abstract one]"
	cordon_without net doctor
	has "$out" "hosts by name through a proxy"
}

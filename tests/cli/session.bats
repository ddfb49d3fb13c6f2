#!/usr/bin/env bats
# run-as: root user
# beside: yes
# differs: limits of a user have no cgroup, root serves sessions of others
# weight: 17/45
# `cordon session` from outside: a cordon that stays, commands in it, its network
# while it lives, and how it ends.
#
# Shell text in single quotes is for the shell inside:
# shellcheck disable=SC2016
# Each test is a shell of its own, on purpose; live.bash sets variables:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load live
load wait

teardown() {
	for folder in "$live"/*/; do
		[ ! -d "$folder" ] || "$cordon" session stop "$(basename "$folder")" || true
	done
	[ -z "${server-}" ] || kill "$server"
	nothing_lives
}

# By the policy that lies here, if there is one and no option names another.
start() {
	local policy=()
	[[ ! -e cordon.toml || " $* " == *" --policy "* ]] || policy=(--policy cordon.toml)
	"$cordon" session start --name s "${policy[@]}" "$@"
}

inside() {
	"$cordon" session exec s -- "$@"
}

# Is the status JSON, and does the Python expression over d hold?
status_is() {
	"$cordon" session status s --json | /usr/bin/python3 -c "
import json, sys
d = json.load(sys.stdin)
assert ($1), d"
}

supervisor() {
	"$cordon" session status s --json |
		/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])'
}

has_gate() {
	"$cordon" doctor --json | /usr/bin/python3 -c "
import json, sys
f = {x['name']: x['available'] for x in json.load(sys.stdin)['features']}
sys.exit(not (f['net'] and f['tproxy']))"
}

# A server on the loopback that answers a line with a line, and keeps the number
# of bytes it got in a file; $port is its port.
serve() {
	/usr/bin/python3 - "$work" 3>&- <<'PY' &
import os, socket, sys, threading
os.chdir(sys.argv[1])
s = socket.create_server(("127.0.0.1", 0))
total, lock = 0, threading.Lock()
def talk(c):
    global total
    try:
        while data := c.recv(4096):
            with lock:
                total += len(data)
                with open("count.new", "w") as f:
                    f.write(str(total))
                os.rename("count.new", "count")
            c.sendall(b"yes\n")
    except OSError:
        pass
with open("port.new", "w") as f:
    f.write(str(s.getsockname()[1]))
os.rename("port.new", "port")
while True:
    threading.Thread(target=talk, args=s.accept()[:1], daemon=True).start()
PY
	server=$!
	soon test -e port
	port=$(cat port)
}

# One question to a host; prints the answer.
ask() {
	inside /usr/bin/python3 -c "
import socket, sys
try:
    c = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
    c.sendall(b'?\n')
    print(c.recv(100).decode().strip() or 'cut')
except OSError:
    print('refused')" "$1" "$port"
}

@test "start, exec, status, stop" {
	run --separate-stderr start
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	id=$output
	grep -Eq '^[0-9a-f]{16}$' <<<"$id"
	[ "$(stat -c %a "$live/$id")" = 700 ]
	[ -S "$live/$id/control" ]
	"$cordon" ps | grep -q "^$id.* s (session)$"
	[ "$(inside echo a b)" = "a b" ]
	[ "$("$cordon" session exec "$id" -- pwd)" = "$work" ]
	[ "$("$cordon" session exec "$(supervisor)" -c 'echo $((1+2))')" = 3 ]
	run -2 "$cordon" session exec s --env 'X Y=1' -- true
	[ "$output" = "cordon: --env: 'X Y' is no variable's name; write letters, digits and _" ]
	[ "$("$cordon" session exec s -c '-x; echo ran' 2>"$work/not-found")" = ran ]
	status_is "d['name'] == 's' and d['session'] and d['commands'] == 0 and d['phase'] is None"
	run -0 "$cordon" session stop s
	run -1 "$cordon" session stop s
	run -125 --separate-stderr inside true
	[ "$stderr" = "cordon: no live cordon is called 's'; see cordon ps" ]
}

@test "exit codes, messages and results are those of a run" {
	start --block-command id --block-command 'rm -rf /'
	for code in 0 1 42 123; do
		run -"$code" inside sh -c "exit $code"
	done
	run -143 inside sh -c 'kill -TERM $$'
	run -127 inside no-such-command
	[ "$output" = "cordon: no-such-command: command not found" ]
	run -126 inside /etc/hostname
	run -126 inside id
	[ "$output" = "Command blocked by sandbox policy: id" ] || grep -q 'blocked by' <<<"$output"
	run -126 "$cordon" session exec s -c 'echo a; id'
	run -0 inside sh -c 'sh -c "rm -rf /" || echo not so'
	grep -q 'not so' <<<"$output"
	run -0 --separate-stderr "$cordon" session exec s --json -- sh -c 'echo out; echo err >&2'
	json "d['stdout'] == 'out\n' and d['stderr'] == 'err\n' and d['exit_code'] == 0 and d['enforced']"
	run -3 "$cordon" session exec s --result r.json -- sh -c 'echo through; exit 3'
	[ "$output" = through ]
	grep -q '"exit_code":3' r.json
	run -125 "$cordon" session exec s --cwd /no/such/place -- true
	grep -q "cannot enter the working directory" <<<"$output"
	run -2 "$cordon" session exec s --timeout soon -- true
	run -2 "$cordon" session exec s
}

@test "output that was cut has met its limit, whoever ends the command" {
	start --output 1000
	for _ in {1..30}; do
		run "$cordon" session exec --json s -- head -c 2000 /dev/zero
		[ "$status" -eq 143 ]
		json "d['limit'] == 'output' and d['signal'] == 15 and len(d['stdout']) == 1000"
	done
	status=0
	inside yes >out 2>err || status=$?
	[ "$status" -eq 143 ]
	[ "$(stat -c %s out)" -eq 1000 ]
}

@test "a limit that ended a command is told, and where it was set" {
	start --output 1K -m 64M --timeout 1s
	run "$cordon" session exec --timeout 500ms s -- sleep 9
	[ "$output" = 'cordon: ended by limits.timeout (500ms); --timeout sets it' ]
	run inside sleep 9
	[ "$output" = 'cordon: ended by limits.timeout (1s); --timeout of session start sets it' ]
	run --separate-stderr inside yes
	[ "$stderr" = 'cordon: ended by limits.output (1K); --output of session start sets it' ]
	run --separate-stderr "$cordon" session exec --json --timeout 500ms s -- sleep 9
	[ -z "$stderr" ]
	run inside /usr/bin/python3 -c 'x = bytearray(300 << 20)'
	[ "$output" = 'cordon: ended by limits.memory (64M); --memory of session start sets it' ]
}

@test "what a command has used is told where it has ended with the session, too" {
	start --cpu-seconds 1
	run "$cordon" session exec --json s -c 'sleep 1 & sleep 1 & wait'
	json "d['processes_peak'] == 3"
	run "$cordon" session exec --json s -c 'trap "" XCPU TERM; while :; do :; done'
	json "d['limit'] == 'cpu' and d['cpu_ms'] >= 1000"
	start -m 64M
	run "$cordon" session exec --json s -- /usr/bin/python3 -c 'x = bytearray(300 << 20)'
	json "d['limit'] == 'memory' and d['max_rss_kb'] >= 60 << 10"
}

@test "the time of one command; the others go on" {
	start
	mark=$(marker)
	"$cordon" session exec s -- sleep "$mark" 3>&- &
	soon sleeps "$mark"
	run -124 "$cordon" session exec s --timeout 100ms -- sh -c 'trap "" TERM; sleep 100; sleep 100'
	run -124 "$cordon" session exec s --timeout 1500ms --json -- sh -c 'echo before; sleep 100'
	json "d['timed_out'] and d['limit'] == 'wall' and d['stdout'] == 'before\n'"
	# What a command that is stopped has started is stopped, too.
	other=$(marker)
	run -124 "$cordon" session exec s --timeout 300ms -- sh -c "set -m; (trap '' TERM; sleep $other; sleep $other) & wait"
	soon gone "$other"
	soon sleeps "$mark"
	"$cordon" session stop s
	wait
	gone "$mark"
}

@test "files in /tmp and background processes last for the session" {
	start
	mark=$(marker)
	inside sh -c "echo kept >/tmp/file; echo here >file; sleep $mark & :" >/dev/null </dev/null 2>&1
	[ "$(inside cat /tmp/file)" = kept ]
	[ "$(cat file)" = here ]
	soon sleeps "$mark"
	soon inside sh -c 'cat /proc/[0-9]*/comm | grep -q sleep'
	inside setsid -f sh -c "trap '' TERM HUP INT; while :; do sleep $mark; done" >/dev/null 2>&1
	inside sh -c "sleep $mark & kill -STOP \$!" >/dev/null 2>&1
	"$cordon" session stop s
	gone "$mark"
	start
	run -1 inside test -e /tmp/file
}

@test "many at once" {
	start
	for i in $(seq 40); do
		inside sh -c "read -r x <&0; echo \$x $i" >"out.$i" <<<"line" 3>&- &
	done
	wait
	for i in $(seq 40); do
		[ "$(cat "out.$i")" = "line $i" ]
	done
	status_is "d['commands'] == 0"
}

@test "the environment is the policy's, for each command" {
	cat >cordon.toml <<'TOML'
[env]
pass = ["PATH", "PLAIN"]
[phase.build.env]
pass = ["PATH", "PLAIN", "BUILD_WORD"]
set = { PHASE = "build" }
TOML
	start
	export PLAIN=one BUILD_WORD=secret ANTHROPIC_API_KEY=key CORDON_STATUS=/etc/passwd
	[ "$(inside sh -c 'echo $PLAIN,$BUILD_WORD,$PHASE,$ANTHROPIC_API_KEY,$CORDON_STATUS')" = \
		one,,,,/dev/cordon/status.json ]
	"$cordon" session phase s build
	[ "$(inside sh -c 'echo $PLAIN,$BUILD_WORD,$PHASE')" = one,secret,build ]
	PLAIN=two run -0 "$cordon" session exec s --env MORE=x --env ANTHROPIC_API_KEY -- env
	grep -q '^MORE=x$' <<<"$output"
	grep -q '^PLAIN=two$' <<<"$output"
	run ! grep -q '^ANTHROPIC' <<<"$output"
	"$cordon" session phase s
	# The secret of the old phase is in no command that starts now.
	[ "$(inside sh -c 'echo $PLAIN,$BUILD_WORD,$PHASE')" = one,, ]
	inside sh -c 'cat /proc/[0-9]*/environ; env' >all 2>/dev/null || true
	grep -q PLAIN= all
	run ! grep -qa secret all
}

@test "a credential that is named for a command is left out, and told" {
	start
	GITHUB_TOKEN=x run -0 --separate-stderr "$cordon" session exec s --env GITHUB_TOKEN -- env
	[[ "$output" != *GITHUB* ]]
	[ "$stderr" = "--env: warning: 'GITHUB_TOKEN' is a credential by its name, and is left out\
 whoever names it" ]
}

@test "where a command runs" {
	mkdir -p sub
	start
	cd sub || return
	[ "$(inside pwd)" = "$work/sub" ]
	cd / || return
	[ "$(inside pwd)" = "$work" ]
	[ "$("$cordon" session exec s --cwd /tmp -- pwd)" = /tmp ]
	cd "$work" || return
}

@test "files of the command line are found from where it was said" {
	mkdir -p sub
	cd sub || return
	start --audit log
	inside true
	"$cordon" session stop s
	grep -q '"event":"command.end"' log
	# Nothing but the policies that were read is told as such.
	grep -q '"policies":\[\]' log
	[ ! -e /log ]
	cd "$work" || return
}

@test "names" {
	start
	run -2 start
	grep -q "there is a live session 's'" <<<"$output"
	for bad in '' a/b .. -x 123 0123456789abcdef 'a b'; do
		run -2 "$cordon" session start --name "$bad"
	done
	run -2 "$cordon" session start -- true
	run -2 "$cordon" session start --idle soon
	run -2 "$cordon" session start --owner me
	"$cordon" session start --name other.1
	[ "$("$cordon" ps | wc -l)" -eq 2 ]
	# Of many that start at once with one name, one does.
	for i in $(seq 8); do
		"$cordon" session start --name same >"started.$i" 2>/dev/null 3>&- &
	done
	wait
	[ "$(cat started.* | wc -l)" -eq 1 ]
}

@test "what a phase cannot change is refused when the session starts" {
	printf '[phase.a.network]\nexpose = [8080]\n' >cordon.toml
	run -125 start
	grep -q 'phase a: network.expose cannot change while a session lives' <<<"$output"
	printf '[phase.a.env]\nset = { A = "${NOT_THERE}" }\n' >cordon.toml
	run -2 start --policy cordon.toml
	[ "$output" = 'cordon: phase a: env.set: A takes ${NOT_THERE}, which the caller does not have' ]
	NOT_THERE=1 start --policy cordon.toml
	"$cordon" session phase s a
	NOT_THERE=2 run -0 inside printenv A
	[ "$output" = 2 ]
	"$cordon" session stop s
	printf '[phase.a.limits]\nfile_size = "1K"\n[phase.b.limits]\nopen_files = 16\n' >cordon.toml
	start
	run -2 "$cordon" session phase s c
	[ "$output" = "cordon: the policy has no phase 'c'" ]
	inside sh -c 'head -c 5000 /dev/zero >big'
	"$cordon" session phase s a
	run -153 inside sh -c 'head -c 5000 /dev/zero >big'
	"$cordon" session phase s b
	[ "$(inside sh -c 'ulimit -n')" = 16 ]
	"$cordon" session phase s
	[ "$(inside sh -c 'ulimit -n')" -gt 16 ]
}

@test "a session by a policy that is found has what the default gives, and is told" {
	printf '[phase.p.network]\nmode = "public"\n[phase.q.limits]\nfile_size = "1K"\n' >cordon.toml
	run --separate-stderr "$cordon" session start --name s
	[ "$stderr" = 'cordon: cordon.toml asks for more than the default (phase p: network.mode = "public"): cordon trust, or --policy cordon.toml' ]
	outside=$(readlink /proc/self/ns/net)
	"$cordon" session phase s p
	[ "$(inside readlink /proc/self/ns/net)" != "$outside" ]
	[ "$("$cordon" session status s --json | python3 -c 'import json, sys; print("public" in json.dumps(json.load(sys.stdin)))')" = False ]
	"$cordon" session phase s q
	run -153 inside sh -c 'head -c 5000 /dev/zero >big'
	"$cordon" session phase s
	# What the operator allows while it lives is allowed, as without the policy.
	"$cordon" session allow s a.example
	[[ "$("$cordon" session status s)" == *a.example* ]]
}

@test "a session that sees everything is refused by name" {
	printf '[files]\nread = ["/"]\n' >cordon.toml
	run start
	[ "$status" -eq 125 ]
	grep -q "files.read: a session that sees all of '/'" <<<"$output"
	rm cordon.toml
}

@test "a switch of phases is one of the network, and cuts what it refuses" {
	has_gate || skip "this machine has no gate for every port"
	serve
	cat >cordon.toml <<TOML
[network]
mode = "no-network"
[phase.open.network]
mode = "allowlist"
allow = ["a.test:$port"]
tls = "name-only"
[phase.wide.network]
mode = "public"
tls = "name-only"
TOML
	start --connect-to "a.test:$port:127.0.0.1:$port" --connect-to "b.test:$port:127.0.0.1:$port"
	[ "$(ask a.test)" = refused ]
	[ "$("$cordon" session phase s open)" = "generation 2" ]
	status_is "d['phase'] == 'open' and d['generation'] == 2 and d['network']['allow'] == ['a.test:$port']"
	[ "$(ask a.test)" = yes ]
	[ "$(ask b.test)" = refused ]
	inside /usr/bin/python3 -c "
import socket, time
c = socket.create_connection(('a.test', $port), 5)
print('open', flush=True)
try:
    while True:
        c.sendall(b'x' * 100)
        time.sleep(0.002)
except OSError:
    print('cut', flush=True)" >long 3>&- &
	soon grep -q open long
	soon test -s count
	soon status_is "d['connections'] == 1"
	status_is "0 < d['buffers_kb'] <= d['buffers_limit_kb'] and d['gate_cpu_ms'] >= 0"
	"$cordon" session status s | grep -q '^connections.* KB for buffers$'
	"$cordon" session phase s
	soon grep -q cut long
	soon status_is "d['connections'] == 0 and d['buffers_kb'] == 0"
	# What was under way is read, and then no more comes.
	stays() {
		first=$(cat count)
		sleep 0.3
		[ "$(cat count)" = "$first" ]
	}
	soon stays
	wait %2 2>/dev/null || wait -n || true
	[ "$(ask a.test)" = refused ]
	"$cordon" session phase s wide
	[ "$(ask b.test)" = yes ]
	status_is "d['generation'] == 4 and any(x['host'] == 'b.test' for x in d['denials'])"
	# What was refused while a command ran is in its result.
	"$cordon" session phase s
	run -0 "$cordon" session exec s --json -- /usr/bin/python3 -c "
import socket
try: socket.create_connection(('c.test', 80), 5)
except OSError: pass"
	json "[x['host'] for x in d['denials']] == ['c.test']"
}

@test "allow and network, within the ceilings, for a time" {
	has_gate || skip "this machine has no gate for every port"
	serve
	mkdir -p "$HOME/.config/cordon"
	cat >"$HOME/.config/cordon/cordon.toml" <<'TOML'
[network]
mode = "allowlist"
allow = ["**.test"]
TOML
	unset XDG_CONFIG_HOME
	start --tls name-only --connect-to "a.test:$port:127.0.0.1:$port" \
		--connect-to "x.b.test:$port:127.0.0.1:$port"
	[ "$(ask a.test)" = refused ]
	"$cordon" session allow s a.test
	[ "$(ask a.test)" = yes ]
	[ "$(ask x.b.test)" = refused ]
	"$cordon" session allow s '*.b.test' --for 4s
	[ "$(ask x.b.test)" = yes ]
	expired() {
		[ "$(ask x.b.test)" = refused ]
	}
	soon expired
	[ "$(ask a.test)" = yes ]
	# What a ceiling does not allow changes nothing.
	before=$("$cordon" session status s --json | grep -o '"generation":[0-9]*')
	run -2 "$cordon" session allow s evil.example
	grep -q "'evil.example' cannot be allowed" <<<"$output"
	run -2 "$cordon" session allow s 'http://bad/'
	run -2 "$cordon" session network s --network some
	run -2 "$cordon" session network s --network public --allow-host a.test
	[ "$("$cordon" session status s --json | grep -o '"generation":[0-9]*')" = "$before" ]
	[ "$(ask a.test)" = yes ]
	"$cordon" session network s --allow-host x.b.test
	[ "$(ask a.test)" = refused ]
	[ "$(ask x.b.test)" = yes ]
	"$cordon" session network s --network no-network
	[ "$(ask x.b.test)" = refused ]
	# A ceiling of an allowlist stays one.
	"$cordon" session network s --network public
	status_is "d['network']['mode'] == 'allowlist'"
	[ "$(ask a.test)" = yes ]
	# A file that is changed meanwhile has no say.
	printf '[network]\nmode = "public"\n' >"$HOME/.config/cordon/cordon.toml"
	run -2 "$cordon" session allow s evil.example
}

@test "allow: what is allowed already, and what is denied" {
	has_gate || skip "this machine has no gate for every port"
	start --allow-host '*.a.test' --deny-host bad.test --deny-host '*:25'
	# A wider rule says it already, whoever named it, and in whatever order.
	"$cordon" session allow s x.a.test
	"$cordon" session allow s y.b.test '**.b.test'
	"$cordon" session allow s 10.0.0.0/8
	"$cordon" session allow s 10.1.0.0/16:80
	"$cordon" session allow s '*'
	"$cordon" session allow s more.test:443
	status_is "d['network']['allow'] == ['*', '10.0.0.0/8']"
	before=$("$cordon" session status s --json | grep -o '"generation":[0-9]*')
	for denied in bad.test bad.test:443 more.test:25; do
		run -2 "$cordon" session allow s "$denied"
		grep -q "'$denied' cannot be allowed: the policy denies it" <<<"$output"
	done
	run -2 "$cordon" session network s --network allowlist --allow-host bad.test
	[ "$("$cordon" session status s --json | grep -o '"generation":[0-9]*')" = "$before" ]
}

@test "network: where a ceiling allows none, it is refused" {
	export HOME=$BATS_TEST_TMPDIR/home
	unset XDG_CONFIG_HOME
	mkdir -p "$HOME/.config/cordon"
	printf '[network]\nmode = "no-network"\n' >"$HOME/.config/cordon/cordon.toml"
	"$cordon" session start --name s
	for words in "public" "allowlist --allow-host a.test"; do
		# shellcheck disable=SC2086 # words
		run -2 "$cordon" session network s --network $words
		grep -q "the network cannot be '${words%% *}': a ceiling" <<<"$output"
	done
	"$cordon" session network s --network no-network
	"$cordon" session stop s
}

@test "allow: where a ceiling alone names hosts, none is lost" {
	has_gate || skip "this machine has no gate for every port"
	mkdir -p "$HOME/.config/cordon"
	printf '[network]\nmode = "allowlist"\nallow = ["**.test", "c.example"]\n' \
		>"$HOME/.config/cordon/cordon.toml"
	unset XDG_CONFIG_HOME
	printf '[network]\nmode = "public"\n[phase.open.network]\nmode = "public"\n[phase.own.network]
mode = "allowlist"\nallow = ["d.test"]\n' >cordon.toml
	start
	all="d['network']['allow'] == ['c.example', '**.test']"
	status_is "$all"
	"$cordon" session allow s a.test
	status_is "$all"
	run -2 "$cordon" session allow s evil.example
	"$cordon" session phase s open
	"$cordon" session allow s a.test
	status_is "$all"
	"$cordon" session phase s own
	"$cordon" session allow s a.test
	status_is "d['network']['allow'] == ['a.test', 'd.test']"
	"$cordon" session network s --network public
	"$cordon" session allow s b.test
	status_is "$all"
}

@test "a command that is not there was not blocked" {
	start --block-command "touch x"
	inside setsid -f sh -c 'while :; do touch x; sleep 0.01; done' >/dev/null 2>&1
	for _ in 1 2 3 4 5; do
		run -127 "$cordon" session exec s --json -- /nonexistent
		json "d['blocked'] is None"
	done
	run -126 "$cordon" session exec s --json -- touch x
	json "d['blocked']"
}

@test "a process whose first thread has ended belongs to its command" {
	start
	cat >threads.py <<'PY'
import ctypes, signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def tick():
    while True:
        with open("ticks", "a") as f:
            f.write("x")
        time.sleep(0.05)
threading.Thread(target=tick).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[__import__("os").uname().machine], 0)
PY
	run -124 "$cordon" session exec s --timeout 1500ms -- sh -c 'python3 threads.py & sleep 100'
	[ -s ticks ]
	before=$(stat -c %s ticks)
	sleep 0.5
	[ "$(stat -c %s ticks)" -eq "$before" ]
}

@test "a wider phase says how many processes of earlier ones have its network" {
	cat >cordon.toml <<'TOML'
[network]
mode = "no-network"
[phase.open.network]
mode = "allowlist"
allow = ["a.test", "b.test"]
[phase.less.network]
mode = "allowlist"
allow = ["a.test"]
TOML
	start
	run --separate-stderr "$cordon" session phase s open
	[ "$output" = "generation 2" ]
	[ "$stderr" = "" ]
	"$cordon" session phase s
	inside sh -c 'sleep 1000 & sleep 1000 & setsid sleep 1000 &' </dev/null >/dev/null 2>&1
	run --separate-stderr "$cordon" session phase s less
	[ "$output" = "generation 4" ]
	[[ "$stderr" == *"and 3 processes that began before it have it; --end-leftovers"* ]]
	run --separate-stderr "$cordon" session phase s less
	[ "$stderr" = "" ]
	run --separate-stderr "$cordon" session phase s open
	[[ "$stderr" == *"and 3 processes that"* ]]
	for phase in less ""; do
		run --separate-stderr "$cordon" session phase s $phase
		[ "$stderr" = "" ]
	done
	status_is 'd["processes"] == 3'
}

@test "what an earlier phase left has a wider network, unless it is ended" {
	has_gate || skip "this machine has no gate for every port"
	serve
	printf '[phase.open.network]\nmode = "allowlist"\nallow = ["a.test"]\ntls = "name-only"\n' >cordon.toml
	start --connect-to "a.test:$port:127.0.0.1:$port"
	cat >daemon <<PY
import os, socket, time
if os.fork():
    os._exit(0)
os.setsid()
open('ready', 'w').close()
while True:
    try:
        socket.create_connection(('a.test', $port), 5)
        open('reached', 'w').close()
    except OSError:
        pass
    time.sleep(0.02)
PY
	inside /usr/bin/python3 daemon </dev/null >/dev/null 2>&1
	soon test -e ready
	[ ! -e reached ]
	"$cordon" session phase s open
	soon test -e reached
	"$cordon" session phase s
	rm -f reached ready
	inside /usr/bin/python3 daemon </dev/null >/dev/null 2>&1
	soon test -e ready
	run --separate-stderr "$cordon" session phase --end-leftovers s open
	[ "$output" = "generation 4" ]
	[ "$stderr" = "" ]
	status_is 'd["processes"] == 0 and d["phase"] == "open"'
	[ "$(ask a.test)" = yes ]
	[ ! -e reached ]
}

@test "--end-leftovers ends what ended commands left, whatever they do about it" {
	printf '[phase.next]\n' >cordon.toml
	start
	inside sh -c 'setsid sh -c "trap \"\" TERM HUP INT; while :; do sleep 1000; done" &
		setsid sh -c "while :; do setsid sleep 1000 & sleep 0.001; done" &
		sh -c "kill -STOP \$\$" & sleep 1000 &' </dev/null >/dev/null 2>&1
	soon many
	run -2 "$cordon" session phase --end-leftovers s none
	[[ "$output" == *"no phase 'none'"* ]]
	many
	[ "$("$cordon" session phase --end-leftovers s next)" = "generation 2" ]
	status_is 'd["processes"] == 0'
	[ "$(inside echo goes on)" = "goes on" ]
	"$cordon" session exec s -- sh -c 'touch ready; sleep 1000' 3>&- &
	soon test -e ready
	run -2 "$cordon" session phase --end-leftovers s
	[[ "$output" == *"commands run in the session (1)"* ]]
	status_is 'd["phase"] == "next" and d["processes"] == 2'
	"$cordon" session stop s
	wait || true
}

many() {
	status_is 'd["processes"] > 8'
}

@test "--end-leftovers is not for a run" {
	printf '[phase.shut]\n[network]\nmode = "allowlist"\nallow = ["a.test"]\n' >cordon.toml
	"$cordon" run --policy cordon.toml -- sh -c 'touch ready; sleep 1000' 3>&- &
	soon test -e ready
	soon is_listed
	run -2 "$cordon" session phase --end-leftovers "$(ls "$live")" shut
	[[ "$output" == *"--end-leftovers is for sessions"* ]]
	"$cordon" kill "$(ls "$live")"
	wait || true
}

@test "phase, allow, network and status work on a run" {
	has_gate || skip "this machine has no gate for every port"
	printf '[phase.shut.network]\nmode = "no-network"\n[network]\nmode = "allowlist"\nallow = ["a.test"]\n' >cordon.toml
	"$cordon" run --policy cordon.toml -- sh -c 'touch ready; sleep 30' 3>&- &
	soon test -e ready
	soon is_listed
	id=$(ls "$live")
	"$cordon" session status "$id" --json | grep -q '"session":false.*"allow":\["a.test"\]'
	[ "$("$cordon" session allow "$id" b.test)" = "generation 2" ]
	[ "$("$cordon" session phase "$id" shut)" = "generation 3" ]
	"$cordon" session status "$id" --json | grep -q '"phase":"shut","network":{"mode":"no-network"'
	run -125 "$cordon" session exec "$id" -- true
	"$cordon" kill "$id"
	rm ready
	"$cordon" run --policy cordon.toml --network no-network -- sh -c 'touch ready; sleep 30' 3>&- &
	soon test -e ready
	soon is_listed
	run -125 "$cordon" session allow "$(ls "$live")" b.test
	grep -q 'started without a gate' <<<"$output"
	"$cordon" kill "$(ls "$live")"
	wait || true
}

@test "the status that the inside reads" {
	printf '[limits]\nprocesses = 77\n[phase.b.network]\nmode = "allowlist"\nallow = ["a.test"]\n' >cordon.toml
	has_gate || printf '[limits]\nprocesses = 77\n' >cordon.toml
	start
	inside sh -c 'cat $CORDON_STATUS' | grep -q '"phase":null.*"processes":77.*"generation":1'
	run -0 inside sh -c 'f=$CORDON_STATUS; d=${f%/*}
		(echo x >$f) 2>/dev/null || echo no-write
		rm -f $f 2>/dev/null; test -e $f && echo there
		(echo x >$d/other) 2>/dev/null || echo no-new
		chmod 777 $d 2>/dev/null || echo no-mode
		ls -A $d'
	[ "$output" = $'no-write\nthere\nno-new\nno-mode\nstatus.json' ]
	if has_gate; then
		"$cordon" session phase s b
		inside sh -c 'cat $CORDON_STATUS' | grep -q '"phase":"b".*"allow":\["a.test"\].*"generation":2'
	fi
}

@test "an idle session ends, and one whose owner is gone" {
	"$cordon" session start --name idle --idle 200ms
	soon nothing_lives
	sleep 60 3>&- &
	owner=$!
	"$cordon" session start --name owned --owner "$owner"
	mark=$(marker)
	"$cordon" session exec owned -- sh -c "sleep $mark & :" >/dev/null 2>&1 </dev/null
	soon sleeps "$mark"
	kill -9 "$owner"
	soon nothing_lives
	gone "$mark"
	start
	kill "$(supervisor)"
	soon nothing_lives
}

@test "a killed supervisor takes everything along, and it is told" {
	start
	mark=$(marker)
	inside sh -c "sleep $mark & :" >/dev/null 2>&1 </dev/null
	"$cordon" session exec s --json -- sh -c "echo begun; touch one; sleep $mark" >result 3>&- &
	client=$!
	"$cordon" session exec s -- sh -c "echo begun; touch other; sleep $mark" >out 2>err 3>&- &
	other=$!
	soon test -e one -a -e other
	kill -9 "$(supervisor)"
	soon gone "$mark"
	# 125 would say that nothing was run.
	rc=0
	wait "$client" || rc=$?
	[ "$rc" -eq 137 ]
	output=$(<result)
	json 'd["signal"] == 9 and d["exit_code"] is None and d["stdout"] == "begun\n"'
	json 'd["error"] == {"code": "peer", "message": "the supervisor went away", "hint": None}'
	json 'd["processes_peak"] == 1'
	rc=0
	wait "$other" || rc=$?
	[ "$rc" -eq 137 ]
	[ "$(<out)" = begun ]
	[ "$(<err)" = 'cordon: the supervisor went away' ]
	"$cordon" ps | grep -q 's (session), dead: its supervisor was killed$'
	run -125 "$cordon" session status s
	grep -q "the supervisor of 's' was killed, and everything inside with it" <<<"$output"
	run -125 inside true
	start
	[ "$(inside echo again)" = again ]
	kill -9 "$(supervisor)"
	soon eval '"$cordon" ps | grep -q dead'
	"$cordon" session stop s
}

@test "what a command leaves writing is not its output, and does not change its end" {
	for limit in 1536K none; do
		rm -f ready go
		start --output "$limit"
		mark=$(marker)
		"$cordon" session exec s -- sh -c "echo begin; touch ready
			until [ -e go ]; do sleep 0.01; done
			head -c 50000 /dev/zero; echo; echo last; yes $mark & exit 0" >out 3>&- &
		client=$!
		soon test -e ready
		# All of it has happened before the client sees any.
		kill -STOP "$client"
		touch go
		soon pgrep -r S -f "^yes $mark"
		soon status_is "d['commands'] == 0"
		kill -CONT "$client"
		wait "$client"
		grep -aq '^begin$' out
		[ "$(tr -dc '\0' <out | wc -c)" -eq 50000 ]
		grep -aq '^last$' out
		"$cordon" session stop s
	done
}

@test "a result has the refusals of its own command" {
	start --protect one --protect other --protect third --block-command curl
	for name in one other; do
		"$cordon" session exec s --json -- sh -c "touch $name.begun
			until [ -e go ]; do sleep 0.01; done
			touch $name; sh -c 'sh -c \"mkdir $name\"'; touch $name.done
			until [ -e end ]; do sleep 0.01; done" >"$name.json" 3>&- &
		clients+=($!)
	done
	soon test -e one.begun -a -e other.begun
	touch go
	soon test -e one.done -a -e other.done
	run -126 inside curl
	# Whose this is nobody can tell.
	run ! inside setsid -w touch third
	touch end
	wait "${clients[@]}"
	for name in one other; do
		output=$(<"$name.json")
		json "[(d['kind'], d['path'].split('/')[-1], d['count']) for d in d['denials']] == [
			('file', '$name', 2), ('file', 'third', 1)]"
	done
}

@test "a killed init ends the session, and who waits hears it" {
	start
	"$cordon" session exec s --json -- sleep 30 >result 3>&- &
	client=$!
	soon eval 'status_is "d[\"commands\"] == 1"'
	kill -9 "$(pgrep -P "$(supervisor)" | head -1)"
	wait "$client" && false
	grep -q '"signal":9' result
	soon nothing_lives
}

@test "a killed client: its command ends, the rest goes on" {
	start
	mark=$(marker)
	other=$(marker)
	inside sh -c "sleep $other & :" >/dev/null 2>&1 </dev/null
	"$cordon" session exec s -- sh -c "trap 'echo hup >>heard' HUP; sleep $mark; sleep $mark" 3>&- &
	client=$!
	# Not before: what a shell hears between two commands it tells after the second.
	soon sleeps "$mark"
	kill -9 "$client"
	soon gone "$mark"
	soon grep -q hup heard
	soon sleeps "$other"
	soon status_is "d['commands'] == 0"
}

@test "signals go to the command of the client that got them" {
	start
	"$cordon" session exec s -- sh -c 'trap "touch resized" WINCH; touch ready; while :; do sleep 0.05; done' </dev/null >/dev/null 3>&- &
	client=$!
	soon test -e ready
	kill -WINCH "$client"
	soon test -e resized
	# A background job of this shell ignores SIGINT, and so would the command.
	kill -TERM "$client"
	wait "$client" && false
	[ "$(inside echo alive)" = alive ]
}

@test "a terminal of its own" {
	start
	run -0 script -qec "$cordon session exec s -- sh -c 'tty; test -t 0 -a -t 1 -a -t 2 && echo all; stty size'" /dev/null
	grep -q '/dev/pts/0' <<<"$output"
	grep -q 'all' <<<"$output"
	# One after the other: the first is gone.
	run -0 script -qec "$cordon session exec s -- tty" /dev/null
	grep -q '/dev/pts/0' <<<"$output"
	# Nothing inside has the caller's.
	outer=$(tty) || outer=none
	run ! grep -qF "$outer" <<<"$output"
}

@test "no way from inside to the control socket" {
	# The very folder as a root: it stays masked.
	start -r "$XDG_RUNTIME_DIR"
	id=$(ls "$live")
	run -0 inside /usr/bin/python3 -c "
import os, socket
for path in ('$live/$id/control', '/proc/1/root$live/$id/control', '/dev/cordon/control', '/dev/cordon/../control'):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.connect(path)
        print('connected', path)
    except OSError:
        pass
try:
    print(os.listdir('$live'))
except OSError:
    pass"
	[ -z "$output" ]
	status_is "d['generation'] == 1 and d['phase'] is None"
	# The same works outside.
	/usr/bin/python3 -c "
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect('$live/$id/control')
assert len(s.recv(65536)) > 100"
}

@test "nonsense on the control socket ends a connection, and nothing else" {
	start
	id=$(ls "$live")
	/usr/bin/python3 - "$live/$id/control" <<'PY'
import array, os, random, socket, struct, sys
random.seed(5)
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect(sys.argv[1])
    return s, s.recv(65536)
for i in range(300):
    s, hello = connect()
    head = bytearray(hello)
    kind = i % 4
    if kind == 0:
        head = bytearray(random.randbytes(random.randrange(1, 40000)))
    elif kind == 1:                     # a greeting, sent back
        pass
    elif kind == 2:
        head[4] = random.randrange(12)
        for _ in range(random.randrange(8)):
            head[random.randrange(4, len(head))] = random.randrange(256)
        head += random.randbytes(random.randrange(64))
    else:
        head = head[:random.randrange(1, len(head))]
    fds = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * random.randrange(1, 6)))]
    try:
        s.sendmsg([head], fds if random.random() < 0.3 else [])
        while s.recv(65536):
            pass
    except OSError:
        pass
    s.close()
# A directory, or a file that is only to be read, as a command's streams: a way
# out of every mount, refused whoever sends it.
texts = b"ls\0/proc/self/fd/0/\0PATH=/bin:/usr/bin\0/\0\0\0"
for path in "/", "/etc/passwd":
    s, hello = connect()
    fd = os.open(path, os.O_RDONLY)
    null = os.open("/dev/null", os.O_RDWR)
    head = bytearray(len(hello))
    struct.pack_into("<IHHI4I4q", head, 0, *struct.unpack_from("<I", hello), 1, 0, len(texts),
                     2, 1, 3, 0, 0, 0, 0, 0)
    struct.pack_into("<q", head, 32 + 3 * 8, 7)
    s.sendmsg([head + texts], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                array.array("i", [fd, null, null]))])
    answer = s.recv(65536)
    assert b"standard stream 0 would lead out" in answer, answer
PY
	[ "$(inside echo alive)" = alive ]
	pid=$(supervisor)
	soon eval '[ "$(ls /proc/'"$pid"'/fd 2>/dev/null | wc -l)" -lt 60 ]'
}

@test "nothing comes in with a command but its streams" {
	mkdir -p "$BATS_TEST_TMPDIR/outside"
	echo canary >"$BATS_TEST_TMPDIR/outside/file"
	start
	run -125 inside cat <"$BATS_TEST_TMPDIR"
	grep -q 'standard stream 0' <<<"$output"
	exec 7<"$BATS_TEST_TMPDIR/outside" 8<"$BATS_TEST_TMPDIR/outside/file"
	[ "$(inside sh -c 'ls /proc/self/fd | wc -l')" -eq 4 ]
	exec 7<&- 8<&-
	run inside sh -c 'cat /proc/[0-9]*/fd/*/outside/file /proc/[0-9]*/cwd/../outside/file /proc/1/environ'
	run ! grep -qa canary <<<"$output"
	# A working directory outside is none inside, nor is one that is gone.
	cd "$BATS_TEST_TMPDIR/outside" || return
	[ "$(inside pwd)" = "$work" ]
	run -125 "$cordon" session exec s --cwd "$BATS_TEST_TMPDIR/outside" -- cat file
	cd "$work" || return
	# A file that is only to be read comes through a pipe: it cannot be reopened.
	echo kept >input
	chmod 444 input
	run -0 inside sh -c 'cat; chmod 777 /proc/self/fd/0 2>/dev/null; readlink /proc/self/fd/0' <input
	grep -q pipe <<<"$output"
	[ "$(stat -c %a input)" = 444 ]
	# Nothing is typed into a terminal: not into the caller's, nor into its own.
	run script -qec "$cordon session exec s -- /usr/bin/python3 -c '
import fcntl, termios
for fd in (0, 1, 2):
    try:
        fcntl.ioctl(fd, termios.TIOCSTI, b\"x\")
        print(\"typed\")
    except OSError:
        print(\"refused\")'" /dev/null
	[ "$(grep -c refused <<<"$output")" -eq 3 ]
	run ! grep -q typed <<<"$output"
}

# Whoever is killed while a session starts, works or ends: what is left is listed,
# can be stopped, and then nothing is left.
@test "kill -9 of anybody at any time" {
	mark=$(marker)
	k=k$BASHPID-$RANDOM-
	hit() {
		for pid in $(pgrep "$@"); do
			kill -9 "$pid" || true
		done
	}
	for i in $(seq 24); do
		(
			"$cordon" session start --name "$k$i" 3>&- &&
				"$cordon" session exec "$k$i" -- sh -c "sleep $mark & sleep $mark"
		) >/dev/null 2>&1 3>&- &
		sleep "0.0$((RANDOM % 9))$((RANDOM % 9))"
		case $((i % 4)) in
		0) hit -f -- "session start --name $k$i" ;;
		1) hit -o -f -- "session start --name $k$i" ;;
		2) hit -n -f -- "session start --name $k$i" ;;
		3) hit -f -- "session exec $k$i " ;;
		esac
	done
	sleep 0.5
	for i in $(seq 24); do
		"$cordon" session stop "$k$i" >/dev/null 2>&1 || true
	done
	wait
	soon gone "$mark"
	none_left() {
		! pgrep -f -- "session start --name $k" >/dev/null
	}
	soon none_left
	# What was not even written is swept away a moment later.
	swept() {
		"$cordon" ps >/dev/null
		[ -z "$(ls -A "$live")" ]
	}
	for _ in 1 2 3; do
		soon swept && break
	done
	swept
}

# Has the machine a cgroup that cordon may use?  Else no phase has such limits of its own.
has_cgroup() {
	"$cordon" doctor --json | /usr/bin/python3 -c "
import json, sys
sys.exit(json.load(sys.stdin)['cgroup'] == 'none')"
}

# A policy that no session of this machine can hold: which fields the message names.
refused() {
	run -125 start
	[ "$output" = "cordon: $1" ]
	run -1 "$cordon" check cordon.toml
	[[ $output == *": $1" ]]
}

@test "a phase changes memory, CPU time, CPUs and processes with a cgroup, else it is refused" {
	for field in 'memory = "80M"' 'cpu_seconds = 7' 'cpus = 1' 'processes = 4'; do
		printf '[phase.same.env]\n[phase.small.limits]\n%s\n' "$field" >cordon.toml
		if has_cgroup; then
			"$cordon" check cordon.toml
			start
			"$cordon" session phase s small
			status_is "d['limits']['${field%% *}'] == ${field##* }" ||
				status_is 'd["limits"]["memory"] == 80 << 20'
			inside true
			"$cordon" session stop s
		else
			as='--user '
			[ "$(id -u)" -ne 0 ] || as=
			refused "phase small: limits.${field%% *} cannot change while a session lives: cordon has no cgroup v2 here; write it outside the phases, or start cordon by systemd-run $as--scope -p Delegate=yes"
		fi
	done
	# A run has no phases, and a phase may say what the base says.
	"$cordon" run -- true
	printf '[limits]\nmemory = "80M"\n[phase.small.limits]\nmemory = "80M"\n' >cordon.toml
	"$cordon" check cordon.toml
	start
	"$cordon" session phase s small
	inside true
}

@test "limits of a phase hold for what runs, with a cgroup" {
	has_cgroup || return 0	# the test above: no session starts
	printf '[limits]\nmemory = "600M"\n' >cordon.toml
	printf '[phase.small.limits]\nmemory = "80M"\nprocesses = 4\n' >>cordon.toml
	start
	inside sh -c 'for i in 1 2 3 4 5 6; do sleep 1000 & done'
	run -125 "$cordon" session phase s small
	[ "$output" = 'cordon: limits.processes: more are alive than 4' ]
	status_is 'd["phase"] is None'
	inside pkill sleep
	soon "$cordon" session phase s small
	run -137 inside /usr/bin/python3 -c 'x = bytearray(200 << 20); import time; time.sleep(100)'
}

@test "a phase has the disk of its session" {
	printf '[phase.small.limits]\ndisk = "1M"\n' >cordon.toml
	refused 'phase small: limits.disk cannot change while a session lives; write it outside the phases'
	printf '[limits]\ndisk = "2M"\n[phase.next.limits]\nfile_size = "9M"\n' >cordon.toml
	start
	"$cordon" session phase s next
	inside sh -c 'head -c 1M /dev/zero >/tmp/x && rm /tmp/x'
	run ! inside sh -c 'head -c 3M /dev/zero >/tmp/x'
}

@test "processes of a session" {
	# RLIMIT_NPROC does not bind uid 0: without a cgroup root's session ends by that limit.
	[ "$(id -u)" -ne 0 ] || has_cgroup || return 0
	start --processes 12
	[ "$(inside /usr/bin/python3 -c 'import os, signal, time
n = 0
try:
    while n < 60:
        if os.fork() == 0:
            time.sleep(100)
        n += 1
except OSError:
    pass
print(n)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.killpg(0, signal.SIGTERM)
while n:
    n -= bool(os.wait())')" = 11 ]
}

@test "CPUs of a session" {
	[ "$(nproc)" -gt 1 ] || skip "this machine has one CPU"
	start --cpus 1
	status_is 'd["limits"]["cpus"] == 1'
	[ "$(inside nproc)" = 1 ]
	run ! inside taskset ff true
}

@test "status for people: a line for each thing" {
	start --allow-host a.test --connect-to a.test:80:127.0.0.1:9
	inside getent hosts b.test || true
	run -0 "$cordon" session status s
	[[ "$output" == *"id           "*", called s"* ]]
	[[ "$output" == *"phase        none, generation 1"* ]]
	[[ "$output" == *"network      allowlist: a.test"* ]]
	[[ "$output" == *"memory       "*" KB of 4194304 KB"* ]]
	[[ "$output" == *"denied       b.test (1×) not in the allowlist"* ]]
	[[ "$output" != *"{"* ]]
}

# bats test_tags=all-only
@test "two hundred sessions" {
	for i in $(seq 200); do
		"$cordon" session start --name "many$i" >/dev/null
	done
	[ "$("$cordon" ps | wc -l)" -eq 200 ]
	for i in $(seq 200); do
		[ "$("$cordon" session exec "many$i" -- echo "$i")" = "$i" ]
	done
}

@test "a stream that is /dev/null is the one inside" {
	start
	run inside sh -c 'touch -c /proc/self/fd/0 && echo changed' </dev/null
	[[ $output == *"Read-only file system"* ]]
	[[ $output != *changed* ]]
}

@test "a root that shows the socket of another cordon is no way to it" {
	mkdir secret
	echo hidden >secret/file
	cp "$cordon" program
	# Whether that supervisor lives is told by a file there, which we can write.
	cat >try.sh <<-'S'
		about=$XDG_RUNTIME_DIR/cordon/$1/about
		t=$(awk '{ print $22 }' /proc/1/stat)
		awk -v t="$t" 'NR == 1 { print 1, t, $3; next } { print }' "$about" >new
		cat new >"$about"
		./program session exec "$1" -- cat "$PWD/secret/file"
	S
	# In the second the socket's name is longer than an address: no list has it, no mask.
	for place in shown "$(printf 'x%.0s' {1..100})"; do
		mkdir -m 700 "$place"
		theirs=$PWD/$place
		id=$(cd secret && XDG_RUNTIME_DIR=$theirs "$cordon" session start)
		XDG_RUNTIME_DIR=$theirs "$cordon" session exec "$id" -- cat file | grep hidden
		cp "$place/cordon/$id/about" about
		run "$cordon" run --deny secret --env XDG_RUNTIME_DIR="$theirs" -- sh try.sh "$id"
		cat about >"$place/cordon/$id/about"
		XDG_RUNTIME_DIR=$theirs "$cordon" session stop "$id"
		[ "$status" -ne 0 ]
		[[ "$output" != *hidden* ]]
	done
}

@test "a session of who has another environment is not seen inside" {
	folder=/tmp/cordon-$(id -u)
	id=$(env -u XDG_RUNTIME_DIR "$cordon" session start)
	ls "$folder/$id/control"
	run "$cordon" run -r /tmp -- ls "$folder/$id"
	env -u XDG_RUNTIME_DIR "$cordon" session stop "$id"
	[ "$status" -ne 0 ]
	[[ "$output" != *control* ]]
}

# The groups of a user stand before the numbers of a process, as its name does: both tell where
# the fourth kilobyte of its status ends.
# bats test_tags=root-only
@test "a user of many groups is served, and from inside not taken for who is outside" {
	[ "$(id -u)" -eq 0 ] || skip "only root may be in any group"
	shared=$(mktemp -d /tmp/cordon-groups-XXXXXX)
	cp "$cordon" "$shared/cordon"
	cat >"$shared/greet.py" <<-'PY'
		import ctypes, os, socket, sys
		folder = os.open(sys.argv[1], os.O_PATH)
		for n in range(31):
		    name = b"a" * n if n < 16 else b"\\" * (n // 2) + b"a" * (n % 2)
		    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)	# PR_SET_NAME
		    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		    s.connect(f"/proc/self/fd/{folder}/control")
		    try:
		        assert not s.recv(4096), f"greeted by a name of {n}"
		    except ConnectionError:
		        pass
		print("refused")
	PY
	# In a place whose socket no list has, and so no mask, and that is not the run's own.
	long=$shared/$(printf 'x%.0s' {1..100})
	mkdir -m 700 "$long" "$shared/home"
	chown -R 65534:65534 "$shared"
	cd "$shared"
	export HOME=$shared/home XDG_RUNTIME_DIR=$long
	somebody() { setpriv --reuid 65534 --regid 65534 "$@"; }
	id=$(somebody --clear-groups ./cordon session start)
	many=$(seq -s, 1000000000 1000001000)
	made=$(somebody --groups "$many" ./cordon session exec "$id" -- sh -c '>a; echo exec') || true
	made+=$(somebody --groups "$many" ./cordon run -- sh -c '>b; echo run') || true
	ls a b || made=
	heard=
	for n in {351..354}; do
		heard+=$(XDG_RUNTIME_DIR=$HOME somebody --groups \
			"$(seq -s, 1000000000 "$((1000000000 + n))")" ./cordon run -- \
			/usr/bin/python3 greet.py "$long/cordon/$id") || true
	done
	somebody --clear-groups ./cordon session stop "$id"
	cd /
	rm -rf "$shared"
	[ "$made" = execrun ]
	[ "$heard" = refusedrefusedrefusedrefused ]
}

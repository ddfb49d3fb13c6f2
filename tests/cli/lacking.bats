# Machines that lack something: refused by name, or run with what is there where
# beside: yes
# weight: 2/5
# the policy or CORDON_SANDBOX permits it, and then said.
# shellcheck disable=SC2154  # out, err and place are set by place.bash
load place

# policy TEXT
policy() {
	printf '%s\n' "$1" >"$place/work/cordon.toml"
}

missing() {
	printf '%s' "$out" | /usr/bin/python3 -c \
		'import json, sys; print(*json.load(sys.stdin)["missing"])'
}

@test "a protection that is missing is refused by name, with what to do" {
	work
	for feature in userns mount net uts seccomp notify; do
		cordon_without "$feature" run -- /bin/echo ran
		is "$status" 125
		is "$out" ""
		has "$err" "cordon: the policy needs $feature ("
		is "$([ "$(wc -l <"$place/.err")" -ge 2 ] && echo hint)" hint
	done
}

@test "blocked commands with arguments need notifications" {
	work
	# Nothing is written, so no name is guarded either.
	policy '[files]
write = []
read = ["."]
deny = []
[commands]
block = ["touch mark"]'
	cordon_without notify run --policy cordon.toml -- /bin/echo ran
	is "$status" 125
	is "$out" ""
	has "$err" "cordon: the policy needs notify ("
	CORDON_SANDBOX=warn cordon_without notify run --policy cordon.toml --json -- /bin/echo ran
	is "$status" 0
	has " $(missing) " " seccomp "
}

@test "the refusal as JSON has the hint" {
	work
	cordon_without userns run --json -- /bin/echo ran
	is "$status" 125
	has "$out" '"code":"host"'
	has "$out" 'max_user_namespaces'
	is "$(missing)" userns
	cordon_without landlock run --json --profile os_hardened -- /bin/echo ran
	is "$status" 125
	is "$(missing)" landlock
	has "$out" '"profile":"os_hardened"'
	cordon_without notify run --json -- /bin/echo ran
	is "$status" 125
	is "$(missing)" seccomp
}

@test "may_lack: runs without, says so before, and in the result" {
	work
	policy 'may_lack = ["uts"]'
	cordon_without uts run --json -- /bin/echo ran
	is "$status" 0
	has "$out" '"stdout":"ran\n"'
	has " $(missing) " " uts "
	is "$err" "cordon: warning: this machine does not offer uts; the command runs without"
	cordon_without net run -- /bin/echo ran
	is "$status" 125
	has "$err" "the policy needs net"
}

@test "may_lack of something that is there changes nothing" {
	work
	policy 'may_lack = ["uts", "net"]'
	cordon run --json -- /bin/echo ran
	is "$status" 0
	is "$err" ""
	has_not " $(missing) " " uts "
}

@test "without a network namespace no socket can be made" {
	work
	policy 'may_lack = ["net"]'
	cordon_without net run -- /usr/bin/python3 -c '
import socket
for family in socket.AF_INET, socket.AF_INET6:
    try:
        socket.socket(family)
        print("made")
    except PermissionError:
        print("refused")'
	is "$out" "refused
refused"
}

@test "without mounts Landlock holds the files" {
	work
	echo secret >"$place/secret"
	policy 'may_lack = ["mount", "pid", "cgroup"]'
	cordon_without mount run --json -- /bin/sh -c \
		"cat $place/secret; echo x >$place/new; echo mine >mine; cat mine"
	is "$status" 0
	has "$out" '"stdout":"mine\n"'
	is "$(missing)" "$(missing | grep -o 'mount pid.*')"
	is "$([ -e "$place/new" ] || echo none)" none
	cordon_without mount,landlock run -- /bin/echo ran
	is "$status" 125
	has "$err" "the policy needs landlock"
}

@test "without mounts, what is denied inside a root is refused" {
	work
	policy "may_lack = [\"mount\", \"pid\", \"cgroup\"]
[files]
deny = [\"$place/work/key\"]"
	cordon_without mount run -- /bin/echo ran
	is "$status" 125
	has "$err" "'$place/work/key' lies inside the root '$place/work'"
}

@test "without mounts, a file system of the kernel inside a root is refused" {
	work
	mkdir proc
	policy 'may_lack = ["mount", "pid", "cgroup"]'
	# shellcheck disable=SC2016  # expanded there
	run unshare --map-root-user --mount sh -c 'mount --rbind /proc proc && exec "$@"' sh \
		"$CORDON_BUILD/tests/without" mount "$CORDON" run -- /bin/echo ran
	is "$status" 125
	has "$output" "'$place/work/proc' lies inside the root '$place/work'"
}

@test "without mounts, what is to be kept inside a writable root is refused" {
	work
	mkdir -p ro
	for entry in 'protect = ["./ro"]' 'protect = ["**/*.lock"]' 'read = ["./ro"]'; do
		policy "may_lack = [\"mount\", \"pid\", \"cgroup\"]
[files]
$entry"
		cordon_without mount run -- /bin/echo ran
		is "$status" 125
		has "$err" "can be kept from being written by mount only"
	done
}

@test "without pids nothing is left behind, and nobody else is hit" {
	work
	policy 'may_lack = ["mount", "pid", "cgroup"]'
	sleep 60 &
	local other=$!
	# shellcheck disable=SC2016  # expanded inside
	cordon_without mount run --timeout 1 -- \
		/bin/sh -c '(setsid sleep 61 & echo $! >pid); sleep 62'
	is "$status" 124
	kill -0 "$other"
	kill "$other"
	is "$(kill -0 "$(cat pid)" 2>/dev/null && echo alive)" ""
}

@test "without pids nobody inside ends or stops what ends the tree" {
	work
	for feature in pid mount; do
		for signal in KILL STOP; do
			CORDON_SANDBOX=warn cordon_without "$feature" run --timeout 1 -- /bin/sh -c \
				"(setsid sleep 71 & echo \$! >pid); kill -$signal \$PPID; sleep 72"
			is "$status" 124
			has "$err" "not permitted"
			is "$(kill -0 "$(cat pid)" 2>/dev/null && echo alive)" ""
		done
	done
}

@test "without pids nothing outlives the supervisor" {
	work
	CORDON_SANDBOX=warn "$CORDON_BUILD/tests/without" mount "$CORDON" run -- /bin/sh -c \
		'trap "" TERM HUP; setsid sleep 73 & echo $! >pid; sleep 74' 3>&- 2>/dev/null &
	local supervisor=$!
	for _ in $(seq 100); do [ -s pid ] && break; sleep 0.05; done
	kill -KILL "$supervisor"
	wait "$supervisor" || true
	for _ in $(seq 100); do kill -0 "$(cat pid)" 2>/dev/null || break; sleep 0.05; done
	is "$(kill -0 "$(cat pid)" 2>/dev/null && echo alive)" ""
}

@test "CORDON_SANDBOX=warn does without anything, off encloses nothing" {
	work
	export CORDON_SANDBOX=warn
	cordon_without seccomp,uts run --json -- /bin/echo ran
	is "$status" 0
	has " $(missing) " " uts "
	has " $(missing) " " seccomp "
	has "$err" "does not offer uts seccomp; the command runs without"
	has "$err" "blocked commands with arguments, are not held"
	export CORDON_SANDBOX=off
	echo secret >"$place/secret"
	cordon_without uts run -- cat "$place/secret"
	is "$status" 0
	is "$out" secret
	has "$err" "does not offer uts; CORDON_SANDBOX=off runs the command without any protection"
}

@test "CORDON_SANDBOX=off gives nothing up that a ceiling asks for" {
	export XDG_CONFIG_HOME=$PWD/config
	mkdir -p config/cordon
	printf '[limits]\nmemory = "1G"\n' >config/cordon/cordon.toml
	CORDON_SANDBOX=off cordon_without uts run -- touch ran
	is "$status" 125
	has "$err" "backend none does not keep limits.memory, which a ceiling asks for"
	[ ! -e ran ]
	printf '[limits]\ntimeout = "9s"\n' >config/cordon/cordon.toml
	CORDON_SANDBOX=off cordon_without uts run -- touch ran
	is "$status" 0
}

@test "CORDON_SANDBOX=off encloses where the machine can" {
	work
	echo secret >"$place/secret"
	CORDON_SANDBOX=off cordon run -- cat "$place/secret"
	is "$status" 1
	is "$out" ""
}

@test "CORDON_SANDBOX=enforce ignores may_lack" {
	work
	policy 'may_lack = ["uts"]'
	CORDON_SANDBOX=enforce cordon_without uts run -- /bin/echo ran
	is "$status" 125
	has "$err" "the policy needs uts"
}

@test "os_hardened does without nothing, and needs Landlock" {
	work
	for word in off warn enforce; do
		CORDON_SANDBOX=$word cordon_without uts run --profile os_hardened -- /bin/echo ran
		is "$status" 125
		has "$err" "the policy needs uts"
	done
	CORDON_SANDBOX=warn cordon_without landlock run --profile os_hardened -- /bin/echo ran
	is "$status" 125
	has "$err" "the policy needs landlock"
	cordon_without landlock run -- /bin/echo ran
	is "$status" 0
}

@test "require: refused by name, whatever CORDON_SANDBOX says" {
	work
	policy 'require = ["landlock"]'
	CORDON_SANDBOX=warn cordon_without landlock run -- /bin/echo ran
	is "$status" 125
	has "$err" "the policy needs landlock"
}

@test "require: off does not give up what is there, for what is not" {
	work
	policy 'require = ["net"]'
	CORDON_SANDBOX=off cordon_without uts run -- /bin/echo ran
	is "$status" 125
	is "$out" ""
	has "$err" "the policy needs uts"
	CORDON_SANDBOX=warn cordon_without uts run -- /bin/echo ran
	is "$status" 0
}

@test "a misspelt CORDON_SANDBOX is a usage error that names it" {
	work
	CORDON_SANDBOX=enfroce cordon run -- /bin/echo ran
	usage_error "CORDON_SANDBOX is 'enfroce'; write off, warn or enforce"
}

@test "the plan of a lesser machine" {
	work
	CORDON_SANDBOX=warn cordon_without uts run --dry-run -- /bin/echo ran
	is "$status" 0
	has_not "$out" "host name of its own"
	cordon_without uts run --dry-run -- /bin/echo ran
	is "$status" 125
}

@test "a network that the policy restricts is never opened by consent" {
	work
	policy 'may_lack = ["net"]
[network]
allow = ["a.example:443"]'
	for consent in "" warn enforce; do
		CORDON_SANDBOX=$consent cordon_without anyip,tproxy run -- /bin/echo ran
		is "$status" 125
		is "$out" ""
		has "$err" "cordon: network.mode allowlist needs tproxy ("
		is "$([ "$(wc -l <"$place/.err")" -ge 2 ] && echo hint)" hint
	done
	policy 'may_lack = ["net"]
[network]
mode = "public"
deny = ["*:25"]'
	CORDON_SANDBOX=warn cordon_without anyip,tproxy run -- /bin/echo ran
	is "$status" 125
	has "$err" "cordon: network.deny under network.mode public needs tproxy ("
	# Without anything, where that is said.
	CORDON_SANDBOX=off cordon_without anyip,tproxy run -- /bin/echo ran
	is "$status" 0
	is "$out" ran
	has "$err" "without any protection"
}

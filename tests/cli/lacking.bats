# Machines that lack something: refused by name, or run with what is there where
# beside: yes
# weight: 2/5
# the policy or CORDON_SANDBOX permits it, and then said.
# shellcheck disable=SC2154  # out, err and place are set by place.bash
load place

# policy TEXT
policy() {
	printf '%s\n' "$1" >"$place/work/cordon.toml"
	(cd "$place/work" && "$CORDON" trust >"$place/.out")
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
	# Level landlock cannot refuse a program.
	policy 'may_lack = ["namespaces", "cgroup"]
[commands]
block = ["touch mark"]'
	cordon_without userns run --policy cordon.toml -- /bin/echo ran
	is "$status" 125
	has "$err" "cordon: the policy needs mount ("
}

@test "the refusal as JSON has the hint" {
	work
	cordon_without userns run --json -- /bin/echo ran
	is "$status" 125
	has "$out" '"code":"host"'
	has "$out" 'max_user_namespaces'
	is "$(missing)" namespaces
	cordon_without landlock run --json --profile os_hardened -- /bin/echo ran
	is "$status" 125
	is "$(missing)" landlock
	has "$out" '"profile":"os_hardened"'
	cordon_without notify run --json -- /bin/echo ran
	is "$status" 125
	is "$(missing)" namespaces
}

@test "may_lack: runs without, says so before, and in the result" {
	work
	policy 'may_lack = ["namespaces", "cgroup"]'
	cordon_without uts run --json -- /bin/echo ran
	is "$status" 0
	has "$out" '"stdout":"ran\n"'
	has "$out" '"enforced":["landlock","seccomp"'
	has " $(missing) " " namespaces "
	has "$err" "cordon: warning: this machine does not offer what level full needs"
	policy 'may_lack = ["landlock"]'
	cordon_without uts run -- /bin/echo ran
	is "$status" 125
	has "$err" "the policy needs uts"
}

@test "may_lack of something that is there changes nothing" {
	work
	policy 'may_lack = ["namespaces"]'
	cordon run --json -- /bin/echo ran
	is "$status" 0
	is "$err" ""
	has_not " $(missing) " " namespaces "
}

@test "level landlock: no socket of a network can be made" {
	work
	policy 'may_lack = ["namespaces", "cgroup"]'
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

@test "level landlock: files" {
	work
	echo secret >"$place/secret"
	policy 'may_lack = ["namespaces", "cgroup"]'
	cordon_without userns run --json -- /bin/sh -c \
		"cat $place/secret; echo x >$place/new; echo mine >mine; cat mine"
	is "$status" 0
	has "$out" '"stdout":"mine\n"'
	is "$([ -e "$place/new" ] || echo none)" none
	cordon_without userns,landlock run -- /bin/echo ran
	is "$status" 125
	has "$err" "the policy needs landlock"
}

@test "level landlock: a preset is opened, but for a directory with a credential inside" {
	work
	mkdir -p "$place/home/.cargo/bin" "$place/moved/bin"
	policy 'may_lack = ["namespaces", "cgroup"]'
	for folder in "$place/home/.cargo" "$place/moved"; do
		printf '#!/bin/sh\necho cargo ran\n' >"$folder/bin/cargo"
		chmod +x "$folder/bin/cargo"
	done
	export HOME=$place/home CARGO_HOME=$place/moved
	cordon_without mount run --read "$place/moved" -- /bin/sh -c \
		"$HOME/.cargo/bin/cargo && $CARGO_HOME/bin/cargo"
	is "$status" 0
	is "$out" "cargo ran
cargo ran"
	has_not "$err" ".cargo"
	# A directory that is no root is left out, which is told.
	echo secret >"$HOME/.cargo/credentials.toml"
	cordon_without mount run -- /bin/cat "$HOME/.cargo/bin/cargo" "$HOME/.cargo/credentials.toml"
	is "$status" 1
	is "$out" ""
	has "$err" "not readable, because of credentials inside: "
	has "$err" "$HOME/.cargo"
	cordon_without mount run --dry-run -- /bin/true
	has "$out" "landlock   left out     $HOME/.cargo: credentials inside"
	# One that is a root is refused.
	echo secret >"$CARGO_HOME/credentials.toml"
	cordon_without mount run --read "$place/moved" -- /bin/echo ran
	is "$status" 125
	is "$out" ""
	has "$err" "'$place/moved/credentials.toml' lies inside the root '$place/moved'"
}

@test "level landlock: what is denied inside a root is refused" {
	work
	policy "may_lack = [\"namespaces\", \"cgroup\"]
[files]
deny = [\"$place/work/key\"]"
	cordon_without mount run -- /bin/echo ran
	is "$status" 125
	has "$err" "'$place/work/key' lies inside the root '$place/work'"
}

@test "level landlock: a file system of the kernel inside a root is refused" {
	work
	mkdir proc
	policy 'may_lack = ["namespaces", "cgroup"]'
	# shellcheck disable=SC2016  # expanded there
	run unshare --map-root-user --mount sh -c 'mount --rbind /proc proc && exec "$@"' sh \
		"$CORDON_BUILD/tests/without" mount "$CORDON" run -- /bin/echo ran
	is "$status" 125
	has "$output" "'$place/work/proc' lies inside the root '$place/work'"
}

@test "level landlock: what is to be kept inside a writable root is refused" {
	work
	mkdir -p ro
	for entry in 'protect = ["./ro"]' 'protect = ["**/*.lock"]' 'read = ["./ro"]'; do
		policy "may_lack = [\"namespaces\", \"cgroup\"]
[files]
$entry"
		cordon_without mount run -- /bin/echo ran
		is "$status" 125
		has "$err" "can be kept from being written by mount only"
	done
}

@test "level landlock: nothing is left behind, and nobody else is hit" {
	work
	policy 'may_lack = ["namespaces", "cgroup"]'
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

@test "level landlock: no process inside ends or stops what ends the tree" {
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

@test "level landlock: nothing outlives the supervisor" {
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

@test "CORDON_SANDBOX=warn takes the best level there is, off takes full or none" {
	work
	export CORDON_SANDBOX=warn
	cordon_without uts run --json -- /bin/echo ran
	is "$status" 0
	has "$out" '"enforced":["landlock","seccomp"'
	has "$err" "protected names inside writable roots"
	cordon_without uts,landlock run --json -- /bin/echo ran
	is "$status" 0
	has "$out" '"enforced":[]'
	is "$(missing)" "namespaces landlock cgroup"
	has "$err" "the command runs without any protection"
	export CORDON_SANDBOX=off
	echo secret >"$place/secret"
	cordon_without uts run -- cat "$place/secret"
	is "$status" 0
	is "$out" secret
	has "$err" "the command runs without any protection"
}

@test "CORDON_SANDBOX=off gives nothing up that a ceiling asks for" {
	export XDG_CONFIG_HOME=$PWD/config
	mkdir -p config/cordon
	printf '[limits]\nmemory = "1G"\n' >config/cordon/cordon.toml
	CORDON_SANDBOX=off cordon_without uts run -- touch ran
	is "$status" 125
	has "$err" "backend none does not enforce limits.memory, which a ceiling sets"
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
	policy 'may_lack = ["namespaces", "cgroup"]'
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
	policy 'require = ["landlock"]'
	CORDON_SANDBOX=off cordon_without uts run -- /bin/echo ran
	is "$status" 125
	is "$out" ""
	has "$err" "the policy needs uts"
	CORDON_SANDBOX=warn cordon_without uts run -- /bin/echo ran
	is "$status" 0
	policy 'require = ["namespaces"]'
	CORDON_SANDBOX=warn cordon_without uts run -- /bin/echo ran
	is "$status" 125
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
	policy 'may_lack = ["namespaces", "landlock", "cgroup"]
[network]
allow = ["a.example:443"]'
	for consent in "" warn enforce; do
		CORDON_SANDBOX=$consent cordon_without tproxy run -- /bin/echo ran
		is "$status" 125
		is "$out" ""
		has "$err" "cordon: network.mode allowlist needs tproxy ("
		is "$([ "$(wc -l <"$place/.err")" -ge 2 ] && echo hint)" hint
	done
	policy 'may_lack = ["namespaces", "landlock", "cgroup"]
[network]
mode = "public"
deny = ["*:25"]'
	CORDON_SANDBOX=warn cordon_without tproxy run -- /bin/echo ran
	is "$status" 125
	has "$err" "cordon: network.deny under network.mode public needs tproxy ("
	# Without anything, where that is said.
	CORDON_SANDBOX=off cordon_without tproxy run -- /bin/echo ran
	is "$status" 0
	is "$out" ran
	has "$err" "without any protection"
}

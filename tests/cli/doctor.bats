#!/usr/bin/env bats
# `cordon doctor` from outside: exit codes, JSON, capabilities, as root and as
# an ordinary user.

setup() {
	cordon=${CORDON:-build/cordon}
}

# The command as nobody when this is root, else as it is.
as_user() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs -- "$@"
	else
		"$@"
	fi
}

# Run a command as that user, with the program, which may lie where others
# cannot reach it, found through PATH; sets status and output.
run_as_user() {
	local shared
	shared=$(mktemp -d /tmp/cordon-doctor-XXXXXX)
	cp "$cordon" "$shared/cordon"
	chmod 755 "$shared" "$shared/cordon"
	status=0
	output=$(export PATH="$shared:$PATH" && as_user "$@" 2>&1) || status=$?
	rm -rf "$shared"
}

# Is $output JSON, and does the Python expression over d hold?
json() {
	printf '%s' "$output" | /usr/bin/python3 -c "
import json, sys
d = json.load(sys.stdin)
f = {x['name']: x for x in d.get('features', [])}
assert ($1), d"
}

@test "says yes or no for each feature, and whether the default policy holds" {
	run "$cordon" doctor
	[ "$status" -eq 0 ] || [ "$status" -eq 1 ]
	for name in userns mount pid net tproxy ipc uts seccomp notify landlock cgroup; do
		grep -Eq "^$name +(yes|no)  " <<<"$output"
	done
	if [ "$status" -eq 0 ]; then
		grep -q '^The default policy can be enforced' <<<"$output"
	else
		grep -q '^The default policy cannot be enforced' <<<"$output"
	fi
}

@test "JSON agrees with the exit code" {
	run "$cordon" doctor --json
	[ "$status" -eq 0 ] || [ "$status" -eq 1 ]
	json "d['default_policy']['enforceable'] == ($status == 0)"
	json "d['default_policy']['enforceable'] == (not d['default_policy']['missing'])"
	json "all(set(x) == {'name', 'available', 'needed', 'detail', 'without', 'hint'}
		for x in d['features']) and len(f) == len(d['features']) == 11"
	json "d['default_policy']['missing'] ==
		[x['name'] for x in d['features'] if x['needed'] and not x['available']]"
	json "all(x['detail'] for x in d['features'])"
	json "all(x['hint'] is x['without'] is None for x in d['features'] if x['available'])"
	json "(d['landlock_abi'] > 0) == f['landlock']['available']"
	json "(d['cgroup'] != 'none') == f['cgroup']['available']"
	json "d['root'] == ($(id -u) == 0)"
}

@test "an ordinary user gets an answer, too" {
	run_as_user cordon doctor --json
	[ "$status" -eq 0 ] || [ "$status" -eq 1 ]
	json "d['root'] is False"
	json "d['default_policy']['enforceable'] == ($status == 0)"
	run_as_user cordon doctor
	grep -q '^userns' <<<"$output"
}

@test "the answer is no where user namespaces are refused" {
	# In a user namespace whose limit is 0 there can be no other; root of it is
	# real to the program.
	as_user unshare --user --map-root-user true || skip "no user namespace to do it in"
	run_as_user unshare --user --map-root-user sh -c \
		'echo 0 >/proc/sys/user/max_user_namespaces && cordon doctor --json'
	[ "$status" -eq 1 ]
	json "d['default_policy']['missing'][0] == 'userns'"
	json "'that allows no user namespaces' in f['userns']['hint']"
}

@test "leaves no mount, process or group behind" {
	before=$(wc -l </proc/self/mountinfo)
	"$cordon" doctor >/dev/null || true
	[ "$(wc -l </proc/self/mountinfo)" -eq "$before" ]
	[ -z "$(find /sys/fs/cgroup -maxdepth 4 -name 'cordon-probe-*' 2>/dev/null)" ]
}

@test "capabilities are a list that trial takes" {
	run "$cordon" doctor --capabilities
	[ "$status" -eq 0 ]
	mine=$output
	"$cordon" doctor --json | /usr/bin/python3 -c "
import json, sys
f = {x['name']: x['available'] for x in json.load(sys.stdin)['features']}
want = ['disable_internet'] if f['net'] or f['seccomp'] else []
if f['net'] and f['tproxy']:
    kinds = 'hostnames wildcard_hostnames ipv4_addresses ipv6_addresses ipv4_cidrs ipv6_cidrs'
    want += ['network_allowlist'] + ['network_allowlist_' + k for k in kinds.split()]
    want += ['dynamic_network_policy']
assert '$mine' == ','.join(want), want"
	run "$cordon" doctor --capabilities --sandbox process
	[ "$output" = "$mine" ]
	run "$cordon" doctor --capabilities --sandbox none
	[ "$status" -eq 0 ]
	[ "$output" = "" ]
	run "$cordon" doctor --capabilities --json
	json "','.join(d['capabilities']) == '$mine'"
	printf '[environment]\nnetwork_mode = "no-network"\n' >"$BATS_TEST_TMPDIR/task.toml"
	one=$("$cordon" trial --check "$BATS_TEST_TMPDIR/task.toml")
	two=$("$cordon" trial --check --capabilities "$("$cordon" doctor --capabilities)" \
		"$BATS_TEST_TMPDIR/task.toml")
	[ "$one" = "$two" ]
}

@test "what it does not take is a usage error of one line" {
	for words in "x" "--prove=x" "--memory 1M" "--sandbox process" "--capabilities=x" \
		"--capabilities --sandbox vm" "--json=1" "--sandbox"; do
		# Split on purpose:
		# shellcheck disable=SC2086
		run "$cordon" doctor $words
		[ "$status" -eq 2 ]
		[ "${#lines[@]}" -eq 1 ]
	done
}

@test "help, manual and completion know it" {
	run "$cordon" help doctor
	[ "$status" -eq 0 ]
	grep -q -- '--capabilities' <<<"$output"
	"$cordon" completion bash | grep -q 'doctor'
	run "$cordon" trial --check --capabilities
	[ "$status" -eq 2 ]
}

@test "--prove: canaries outside and inside, nothing breached" {
	run "$cordon" doctor --prove --json
	[ "$status" -eq 0 ]
	json "len(d['proofs']) == 13 and d['sum']['BREACH'] == d['sum']['BROKEN'] == 0"
	json "{p['promise'] for p in d['proofs']} == {'P1', 'P2', 'P3', 'P4', 'P5'}"
	json "all(p['outside'] == 'done' and p['inside'] != 'done'
		for p in d['proofs'] if p['verdict'] == 'holds')"
	json "all(p['inside'] == 'done' for p in d['proofs'] if p['verdict'] == 'works')"
	json "all(p['outside'] != 'done' for p in d['proofs'] if p['verdict'] == 'not measured')"
	json "d['sum']['holds'] >= 11 and d['sum']['works'] == 1"
}

@test "--prove as an ordinary user" {
	run_as_user cordon doctor --prove --json
	[ "$status" -eq 0 ]
	json "d['sum']['BREACH'] == d['sum']['BROKEN'] == 0 and d['sum']['holds'] >= 10"
}

@test "--prove in words" {
	run "$cordon" doctor --prove
	[ "$status" -eq 0 ]
	grep -q '^holds  *P1  read a file outside the roots$' <<<"$output"
	grep -q '^works  *P1  make and remove a file in the workspace$' <<<"$output"
	grep -Eq '^[0-9]+ holds, [0-9]+ works, .* 0 BREACH, 0 BROKEN$' <<<"$output"
}

@test "--prove can fail: a machine without a filter, and one without anything" {
	without=${CORDON_BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/without
	export CORDON_SANDBOX=warn
	run --separate-stderr "$without" seccomp "$cordon" doctor --prove --json
	[ "$status" -eq 1 ]
	json "'io-uring' in [p['name'] for p in d['proofs'] if p['verdict'] == 'BREACH']"
	CORDON_SANDBOX=enforce
	run --separate-stderr "$without" seccomp "$cordon" doctor --prove --json
	[ "$status" -eq 1 ]
	json "d['sum']['holds'] == d['sum']['works'] == 0"
}

@test "--prove leaves nothing behind" {
	before=$(find /tmp -maxdepth 1 -name 'cordon-prove*' | wc -l)
	run "$cordon" doctor --prove
	[ "$(find /tmp -maxdepth 1 -name 'cordon-prove*' | wc -l)" -eq "$before" ]
}

@test "--prove with --capabilities, and the act by itself, are usage errors" {
	run "$cordon" doctor --prove --capabilities
	[ "$status" -eq 2 ]
	run "$cordon" prove-act
	[ "$status" -eq 2 ]
	run "$cordon" prove-act no-such-act /tmp 1
	[ "$status" -eq 2 ]
	run "$cordon" help
	[[ "$output" != *prove-act* ]]
}

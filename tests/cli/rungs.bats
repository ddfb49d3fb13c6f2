#!/usr/bin/env bats
# run-as: root user
# The ladder of the network: which rung holds it on which machine, that the result
# and the log say so, and what no rung can keep.
# shellcheck disable=SC2154  # out, err and place are set by place.bash
load place

# Run cordon on a machine that lacks the first argument ("" for nothing).
cordon_without() {
	local features=$1
	shift
	status=0
	"${CORDON_BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/without" "$features" \
		"$CORDON" "$@" >"$place/.out" 2>"$place/.err" || status=$?
	out=$(cat "$place/.out")
}

# Work in a directory that is not HOME.
work() {
	mkdir -p "$place/work"
	cd "$place/work" || return 1
}

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

# What the files of this folder share that run something: a workspace, a HOME and a
# folder for live cordons of its own.
# They use what is set here, and run sets output:
# shellcheck disable=SC2034,SC2154
live_setup() {
	cordon=${CORDON:-build/cordon}
	work=$BATS_TEST_TMPDIR/work
	mkdir -p "$work" "$BATS_TEST_TMPDIR/runtime"
	chmod 700 "$BATS_TEST_TMPDIR/runtime"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/runtime HOME=$BATS_TEST_TMPDIR
	live=$XDG_RUNTIME_DIR/cordon
	unset ANTHROPIC_API_KEY XDG_STATE_HOME
	cd "$work" || return
}

setup() {
	live_setup
}

# Nothing of a run or a session is left in its folder.
nothing_lives() {
	[ -z "$(ls -A "$live" 2>/dev/null)" ]
}

# A run is not in the list in its first moments: most have ended by then.
is_listed() {
	[ "$("$cordon" ps --json)" != "[]" ]
}

# Is there JSON in $output, and does the Python expression over d hold?
json() {
	grep '^[[{]' <<<"$output" | /usr/bin/python3 -c "
import json, sys
d = json.load(sys.stdin)
assert ($1), d"
}

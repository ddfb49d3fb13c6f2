#!/usr/bin/env bats
# run-as: user root
# beside: yes
# settings: others
# weight: 1/3
# examples/demo.sh, as `make run` shows it.
# shellcheck disable=SC2154  # out, err and place are set by place.bash
load place

demo() {
	status=0
	CORDON=$CORDON "$@" "$BATS_TEST_DIRNAME/../../examples/demo.sh" >"$place/.out" 2>"$place/.err" \
		</dev/null || status=$?
	out=$(cat "$place/.out")
	err=$(cat "$place/.err")
}

has_gate() {
	"$CORDON" run --dry-run --no-policy --allow-host a.example -- true
}

@test "the demo tells the whole story, twice, and leaves nothing" {
	has_gate || skip "this machine has no gate"
	export TMPDIR=$place/tmp
	local no_sudo="Permission denied"
	command -v sudo || no_sudo="not found"
	mkdir "$TMPDIR"
	for _ in once again; do
		demo env
		is "$status" 0
		is "$err" ""
		has "$out" "1 test passed"
		has "$out" "hello from a server"
		has "$out" " A library"
		has "$out" "Could not resolve host: files.example.org"
		has "$out" "Failed to connect to 169.254.169.254"
		has "$out" "alert access denied"
		has "$out" "id_ed25519: No such file or directory"
		has "$out" "pre-commit': Permission denied"
		has "$out" "sudo: $no_sudo"
		has "$out" "(exit 137)"
		has "$out" 'limit: "memory"'
		has "$out" "denied: files.example.org not in the allowlist; allow with --allow-host files.example.org"
		has "$out" "network.decision denied 169.254.169.254 80 tcp"
		has "$out" "can be enforced on this machine."
		# Reached by the policy, and then by the option.
		is "$(grep -c '^hello from a server$' <<<"$out")" 2
		has_not "$out" "not a real key"
		has_not "$out" "sk-not-a-real-one"
		has_not "$out" $'\033'
		is "$(ls "$TMPDIR")" ""
	done
}

@test "where namespaces are missing it says what the doctor says" {
	without=${CORDON_BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/without
	demo "$without" userns
	is "$status" 0
	is "$err" ""
	has "$out" "== Nothing is run where it cannot be enforced"
	has "$out" "cannot be enforced on this machine"
	has_not "$out" "1 test passed"
}

# What the files of this folder share: a place of their own, and `said`.
setup() {
	CORDON=${CORDON:-$BATS_TEST_DIRNAME/../../build/cordon}
	place=$(mktemp -d)
	cd "$place" || return 1
	export HOME=$place XDG_CONFIG_HOME=$place/.config XDG_STATE_HOME=$place/.local/state
}

teardown() {
	cd / || return 1
	chmod -R u+rwx "$place"
	rm -rf "$place"
}

# Run cordon; $status, $out and $err are what came of it.
cordon() {
	status=0
	"$CORDON" "$@" >"$place/.out" 2>"$place/.err" || status=$?
	out=$(cat "$place/.out")
	err=$(cat "$place/.err")
}

# Run cordon on a machine that lacks the first argument ("" for nothing).
cordon_without() {
	local features=$1
	shift
	status=0
	"${CORDON_BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/without" "$features" \
		"$CORDON" "$@" >"$place/.out" 2>"$place/.err" || status=$?
	out=$(cat "$place/.out")
	err=$(cat "$place/.err")
}

# Work in a directory that is not HOME.
work() {
	mkdir -p "$place/work"
	cd "$place/work" || return 1
}

# is GOT WANT
is() {
	[ "$1" = "$2" ] && return
	printf 'got:  %s\nwant: %s\n' "$1" "$2"
	return 1
}

# has TEXT PART
has() {
	case $1 in
	*"$2"*) return ;;
	esac
	printf 'no "%s" in: %s\n' "$2" "$1"
	return 1
}

has_not() {
	case $1 in
	*"$2"*)
		printf '"%s" in: %s\n' "$2" "$1"
		return 1
		;;
	esac
}

# One line on stderr, nothing on stdout, exit 2.
usage_error() {
	is "$status" 2
	is "$out" ""
	is "$(wc -l <"$place/.err")" 1
	has "$err" "$1"
}

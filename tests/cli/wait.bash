# What the files of this folder that wait for processes share.

# Wait up to 30 s, of a machine that may be busy, until the command succeeds.
soon() {
	for _ in $(seq 600); do
		if "$@"; then
			return 0
		fi
		sleep 0.05
	done
	return 1
}

# A number of seconds that no other sleep on this machine has.
marker() {
	echo "$((100000 + RANDOM % 1000)).$$$RANDOM"
}

# Is there a sleep of so many seconds?
sleeps() {
	pgrep -f "^sleep $1" >/dev/null
}

gone() {
	! sleeps "$1"
}

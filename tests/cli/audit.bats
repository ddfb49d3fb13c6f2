#!/usr/bin/env bats
# run-as: user root
# beside: yes
# weight: 4/10
# The audit log from outside: what is in it, where it is, and that nobody inside
# reaches it.
#
# Shell text in single quotes is for the shell inside:
# shellcheck disable=SC2016
# Each test is a shell of its own, on purpose; live.bash sets variables:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load live

setup() {
	live_setup
	log=$HOME/.local/state/cordon/audit.jsonl
}

# Is every line of the file JSON, and does the Python expression over the list
# of them hold?
log() {
	/usr/bin/python3 -c "
import json, sys
e = [json.loads(line) for line in open(sys.argv[1], encoding='utf-8')]
assert ($2), e" "$1"
}

@test "a start and an end, in the default place, this user's alone" {
	run "$cordon" run --json -- sh -c 'exit 3'
	[ "$status" -eq 3 ]
	json "'audit' not in d and 'denials_left_out' not in d"
	id=$(/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["run_id"])' <<<"$output")
	log "$log" "[x['event'] for x in e] == ['run.start', 'run.end']"
	log "$log" "[x['seq'] for x in e] == [1, 2] and all(x['run_id'] == '$id' for x in e)"
	log "$log" "e[0]['command'] == ['sh', '-c', 'exit 3'] and e[0]['cwd'] == '$work'"
	log "$log" "e[1]['exit_code'] == 3 and e[1]['enforced'] and e[1]['error'] is None"
	log "$log" "__import__('re').fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z', e[0]['time'])"
	[ "$(stat -c %a "$log")" = 600 ]
	[ "$(stat -c %a "${log%/*}")" = 700 ]
	"$cordon" run -- true
	log "$log" "len(e) == 4 and e[2]['run_id'] != '$id'"
}

@test "XDG_STATE_HOME, a file of one's own, a descriptor" {
	XDG_STATE_HOME=$HOME/state "$cordon" run -- true
	log "$HOME/state/cordon/audit.jsonl" "len(e) == 2"
	"$cordon" run --audit "$HOME/own.jsonl" -- true
	log "$HOME/own.jsonl" "len(e) == 2"
	# From here, not from where the command runs.
	mkdir sub
	"$cordon" run --audit here.jsonl --cwd sub -- true
	log here.jsonl "e[0]['cwd'] == '$work/sub'"
	"$cordon" run --audit /dev/fd/7 -- true 7>&1 >/dev/null | cat >"$HOME/piped"
	log "$HOME/piped" "len(e) == 2"
	[ ! -e "$log" ]
}

@test "a log that cannot be added to is refused, also where nothing is run or made" {
	ln -s here.jsonl link
	mkfifo pipe
	for name in '' / /nonexistent/x "$work" made/ link "$HOME/none/x"; do
		for words in "run" "run --dry-run" "explain"; do
			# shellcheck disable=SC2086 # words
			run -2 "$cordon" $words --audit "$name" -- touch ran
			[ "${#lines[@]}" -eq 1 ]
			[[ "$output" == "cordon: --audit takes a file that can be added to: "* ]]
		done
	done
	for name in here.jsonl "$HOME/own.jsonl" pipe /dev/null; do
		"$cordon" explain --audit "$name" >/dev/null
		"$cordon" run --dry-run --audit "$name" -- touch ran >/dev/null
	done
	[ "$(ls -A)" = $'link\npipe' ]
	[ ! -e "$HOME/own.jsonl" ]
}

@test "the policies that were read are told, and no others" {
	mkdir -p sub "$HOME/.config/cordon"
	echo >own.toml
	echo >"$HOME/.config/cordon/cordon.toml"
	"$cordon" run --policy own.toml --cwd sub -- true
	log "$log" "e[0]['policies'][:2] == ['$work/own.toml', '$HOME/.config/cordon/cordon.toml']"
	rm "$HOME/.config/cordon/cordon.toml"
	"$cordon" run --policy own.toml -- true
	log "$log" "e[2]['policies'][:1] == ['$work/own.toml']"
}

@test "refusals: command, names, machine, limit" {
	run -126 "$cordon" run --block-command curl -- curl x
	log "$log" "e[1]['event'] == 'command.blocked' and e[1]['what'] == 'curl'"
	log "$log" "e[2]['exit_code'] == 126 and 'curl' in e[2]['error']"
	rm "$log"
	run "$cordon" run -- sh -c 'mkdir -p .git/hooks; mkdir .git/hooks; touch .bashrc'
	log "$log" "[x['path'] for x in e[1:-1]] == ['$work/.git/hooks'] * 2 + ['$work/.bashrc']"
	log "$log" "all(x['event'] == 'file.denied' and x['hint'] for x in e[1:-1])"
	log "$log" "e[-1]['denials'] == 3"
	in_set='the name is in a protected set; allow with files.protect without'
	grep -qxF "denied: $work/.git/hooks (2×) $in_set \"git\"" <<<"$output"
	grep -qxF "denied: $work/.bashrc $in_set \"shell-rc\"" <<<"$output"
	rm "$log"
	run -125 "$cordon" run --profile wasi -- true
	log "$log" "len(e) == 2 and e[1]['error'] and e[1]['exit_code'] == 125 and not e[1]['enforced']"
	rm "$log"
	run -124 "$cordon" run --timeout 300ms -- sleep 60
	log "$log" "[x['event'] for x in e] == ['run.start', 'limit.hit', 'run.end']"
	log "$log" "e[1]['limit'] == 'wall' and e[2]['limit'] == 'wall'"
}

@test "refusals are told after the output, and with --json in it alone" {
	run "$cordon" run -- sh -c 'touch .bashrc 2>/dev/null; echo out; echo err >&2'
	[ "${lines[2]%% *}" = denied: ]
	[ "${#lines[@]}" -eq 3 ]
	run --separate-stderr "$cordon" run --json -- sh -c 'touch .bashrc 2>/dev/null'
	# shellcheck disable=SC2154
	[ -z "$stderr" ]
	json "d['denials'][0]['path'] == '$work/.bashrc'"
	run "$cordon" run --result r.json -- sh -c 'touch .bashrc 2>/dev/null'
	[ "${output%% *}" = denied: ]
}

@test "refusals of a command that ends at once are told" {
	for _ in $(seq 60); do
		"$cordon" run -- /usr/bin/touch .bashrc 2>/dev/null || :
	done
	log "$log" "sum(x['event'] == 'file.denied' for x in e) == 60"
}

@test "many refusals: some lines, and how many more" {
	run "$cordon" run --protect '**/.x' -- \
		sh -c 'for i in $(seq 30); do mkdir $i; touch $i/.x 2>/dev/null; done'
	[ "$(grep -c '^denied: /' <<<"$output")" -eq 20 ]
	[ "${lines[20]}" = "denied: … and 10 more (see the audit log)" ]
	log "$log" "sum(x['event'] == 'file.denied' for x in e) == 30"
	rm -rf ./[0-9]*
	run "$cordon" run --json --protect '**/.x' -- \
		sh -c 'for i in $(seq 300); do mkdir $i; true 2>/dev/null >$i/.x; done'
	json "len(d['denials']) == 256 and d['denials_left_out'] == 44"
	log "$log" "sum(x['event'] == 'file.denied' for x in e) == 330"
}

@test "hostile names are one line of JSON, and no escape for a terminal" {
	run "$cordon" run --protect '**/.x' -- /usr/bin/python3 -c '
import os
for name in (b"\x1b[31m", b"\xff\xfe", b"a\nb\"c\\", "\u202e".encode(), "\x9b31m".encode()):
    os.mkdir(name)
    try:
        open(name + b"/.x", "w")
    except PermissionError:
        pass'
	[ "$status" -eq 0 ]
	[ "$(grep -c '^denied: ' <<<"$output")" -eq 5 ]
	log "$log" "len(e) == 7 and [x['seq'] for x in e] == list(range(1, 8))"
	log "$log" "e[1]['path'].endswith('/\x1b[31m/.x') and e[3]['path'].endswith('/a\nb\"c\\\\/.x')"
	# No byte of them as it is, neither here nor there.
	echo "$output" >"$HOME/said"
	run ! env LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2\x9b|\xe2\x80\xae' "$log" "$HOME/said"
}

@test "a log that was asked for and cannot be had stops the run" {
	ln -s "$HOME/target" link
	echo text >two
	ln two names
	mkfifo pipe
	for file in /no/such/folder/x "$work" link two pipe ""; do
		run "$cordon" run --audit "$file" -c 'echo ran >ran'
		[ "$status" -eq 2 ]
		[ "${#lines[@]}" -eq 1 ]
		grep -q -- '--audit takes' <<<"$output"
		[ ! -e ran ]
		[ ! -e "$HOME/target" ]
	done
	[ "$(cat two)" = text ]
	run "$cordon" run --audit
	[ "$status" -eq 2 ]
}

@test "a default log that cannot be had is told, and the run goes on" {
	echo file >"$HOME/state"
	run env XDG_STATE_HOME="$HOME/state" "$cordon" run -- echo ran
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	grep -q 'warning: this run is not recorded: .*--audit' <<<"$output"
	XDG_STATE_HOME=$HOME/state run --separate-stderr "$cordon" run --json -- true
	json "d['audit']['problem'] and d['audit']['lost'] is None"
	# A folder that others can write is not trusted.
	"$cordon" run -- true
	chmod 777 "${log%/*}"
	run "$cordon" run -- true
	grep -q 'not recorded' <<<"$output"
	log "$log" "len(e) == 2"
}

@test "a full disk is told" {
	run --separate-stderr "$cordon" run --json --audit /dev/full -- true
	[ "$status" -eq 0 ]
	json "d['audit'] == {'file': '/dev/full', 'lost': 2, 'problem': None}"
	grep -q '2 events of this run are not in the audit log' <<<"$stderr"
}

@test "a reader that goes away, and one that never reads, do not hold up a run" {
	mkfifo "$HOME/pipe"
	exec 8<>"$HOME/pipe"
	run timeout 60 "$cordon" run --audit "$HOME/pipe" --protect '**/.x' -- \
		sh -c 'for i in $(seq 2000); do true 2>/dev/null >.x; done; exit 5' 8>&-
	exec 8>&-
	[ "$status" -eq 5 ]
	grep -q 'events of this run are not in the audit log' <<<"$output"
	(head -n 1 <"$HOME/pipe" >"$HOME/first"; touch "$work/gone") 3>&- &
	exec 8>"$HOME/pipe"
	run timeout 60 "$cordon" run --audit "$HOME/pipe" -- \
		sh -c 'while [ ! -e gone ]; do sleep 0.05; done; exit 6' 8>&-
	exec 8>&-
	[ "$status" -eq 6 ]
	log "$HOME/first" "e[0]['event'] == 'run.start'"
	grep -q '1 events of this run' <<<"$output"
}

@test "the log is out of reach inside, though a writable root covers it" {
	"$cordon" run -- true
	before=$(cat "$log")
	# The acts work outside.
	cp -r "$HOME/.local" "$HOME/copy"
	(cd "$HOME/copy/state/cordon" && cat audit.jsonl && echo x >>audit.jsonl && rm audit.jsonl) >/dev/null
	for act in "cat '$log'" "echo x >>'$log'" ": >'$log'" "rm -f '$log' && test ! -e '$log'" \
		"ls '${log%/*}' | grep ." "mv '${log%/*}' '$HOME/else'" "ln '$log' '$HOME/other'" \
		"touch '${log%/*}/new'" "rm -rf '${log%/*}' && mkdir '${log%/*}'"; do
		run "$cordon" run -w "$HOME" --audit "$HOME/other.jsonl" -- sh -c "$act"
		# Another log is asked for: the default one is a file like any other.
		cp -r "$HOME/copy/." "$HOME/.local"
		mkdir -p "${log%/*}"
		printf '%s\n' "$before" >"$log"
		rm -rf "$HOME/else" "$HOME/other"
		run "$cordon" run -w "$HOME" -- sh -c "$act"
		[ "$status" -ne 0 ]
		[ "$(head -n 2 "$log")" = "$before" ]
	done
	# Nor is another one made in its stead: what leads to it stays where it is.
	run "$cordon" run -w "$HOME" -- sh -c \
		'mv $HOME/.local $HOME/moved && mkdir -p $HOME/.local/state/cordon'
	[ "$status" -ne 0 ]
	[ ! -e "$HOME/moved" ]
	[ "$(head -n 2 "$log")" = "$before" ]
}

@test "--audit /dev/null leaves the device to the command" {
	for all in "" "-r /"; do
		# shellcheck disable=SC2086
		"$cordon" run --audit /dev/null $all -- sh -c 'echo x >/dev/null && ! read -r x </dev/null'
	done
}

@test "a file of --audit is out of reach inside, and its folder is not" {
	run "$cordon" run --audit own.jsonl -- sh -c 'cat own.jsonl || echo x >>own.jsonl ||
		rm own.jsonl || mv own.jsonl other || ln own.jsonl other'
	[ "$status" -ne 0 ]
	log own.jsonl "e[-1]['event'] == 'run.end' and e[-1]['exit_code'] and e[-1]['denials']"
	[ ! -e other ]
	run "$cordon" run --audit own.jsonl -- sh -c 'echo y >beside && cat beside'
	[ "$output" = y ]
	log own.jsonl "e[-1]['event'] == 'run.end' and e[-1]['exit_code'] == 0"
	run "$cordon" run --audit "$HOME/own.jsonl" -r "$HOME" -- cat "$HOME/own.jsonl"
	[ "$status" -ne 0 ]
	# No descriptor of it either.
	run "$cordon" run --audit own.jsonl -- sh -c 'ls -l /proc/self/fd /proc/1/fd 2>/dev/null | grep jsonl'
	[ "$status" -ne 0 ]
}

@test "several runs at one time share a log" {
	for _ in 1 2 3 4 5 6; do
		"$cordon" run -- true &
	done
	wait
	log "$log" "len(e) == 12 and len({x['run_id'] for x in e}) == 6"
}

@test "nothing is written by explain, --dry-run and check" {
	"$cordon" explain --audit x.jsonl >/dev/null
	"$cordon" run --dry-run --audit x.jsonl -- true >/dev/null
	"$cordon" run --dry-run -- true >/dev/null
	[ ! -e x.jsonl ]
	[ ! -e "$HOME/.local" ]
}

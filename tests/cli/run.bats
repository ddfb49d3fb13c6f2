#!/usr/bin/env bats
# run-as: root user
# beside: yes
# differs: limits of a user have no cgroup, files of others are closed to it
# weight: 50/100
# seconds: 1200
# `cordon run` from outside: exit codes, streams, results, limits, leftovers.
#
# Shell text in single quotes is for the shell inside:
# shellcheck disable=SC2016
# Each test is a shell of its own, on purpose; live.bash sets variables:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load live
load wait

# A run that a failed test left would hold bats' own descriptors, and so all that follow.
teardown() {
	nothing_lives && return
	for folder in "$live"/*/; do
		"$cordon" kill "$(basename "$folder")" || true
	done
	return 1
}

@test "the command's own exit codes" {
	for code in 0 1 2 42 123; do
		run "$cordon" run -- sh -c "exit $code"
		[ "$status" -eq "$code" ]
		[ -z "$output" ]
	done
	run "$cordon" run -c 'exit 7'
	[ "$status" -eq 7 ]
}

@test "-c: a text that begins with a dash is a command, not an option" {
	for text in '-x; echo ran' '+x; echo ran' '-c id; echo ran'; do
		run --separate-stderr "$cordon" run -c "$text"
		[ "$status" -eq 0 ]
		[ "$output" = ran ]
		[[ "$stderr" == *"not found"* ]]
	done
	run -126 "$cordon" run --block-command id -c '-x; id'
}

@test "a program of 32 bits is ended, and told why" {
	[ "$(uname -m)" = x86_64 ] || skip "for x86_64"
	# getpid() as i386 has it
	printf 'import ctypes, mmap
m = mmap.mmap(-1, 4096, prot=7)
m.write(b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3")
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
print(ctypes.CFUNCTYPE(ctypes.c_int)(at)() > 0)
' >foreign.py
	[ "$(/usr/bin/python3 foreign.py)" = True ] || skip "the kernel runs none"
	for words in "/usr/bin/python3 foreign.py" "sh -c '/usr/bin/python3 foreign.py; exit'"; do
		run --separate-stderr "$cordon" run -c "exec $words"
		[ "$status" -eq 159 ]
		[ -z "$output" ]
		[[ "$stderr" == *"cordon: ended by SIGSYS, as programs of 32 bits"* ]]
	done
	run --separate-stderr "$cordon" run -- sh -c 'kill -ABRT $$'
	[ -z "$stderr" ]
}

@test "128 and the signal" {
	for signal in 1 6 9 15; do
		run "$cordon" run -- sh -c "kill -$signal \$\$"
		[ "$status" -eq $((128 + signal)) ]
	done
	run "$cordon" run --json -- sh -c 'kill -9 $$'
	[ "$status" -eq 137 ]
	json "d['signal'] == 9 and d['exit_code'] is None"
	json "not d['oom_killed'] and d['limit'] is None"
}

@test "pid 1 shows no words of the caller, whose environment may be empty" {
	run env -i "$cordon" run --audit /dev/null --env WORD=word \
		-c 'tr -d "\0" </proc/1/cmdline'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run env -i LAST=word "$cordon" run --audit /dev/null -c 'tr -d "\0" </proc/1/cmdline'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "a link in place of the folder of live cordons takes nothing away" {
	ln -s "$work" "$live"
	run "$cordon" run -c 'echo x >made'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$(cat made)" = x ]
	rm "$live"
}

@test "a socket that listens is no stream" {
	for which in 0 1 2; do
		run /usr/bin/python3 - "$which" "$cordon" <<-'END'
			import os, socket, sys
			s = socket.socket(socket.AF_UNIX)
			s.bind("\0listens-%d" % os.getpid())
			s.listen(1)
			which, cordon = int(sys.argv[1]), sys.argv[2]
			os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
			said = os.dup(2)
			os.dup2(s.fileno(), which)
			done = os.spawnl(os.P_WAIT, "/usr/bin/timeout", "timeout", "20", cordon, "run",
			                 "--", "echo", "ran")
			os.write(said, b"status %d\n" % done)
		END
		[[ "$output" == *"status 125"* ]]
	done
}

@test "what is only to be read is no output: it could be opened again for writing" {
	echo x >gone
	for how in 'os.memfd_create("m")' 'os.open("gone", os.O_RDWR)' 'os.pipe()[0]'; do
		run /usr/bin/python3 -c "
import os, subprocess, sys
kept = $how
out = os.open('/proc/self/fd/%d' % kept, os.O_RDONLY | os.O_NONBLOCK)
os.path.exists('gone') and os.unlink('gone')
sys.exit(subprocess.run(['$cordon', 'run', '-c', 'echo y 1<>/proc/self/fd/1'],
                        stdout=out).returncode)"
		[ "$status" -eq 125 ]
		[[ "$output" == *"standard stream 1 is "*"only to be read"* ]]
		echo x >gone
	done
}

@test "127 and 126 with a message" {
	run -127 "$cordon" run -- nonexistent-command-x
	[ "$status" -eq 127 ]
	[ "$output" = "cordon: nonexistent-command-x: command not found" ]
	run -127 "$cordon" run -- /no/such/program
	[ "$status" -eq 127 ]
	run "$cordon" run -- "$work"
	[ "$status" -eq 126 ]
	echo text >plain
	run "$cordon" run -- ./plain
	[ "$status" -eq 126 ]
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	run "$cordon" run -- ./script
	[ "$status" -eq 126 ]
	grep -q interpreter <<<"$output"
	run "$cordon" run --json -- ./script
	json "d['exit_code'] == 126 and d['error']['code'] == 'exec'"
	json "'interpreter' in d['error']['message']"
}

@test "programs by relative paths, through PATH, without #!" {
	printf '#!/bin/sh\necho "script $1"\n' >prog
	printf 'echo "plain $1"\n' >bare
	chmod +x prog bare
	[ "$("$cordon" run -- ./prog a)" = "script a" ]
	[ "$("$cordon" run -- ./bare b)" = "plain b" ]
	[ "$(PATH=$work:$PATH "$cordon" run -- prog c)" = "script c" ]
	[ "$(PATH=:$PATH "$cordon" run -- prog d)" = "script d" ]
	[ "$(env -u PATH "$cordon" run -- echo e)" = e ]
	[ "$(env -u HOME "$cordon" run -- echo f)" = f ]
	mkdir sub
	[ "$("$cordon" run --cwd sub -- ../prog g)" = "script g" ]
}

@test "125 names what cannot be done, and runs nothing" {
	check() {
		local want=$1
		shift
		run "$cordon" run "$@" -c 'echo ran >ran'
		[ "$status" -eq 125 ]
		grep -q "$want" <<<"$output"
		[ ! -e ran ]
		run "$cordon" run --json "$@" -c 'echo ran >ran'
		[ "$status" -eq 125 ]
		json "d['error']['message'] and d['error']['hint']"
		# No other machine would do it.
		json "d['error']['code'] == 'policy' and 'doctor' not in d['error']['hint']"
		json "d['exit_code'] == 125 and d['run_id']"
	}
	check docker --sandbox docker
	check wasi --profile wasi
	check 'a/\*\*/b' --deny 'a/**/b'
	check "'/'" -w /
	for root in /dev /dev/null /dev/pts /proc; do
		check "'$root' is the kernel's" -r "$root"
	done
	run -0 "$cordon" run -r /dev/shm -- true
}

@test "a limit of memory in which nothing can be started" {
	run "$cordon" run -m 1 -- true
	# Where nothing but cordon counts, the command is there before it is ended.
	if [ "$status" -ne 137 ]; then
		[ "$status" -eq 125 ]
		[ "$output" = "cordon: limits.memory = 1 is not enough to start a command; allow \
some megabytes" ]
		run "$cordon" session start -m 1
		[ "$status" -ne 0 ]
		grep -q 'limits.memory = 1 is not enough' <<<"$output"
	fi
}

@test "no descriptor left: that is said, and not that a folder is closed" {
	run sh -c 'ulimit -n 3; exec "$@"' sh "$cordon" run -- touch ran
	[ "$status" -eq 2 ]
	[[ "$output" = "cordon: files.protect: it cannot be told where "*" leads: No file descriptors available" ]]
	[ ! -e ran ]
}

@test "too few open files: one line before anything starts" {
	for few in 8 12 20 64; do
		for words in "run -- touch ran" "run --dry-run -- touch ran" "session start" doctor; do
			# shellcheck disable=SC2086
			run sh -c "ulimit -n $few; exec \"\$@\"" sh "$cordon" $words
			[ "$status" -ne 0 ]
			[ "$output" = "cordon: the limit of open files (ulimit -n) is $few, and a \
cordon needs 80; raise it and try again" ]
			[ ! -e ran ]
		done
	done
	run sh -c 'ulimit -n 80; exec "$@"' sh "$cordon" run -- touch ran
	[ "$status" -eq 0 ]
}

@test "too small a stack: one line instead of SIGSEGV" {
	for words in "125 run -- touch ran" "125 session start" "2 check cordon.toml" "2 doctor"; do
		# shellcheck disable=SC2086
		run sh -c 'ulimit -s 64; exec "$@"' sh "$cordon" ${words#* }
		[ "$status" -eq "${words%% *}" ]
		[ "$output" = "cordon: the limit of the stack (ulimit -s) is 64 KB, and a cordon \
needs 256; raise it and try again" ]
		[ ! -e ran ]
	done
	run -0 sh -c 'ulimit -s 256; exec "$@"' sh "$cordon" run -- touch ran
}

@test "a result that cannot be written: 125, whatever the command did" {
	for did in true false; do
		run -125 bash -c '"$@" >/dev/full' - "$cordon" run --json -- "$did"
		[ "$output" = "cordon: cannot write the answer" ]
	done
}

@test "a command that cordon had to end has run, and the result does not deny it" {
	"$cordon" run --result out.json -- sh -c 'echo begun; until [ -e go ]; do sleep 0.05; done
		: >made; sleep 30' >wrote 2>said &
	soon grep -q begun wrote
	# No room for the guard, which begins with the first name that is made, nor to wait.
	prlimit --nofile=8:8 --pid $!
	touch go
	status=0
	wait $! || status=$?
	[ "$status" -eq 125 ]
	# Perhaps behind what the shell had begun to say.
	grep -q 'cordon: cannot ' said
	[ ! -e made ]
	output=$(cat out.json)
	# Its call failed before it was ended, and the shell may have been quick to end by itself.
	json "(d['exit_code'], d['signal']) in ((None, 9), (2, None)) and d['error']['message']"
	json "d['enforced'] and d['processes_peak'] > 0"
}

@test "usage errors are 2 and one line" {
	for words in "" "--no-such-option -- true" "--timeout -- true" "--timeout x -- true" \
		"true" "--policy /no/such/file -- true" "-c true -- true" \
		"--network maybe -- true" \
		"--result /no/such/folder/x -- true"; do
		# Split on purpose:
		# shellcheck disable=SC2086
		run "$cordon" run $words
		[ "$status" -eq 2 ]
		[ "${#lines[@]}" -eq 1 ]
	done
}

# bats test_tags=user-only
@test "a policy that cannot be read stops the run" {
	[ "$(id -u)" -ne 0 ] || skip "root reads everything"
	echo 'profile = "worktree"' >cordon.toml
	chmod 0 cordon.toml
	run "$cordon" run -- true
	[ "$status" -eq 2 ]
	run "$cordon" run --policy cordon.toml -- true
	[ "$status" -eq 2 ]
	run "$cordon" run --no-policy -- true
	[ "$status" -eq 0 ]
}

@test "a blocked command: 126, message, denial" {
	for words in "--block-command curl -- curl http://x" "--block-command rm -c rm"; do
		# shellcheck disable=SC2086
		run "$cordon" run $words
		[ "$status" -eq 126 ]
		grep -q '^Command blocked by sandbox policy: contains ' <<<"$output"
	done
	run "$cordon" run --json --block-command curl -- curl x
	[ "$status" -eq 126 ]
	json "d['blocked'] == d['error']['message']"
	json "d['blocked'] == \"Command blocked by sandbox policy: contains 'curl'\""
	json "d['denials'][0]['kind'] == 'command' and d['denials'][0]['hint'] and d['run_id']"
	json "d['error']['hint'] == d['denials'][0]['hint']"
	# What a command starts in turn meets the kernel.
	# A shell that looks before it executes finds a program, too.
	for shell in sh bash; do
		run "$cordon" run --json --block-command id -- "$shell" -c 'x=i; ${x}d'
		[ "$status" -eq 126 ]
		json "'Permission denied' in d['stderr'] and d['denials'][0]['what'] == 'id'"
	done
}

@test "a text that computes its command: 126 where that is executed, and not before" {
	for text in 'x=i; ${x}d' '$(cat name)' 'echo id | sh -e' "case a in a) id;; esac"; do
		echo id >name
		run "$cordon" run --json --block-command id -c "echo began; $text"
		[ "$status" -eq 126 ]
		json "d['stdout'] == 'began\n' and d['denials'][0]['what'] == 'id'"
		json "d['denials'][0]['reason'] == \"Command blocked by sandbox policy: contains 'id'\""
	done
	# A text is not refused for what it might name.
	echo true >name
	run -0 "$cordon" run --block-command id -c '$(cat name); eval "$(cat name)"; cat name | sh'
}

@test "a blocked command with arguments: 126, message, denial" {
	said="Command blocked by sandbox policy: contains 'touch mark'"
	ln -s /usr/bin/touch link
	for words in "-- touch mark" "-- /usr/bin/touch -c mark" "-- ./link mark" \
		"-- env touch mark"; do
		# shellcheck disable=SC2086
		run "$cordon" run --block-command 'touch mark' $words
		[ "$status" -eq 126 ]
		grep -qxF "$said" <<<"$output"
		[ ! -e mark ]
	done
	# Only what the file behind the name tells: not judged before the start.
	run --separate-stderr "$cordon" run --json --block-command 'touch mark' -- ./link mark
	[ "$status" -eq 126 ]
	# shellcheck disable=SC2154  # stderr is set by run
	[ "$stderr" = "$said" ]
	json "d['blocked'] == d['error']['message'] == \"$said\""
	json "d['exit_code'] == 126 and d['error']['code'] == 'blocked'"
	json "[(x['kind'], x['what'], x['count']) for x in d['denials']] == [('command', './link mark', 1)]"
	# Inside, the shell says it in its own words, and cordon in the end.
	run --separate-stderr "$cordon" run --block-command 'touch mark' -- \
		sh -c 'x=touch; $x mark; $x -c mark'
	[ "$status" -eq 126 ]
	[ "$(grep -cxF "$said" <<<"$stderr")" -eq 1 ]
	[ "$(grep -c 'Permission denied' <<<"$stderr")" -eq 2 ]
	run "$cordon" run --json --block-command 'touch mark' -- \
		sh -c 'x=touch; $x mark; echo $?; touch other; ls other'
	[ "$status" -eq 0 ]
	json "d['blocked'] is None and d['error'] is None"
	json "d['stdout'] == '126\nother\n' and 'Permission denied' in d['stderr']"
	json "d['denials'][0]['reason'] == \"$said\" and d['denials'][0]['hint']"
}

@test "a blocked program by another of its names: 126, message, denial" {
	said="Command blocked by sandbox policy: contains 'tool'"
	mkdir bin again
	printf '#!/bin/sh\necho ran\n' >bin/tool-2
	chmod +x bin/tool-2
	ln -s tool-2 bin/tool
	ln -s ../bin/tool-2 again/
	export PATH=$work/bin:$work/again:$PATH
	for name in tool-2 "$work/again/tool-2"; do
		run --separate-stderr "$cordon" run --json --block-command tool -- "$name" x
		[ "$status" -eq 126 ]
		[ "$stderr" = "$said" ]
		json "d['blocked'] == d['error']['message'] == \"$said\""
		json "[(x['what'], x['count']) for x in d['denials']] == [('$name x', 1)]"
	done
	# What is started inside as well: each attempt once, however many folders are searched.
	run "$cordon" run --json --block-command tool -- sh -c \
		'env tool-2; ./again/tool-2; tool-2; env tool-2; echo $?'
	[ "$status" -eq 0 ]
	json "d['stdout'] == '126\n' and d['blocked'] is None"
	json "[(x['what'], x['count']) for x in d['denials']] == [('tool-2', 3), ('./again/tool-2', 1)]"
	json "all(x['reason'] == \"$said\" for x in d['denials'])"
}

@test "a command that is not there is not found, blocked or not" {
	run -127 "$cordon" run --block-command 'no-such x' -- sh -c 'no-such y'
	run -127 "$cordon" run --block-command 'no-such x' -- no-such y
	run -127 "$cordon" run --block-command 'touch mark' -- sh -c 'no-such'
}

@test "every program blocked: nothing runs" {
	for words in "-- true" "-c :" "-c true" "-- ./nothing"; do
		# shellcheck disable=SC2086
		run "$cordon" run --block-command '*' $words
		[ "$status" -eq 126 ]
		grep -q "^Command blocked by sandbox policy: contains '\*'" <<<"$output"
	done
}

@test "a plan says who holds blocked commands" {
	run "$cordon" run --dry-run --block-command curl --block-command 'rm -rf /' -- true
	[ "$status" -eq 0 ]
	grep -q '^blocked *program *curl: mount' <<<"$output"
	grep -qxF 'blocked    command      rm -rf /: seccomp notification (execve, execveat)' \
		<<<"$output"
	run "$cordon" explain --block-command 'rm -rf /' -- true
	[ "$status" -eq 0 ]
	grep '^commands.block' <<<"$output" | grep -q 'seccomp notification (execve)'
}

@test "wall clock: it is over as well where the supervisor cannot look" {
	m=$(marker)
	"$cordon" run --timeout 500ms --result r.json -- sh -c \
		"trap 'echo asked > asked; exit 0' TERM; : > began; sleep $m" 3>&- &
	pid=$!
	soon test -e began
	sleeps "$m"
	kill -STOP $pid
	soon gone "$m"
	kill -CONT $pid
	status=0
	wait $pid || status=$?
	[ "$status" -eq 124 ]
	[ ! -e asked ]
	output=$(<r.json)
	json "d['timed_out'] and d['limit'] == 'wall' and not d['oom_killed']"
}

# bats test_tags=root-only
@test "wall clock: init has it before everybody else, and nobody takes that away" {
	[ "$(id -u)" -eq 0 ] || skip "only root may give that"
	chrt -f 1 true || skip "this root may not either"
	# Who gives it does so when the command may have begun.
	run "$cordon" run --timeout 30s -- sh -c 'until chrt -p 1 | grep FIFO; do sleep 0.1; done; chrt -p $$'
	grep -q "pid 1's .*SCHED_FIFO|SCHED_RESET_ON_FORK" <<<"$output"
	grep -q "pid [^1].*SCHED_OTHER" <<<"$output"
	for policy in other idle batch; do
		run ! "$cordon" run --timeout 30s -- chrt --$policy -p 0 1
	done
	# Whoever is made at the very moment in which init gets it does not have it either: init
	# has said so before (a policy tells nothing of that, the priority in /proc does).
	strace -qq -f -e trace=sched_setscheduler -e signal=none -o calls "$cordon" run -- true
	grep -Eq "sched_setscheduler\(0, (0x40000000.*|SCHED_OTHER\|SCHED_RESET_ON_FORK), \[0\]\) = 0" calls
	for _ in {1..40}; do
		run -0 "$cordon" run -- sh -c 'read -r l </proc/self/stat; echo "$l"'
		[ "$(cut -d' ' -f18 <<<"$output")" -eq 20 ]
	done
	# A caller's own is init's as well, but not the command's.
	for policy in fifo rr; do
		run -0 chrt --$policy 2 "$cordon" run -- sh -c 'chrt -p 1; chrt -p $$'
		grep -qi "pid 1's .*SCHED_$policy|SCHED_RESET_ON_FORK" <<<"$output"
		grep -q "pid [^1].*SCHED_OTHER" <<<"$output"
	done
}

@test "wall clock: it goes on where the supervisor does not read" {
	m=$(marker)
	cat >stops.py <<-'P'
		import os, signal, sys, time
		me = os.getpid()
		if os.fork() == 0:
		    os.setsid()
		    for i in range(10**9):
		        os.kill(me, signal.SIGSTOP)
		        time.sleep(0.0001)
		        os.kill(me, signal.SIGCONT)
		        time.sleep(0.0001)
		        if i == 3000:
		            os.spawnlp(os.P_NOWAIT, "sleep", "sleep", sys.argv[1])
		while True:
		    signal.pause()
	P
	"$cordon" run --timeout 8s -- /usr/bin/python3 stops.py "$m" 3>&- &
	pid=$!
	# Not the supervisor, whose words are the same: it is not to be stopped before it runs.
	soon pgrep -f "^/usr/bin/python3 stops.py $m"
	kill -STOP $pid
	soon sleeps "$m"
	soon gone "$m"
	kill -CONT $pid
	status=0
	wait $pid || status=$?
	[ "$status" -eq 124 ]
}

@test "wall clock: it begins for all at once" {
	run strace -o /dev/null -e trace=sendto -e inject=sendto:delay_exit=400000:when=1 \
		"$cordon" run --timeout 1s --json -- sleep 20
	[ "$status" -eq 124 ]
	output=$(grep run_id <<<"$output")
	json "d['timed_out'] and d['limit'] == 'wall'"
}

@test "stops of others do not keep init busy" {
	cat >toggle.py <<-'P'
		import os, signal, time
		def init_ticks():
		    with open("/proc/1/stat") as f:
		        return sum(map(int, f.read().rpartition(")")[2].split()[11:13]))
		r, w = os.pipe()
		if os.fork() == 0:
		    os.setpgid(0, 0)
		    for i in range(800):
		        if os.fork() == 0:
		            os.close(w)
		            while True:
		                signal.pause()
		    os.write(w, b"%d" % os.getpid())
		    os._exit(0)
		os.wait()
		group = int(os.read(r, 20))
		begin, end = init_ticks(), time.monotonic() + 3
		while time.monotonic() < end:
		    os.killpg(group, signal.SIGSTOP)
		    time.sleep(0.005)
		    os.killpg(group, signal.SIGCONT)
		    time.sleep(0.001)
		print((init_ticks() - begin) / os.sysconf("SC_CLK_TCK") / 3)
	P
	run -0 "$cordon" run --timeout 60s --processes 1000 -- /usr/bin/python3 toggle.py
	/usr/bin/python3 -c "assert $output < 0.2, $output"
}

@test "a umask that takes the owner's own rights is the command's alone" {
	umask 0177
	run -0 "$cordon" run --no-policy -- sh -c 'umask; : > made'
	umask 0022
	# Nor can an ordinary user make a folder for the record.
	[ "${lines[-1]}" = 0177 ]
	[ "$(stat -c %a made)" = 600 ]
}

@test "who waits for the end of what was told to end does not spin" {
	for words in "" --no-sandbox; do
		# shellcheck disable=SC2086
		run strace -o calls -e trace=poll,ppoll "$cordon" run $words --timeout 300ms -- \
			sh -c 'trap "" TERM; sleep 30; sleep 30'
		[ "$status" -eq 124 ]
		[ "$(grep -c poll calls)" -lt 300 ]
	done
}

@test "the limit of CPU time is told to all that the command has started" {
	cat >burn.py <<-'P'
		import signal, sys
		def end(*_):
		    print("asked", flush=True)
		    sys.exit(3)
		signal.signal(signal.SIGXCPU, end)
		while True:
		    pass
	P
	run "$cordon" run --cpu-seconds 1 -- sh -c 'trap "sleep 0.05" XCPU; /usr/bin/python3 burn.py'
	[ "$status" -eq 124 ]
	[ "${lines[0]}" = asked ]
}

@test "124 for wall clock and CPU, with what was written before" {
	run "$cordon" run --timeout 300ms -- sleep 30
	[ "$status" -eq 124 ]
	run "$cordon" run --timeout 1500ms --json -- sh -c 'echo partial; echo e >&2; sleep 30'
	[ "$status" -eq 124 ]
	json "d['timed_out'] and d['limit'] == 'wall'"
	json "d['stdout'] == 'partial\n' and d['stderr'] == 'e\n'"
	run "$cordon" run --cpu-seconds 1 --json -c 'while :; do :; done'
	[ "$status" -eq 124 ]
	json "d['timed_out'] and d['limit'] == 'cpu' and d['cpu_ms'] >= 900 and d['signal'] == 24"
	# What ended it is told, and nothing else.
	run "$cordon" run --cpu-seconds 1 --json -c 'trap "" XCPU; while :; do :; done'
	[ "$status" -eq 124 ]
	json "d['timed_out'] and d['limit'] == 'cpu' and d['signal'] == 9"
	run "$cordon" run --cpu-seconds 1 --json -c 'trap "exit 3" XCPU; while :; do :; done'
	[ "$status" -eq 124 ]
	json "d['timed_out'] and d['exit_code'] == 3 and d['signal'] is None"
}

@test "a time-out ends what ignores SIGTERM, and what is stopped" {
	m=$(marker)
	run "$cordon" run --timeout 300ms -- \
		sh -c "trap '' TERM; sleep $m & (trap '' TERM; sleep $m); wait"
	[ "$status" -eq 124 ]
	run "$cordon" run --timeout 300ms -- sh -c "sleep $m & kill -STOP \$\$"
	[ "$status" -eq 124 ]
	soon gone "$m"
}

@test "a time-out while the cordon is still being built is a time-out" {
	run strace -f -o /dev/null -e trace=seccomp -e inject=seccomp:delay_enter=1000000 \
		"$cordon" run --timeout 100ms --json -- touch ran
	[ "$status" -eq 124 ]
	output=$(grep '^{' <<<"$output")
	json "d['timed_out'] and d['limit'] == 'wall' and d['error'] is None"
	[ ! -e ran ]
}

@test "a time limit that is over before the command is there" {
	for _ in $(seq 30); do
		run "$cordon" run --json --timeout 1ms -- sleep 1000
		[ "$status" -eq 124 ]
		json "d['timed_out'] and d['limit'] == 'wall' and d['error'] is None"
	done
}

@test "SIGTERM comes first, and can be used" {
	# The time until SIGKILL is short, and the machine may be busy.
	for _ in 1 2 3 4 5; do
		run "$cordon" run --timeout 300ms --json -- \
			sh -c 'trap "echo bye; exit 3" TERM; while :; do sleep 0.02; done'
		[ "$status" -eq 124 ]
		! grep -q bye <<<"$output" || break
	done
	json "d['stdout'] == 'bye\n' and d['exit_code'] == 3 and d['timed_out']"
}

@test "137 for memory, known and not guessed" {
	run "$cordon" run -m 64M --json -- /usr/bin/python3 -c 'x = bytearray(300 << 20)'
	[ "$status" -eq 137 ]
	json "d['oom_killed'] and d['limit'] == 'memory' and d['signal'] == 9"
	run "$cordon" run -m 64M --json -- sh -c 'kill -9 $$'
	[ "$status" -eq 137 ]
	json "not d['oom_killed'] and d['limit'] is None"
}

@test "the output limit" {
	run "$cordon" run --output 1000 --json -- yes
	json "d['limit'] == 'output' and len(d['stdout']) == 1000"
	json "d['stdout_truncated'] and not d['stderr_truncated']"
	run "$cordon" run --output 1000 --json -- sh -c 'yes >&2'
	json "d['limit'] == 'output' and len(d['stderr']) == 1000"
	json "d['stderr_truncated'] and not d['stdout_truncated']"
	[ "$("$cordon" run --output 1000 -- yes | wc -c)" -eq 1000 ]
}

@test "output that was cut has met its limit, also where the command ended before that was seen" {
	for _ in {1..30}; do
		run "$cordon" run --output 1000 --json -- head -c 2000 /dev/zero
		[ "$status" -eq 143 ]
		json "d['limit'] == 'output' and d['signal'] == 15 and d['exit_code'] is None"
		json "len(d['stdout']) == 1000 and d['stdout_truncated']"
		status=0
		"$cordon" run --output 1000 -- head -c 2000 /dev/zero >out 2>err || status=$?
		[ "$status" -eq 143 ]
		[ "$(stat -c %s out)" -eq 1000 ]
	done
	# Whatever it answers to the signal.
	run "$cordon" run --output 1000 --json -c 'trap "exit 0" TERM; while :; do echo x; done'
	[ "$status" -eq 143 ]
	json "d['limit'] == 'output'"
	# All that may come, and no more.
	run "$cordon" run --output 1000 --json -- head -c 1000 /dev/zero
	[ "$status" -eq 0 ]
	json "d['limit'] is None and not d['stdout_truncated']"
}

@test "a limit that ended the run is told, with its value and what sets it" {
	told() { # WANT OPTION…
		local want=$1
		shift
		"$cordon" run "$@" >/dev/null 2>err || true
		[ "$(grep -a '^cordon: ' err)" = "cordon: ended by $want sets it" ]
	}
	told 'limits.timeout (500ms); --timeout' --timeout 500ms -- sleep 9
	told 'limits.output (1K); --output' --output 1K -- yes
	told 'limits.memory (64M); --memory' -m 64M -- /usr/bin/python3 -c 'x = bytearray(300 << 20)'
	told 'limits.cpu_seconds (1); --cpu-seconds' --cpu-seconds 1 -c 'while :; do :; done'
	told 'limits.disk (1M); --disk' --disk 1M -c 'head -c 5M /dev/zero >f; sleep 9'
	told 'limits.file_size (1K); --file-size' --file-size 1K -c 'exec head -c 5K /dev/zero >g'
	"$cordon" run --no-sandbox --timeout 500ms -- sleep 9 2>err || true
	grep -qx 'cordon: ended by limits.timeout (500ms); --timeout sets it' err
	# No option raises what a policy says.
	printf '[limits]\ntimeout = "500ms"\n' >cordon.toml
	told "limits.timeout (500ms); $work/cordon.toml:2:11" -- sleep 9
	told 'limits.timeout (400ms); --timeout' --timeout 400ms -- sleep 9
}

@test "a limit is told beside a result in a file, and in the result alone with --json" {
	run --separate-stderr "$cordon" run --timeout 500ms --json -- sleep 9
	[ -z "$stderr" ]
	json "d['limit'] == 'wall'"
	run --separate-stderr "$cordon" run --timeout 500ms --result r.json -- sleep 9
	[ "$stderr" = 'cordon: ended by limits.timeout (500ms); --timeout sets it' ]
	run --separate-stderr "$cordon" run --timeout 9s -- true
	[ -z "$stderr" ]
}

@test "a name that was refused has its own reason, and a hint that allows it" {
	refused() { # REASON HINT OPTION…
		local reason=$1 hint=$2
		shift 2
		run "$cordon" run --json "$@"
		json "[x['reason'] for x in d['denials']] == ['the name $reason']"
		json "d['denials'][0]['hint'] == '$hint'"
	}
	mkdir -p ro home/.ssh project
	echo x >secret
	echo x >kept
	refused 'is denied' "files.deny without \"$work/secret\"" --deny secret -c 'mv secret s2'
	refused 'is denied' 'files.deny without "**/*.pem"' --deny '**/*.pem' -c 'touch a.pem'
	refused 'is protected' "files.protect without \"$work/kept\"" --protect ./kept -c 'mv kept k2'
	refused 'is protected' 'files.protect without "**/.x"' --protect '**/.x' -c 'touch .x'
	refused 'lies in a read-only root' "files.read without \"$work/ro\"" -r ro -c 'touch ro/n'
	for name in .git/hooks:git .claude:agent-config .bashrc:shell-rc sub/cordon.toml:agent-config; do
		refused 'is in a protected set' "files.protect without \"${name##*:}\"" \
			-c "mkdir -p sub .git; mkdir ${name%%:*}"
	done
	HOME=$work/home refused 'is a place of credentials' \
		"\"$work/home/.aws\" in files.write, and no folder above it" -c 'mkdir home/.aws'
	mkdir home/.aws
	printf '[files]\nwrite = ["%s/home/.aws"]\n' "$work" >alone.toml
	HOME=$work/home "$cordon" run --policy alone.toml -c 'touch home/.aws/x'
	refused "is a policy\\'s" 'a change from outside the cordon' -c 'touch cordon.toml'
	echo 'profile = "worktree"' >cordon.toml
	refused "is a policy\\'s" 'a change from outside the cordon' -c 'mv cordon.toml c2'
	rm cordon.toml
	# Where more than one holds, the hint is that of the one which no other allows.
	refused 'is denied' "files.deny without \"$work/.bashrc\"" --deny .bashrc -c 'touch .bashrc'
	"$cordon" run --no-policy -c 'mv kept k2 && touch ro/n'
}

@test "both streams count together, and each says that it was cut" {
	run "$cordon" run --output 1000 --json -c 'head -c 600 /dev/zero; head -c 600 /dev/zero >&2'
	[ "$status" -eq 143 ]
	json "d['limit'] == 'output' and len(d['stdout']) + len(d['stderr']) == 1000"
	run "$cordon" run --output 1000 --json -c 'head -c 2000 /dev/zero; echo x >&2; sleep 1'
	json "d['stdout_truncated'] and len(d['stdout']) + len(d['stderr']) == 1000"
}

@test "without a cordon the output limit ends in the same way" {
	for _ in {1..10}; do
		run "$cordon" run --no-sandbox --output 1000 --json -- head -c 2000 /dev/zero
		[ "$status" -eq 143 ]
		json "d['limit'] == 'output' and len(d['stdout']) == 1000"
	done
}

@test "without a cordon what is left writing is not the command's output, nor its end" {
	for limit in 1536K none; do
		rm -f ready go
		mark=$(marker)
		"$cordon" run --no-sandbox --output "$limit" --json -- sh -c "echo begin; touch ready
			until [ -e go ]; do sleep 0.01; done
			head -c 50000 /dev/zero; echo last; yes $mark & exit 0" >out 2>/dev/null 3>&- &
		run=$!
		soon test -e ready
		kill -STOP "$run"
		touch go
		soon pgrep -r S -f "^yes $mark"
		kill -CONT "$run"
		wait "$run"
		output=$(<out)
		json "d['exit_code'] == 0 and d['limit'] is None and not d['stdout_truncated']"
		json "d['stdout'].startswith('begin\n' + '\0' * 50000 + 'last\n')"
		soon eval "! pgrep -f '^yes $mark'"
	done
}

@test "file size" {
	run "$cordon" run --file-size 1M --json -- dd if=/dev/zero of=big bs=1M count=3 status=none
	[ "$status" -ne 0 ]
	[ "$(stat -c %s big)" -eq 1048576 ]
}

@test "file size: a limit that is none, or that of the caller, is not told for ours" {
	run -153 "$cordon" run --file-size 1M --json -c 'exec head -c 2M /dev/zero >f'
	json "d['signal'] == 25 and d['limit'] == 'file_size'"
	run -153 "$cordon" run --file-size none --json -c 'kill -XFSZ $$'
	json "d['signal'] == 25 and d['limit'] is None"
	run -153 bash -c 'ulimit -f 10 && "$@"' - "$cordon" run --audit /dev/null --json \
		-c 'exec head -c 2M /dev/zero >f'
	json "d['signal'] == 25 and d['limit'] is None"
}

@test "more processes than the kernel has numbers for" {
	for n in 4194303 4194304 4294967296 9223372036854775806; do
		"$cordon" run --processes $n -- true
	done
}

@test "disk: what is added to the workspace, where it is asked" {
	head -c 30M /dev/zero >old
	run "$cordon" run --disk 10M --json -- sh -c 'head -c 8M /dev/zero > new'
	json "d['limit'] is None and d['exit_code'] == 0"
	run "$cordon" run --disk 10M --json -- sh -c 'head -c 1G /dev/zero > more; sleep 60'
	[ "$status" -eq 137 ]
	json "d['limit'] == 'disk' and d['signal'] == 9 and not d['oom_killed']"
	[ "$(stat -c %s more)" -lt 1073741824 ]
	rm more
	# What was written before the end is found at the end.
	run "$cordon" run --disk 10M --json -- truncate -s 1G hole
	json "d['limit'] is None"
	run "$cordon" run --disk 10M --json -- sh -c 'head -c 11M /dev/zero > more'
	[ "$status" -eq 137 ]
	json "d['limit'] == 'disk'"
}

@test "disk: the private places are bounded together, and each is one of its own" {
	# Each alone has room for it.
	for place in /tmp /dev/shm; do
		"$cordon" run --disk 10M -- sh -c "head -c 6M /dev/zero > $place/a"
	done
	run "$cordon" run --disk 10M -- sh -c \
		'head -c 6M /dev/zero > /tmp/a && ! head -c 6M /dev/zero > /dev/shm/b'
	[ "$status" -eq 0 ]
	[[ "$output" = *'No space left on device'* ]]
	run "$cordon" run -- sh -c 'echo x > /tmp/a && ! ln /tmp/a /dev/shm/a && ! ls /dev/shm/* &&
		stat -c %a /tmp /dev/shm'
	[ "$status" -eq 0 ]
	[[ "$output" = *'Invalid cross-device link'*1777*1777 ]]
}

@test "disk: names, holes and what was there before cost nothing" {
	head -c 30M /dev/zero >old
	run "$cordon" run --disk 2M --json -- \
		sh -c 'ln old a; ln old b; truncate -s 1G hole; mv old c; cat c >/dev/null'
	json "d['limit'] is None and d['exit_code'] == 0"
	# What is taken away makes room.
	run "$cordon" run --disk 2M --json -- sh -c 'rm a b c; head -c 20M /dev/zero > new'
	json "d['limit'] is None and d['exit_code'] == 0"
	# Nobody asked.
	run "$cordon" run --json -- sh -c 'head -c 20M /dev/zero > new'
	json "d['limit'] is None and d['exit_code'] == 0"
}

@test "disk: files without a name on an overlay count, whatever their device" {
	mkdir lower over
	cat >script <<-'END'
		mount -t tmpfs none over && mkdir over/upper over/work over/all &&
			mount -t overlay -o lowerdir=lower,upperdir=over/upper,workdir=over/work \
				none over/all && cd over/all || exit 99
		"$1" run --disk 10M --json -- sh -c 'exec 3>f; rm f; head -c 4M /dev/zero >&3'
		exec "$1" run --disk 10M --json -- sh -c \
			'exec 3>f; rm f; head -c 60M /dev/zero >&3; sleep 9'
	END
	run unshare --map-root-user --mount sh script "$cordon"
	[ "$status" != 99 ] || skip "no overlay in a user namespace"
	[[ "${lines[0]}" = *'"limit":null'* && "${lines[1]}" = *'"limit":"disk"'* ]]
}

@test "disk: what cannot be counted counts as too much, and is told" {
	deep='import os, time
for i in range(300): os.mkdir("d"); os.chdir("d")
time.sleep(60)'
	run "$cordon" run --disk 100M --json -- /usr/bin/python3 -c "$deep"
	rm -rf d
	json "d['limit'] == 'disk' and d['signal'] == 9"
	json "d['limit_uncounted'].endswith('lies too deep to be counted')"
	run "$cordon" run --disk 100M -- /usr/bin/python3 -c "$deep"
	rm -rf d
	[[ "$output" = *'ended by limits.disk (100M); --disk sets it; '*'lies too deep to be counted' ]]
}

@test "disk: what cannot be counted is refused" {
	mkdir deep
	/usr/bin/python3 -c 'import os
os.chdir("deep")
for i in range(300): os.mkdir("d"); os.chdir("d")'
	run "$cordon" run --disk 10M --json -- touch ran
	[ "$status" -eq 125 ]
	grep -q 'limits.disk: .* lies too deep to be counted' <<<"$output"
	[ ! -e ran ]
}

@test "patterns: what they do not mean stays as it is" {
	mkdir -p a/b c/x
	run "$cordon" run --deny '*.pem' --deny 'c/*/tok' --deny '**/b/k' --deny 's/**' --json -c '
		echo x > a/n.pem && mkdir s a/s && echo x > a/s/f && echo x > c/tok && echo x > k &&
		echo x > c/x/token && echo x > f && ln f c/f && mv f c/g && mkdir c/y && mv c/y c/z &&
		echo x > pem && ln -s a l'
	json "d['exit_code'] == 0 and d['denials'] == []"
	for pattern in '**/*' 'a/**/b' 'x**y' '**/**'; do
		run "$cordon" run --deny "$pattern" -- touch ran
		[ "$status" -eq 125 ]
		grep -q "files.deny: the pattern '.*' \(means everything\|has \*\* inside\)" <<<"$output"
	done
	[ ! -e ran ]
}

@test "patterns: the letters of other patterns are those of names that are there" {
	mkdir -p 'app/[id]' 'w[ab]'
	echo x >'app/[id]/a?'
	run "$cordon" run --deny 'app/[id]/a?' --deny 'app/[id]/*.pem' -- cat 'app/[id]/a?'
	[ "$status" -eq 1 ]
	"$cordon" run --cwd 'w[ab]' --deny 'w[ab]/n' --protect '*.pem' -- true
	for pattern in 'a?' '[ab].pem' '{a,b}' '*.[ch]' '**/{a,b}' 'a?/**' 'app/[id]/[ab]'; do
		run "$cordon" run --deny "$pattern" -- touch ran
		[ "$status" -eq 2 ]
		[[ "$output" == *"which is a letter of a name here"* ]]
	done
	[ ! -e ran ]
}

@test "patterns: a name at any depth is closed where all of / can be read, and in presets" {
	away=$(mktemp -d /var/tmp/cordon-XXXXXX)
	mkdir -p "$away/a" "$HOME/go/x"
	chmod 755 "$away"
	echo secret >"$away/a/.env"
	echo secret >"$HOME/go/x/.env"
	mkdir ws
	cd ws
	printf '{"filesystem": {"denyRead": ["**/.env"], "allowWrite": ["."]}}' >../srt.json
	"$cordon" run -r / -- cat "$away/a/.env"
	run "$cordon" run -r / --deny '**/.env' -- cat "$away/a/.env"
	[ "$status" -eq 1 ]
	grep -q 'Permission denied' <<<"$output"
	run "$cordon" run --dialect srt --policy ../srt.json -- cat "$away/a/.env"
	[ "$status" -eq 1 ]
	grep -q 'Permission denied' <<<"$output"
	"$cordon" run -- cat "$HOME/go/x/.env"
	run "$cordon" run --deny '**/.env' -- cat "$HOME/go/x/.env"
	[ "$status" -eq 1 ]
	grep -q 'Permission denied' <<<"$output"
	rm -r "$away"
}

# bats test_tags=user-only
@test "patterns: what cannot be looked through below a root that is only read is closed" {
	[ "$(id -u)" -ne 0 ] || skip "root lists everything"
	mkdir -p r/d r/e ws
	echo x >r/d/k
	echo x >r/e/f
	chmod 311 r/d
	cd ws
	run "$cordon" run -r ../r --deny '**/k' -c 'cat ../r/e/f; cat ../r/d/k'
	chmod 700 ../r/d
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = x ]
	grep -q 'Permission denied' <<<"$output"
}

# bats test_tags=user-only
@test "patterns: what cannot be looked through is refused" {
	[ "$(id -u)" -ne 0 ] || skip "root lists everything"
	mkdir d
	echo x >d/k
	chmod 311 d
	run "$cordon" run --deny '**/k' -- cat d/k
	chmod 700 d
	[ "$status" -eq 125 ]
	grep -q 'cannot be looked through' <<<"$output"
}

@test "a folder of a run that has ended is as closed as it was" {
	mkdir -p .git/hooks
	echo host >.git/hooks/old
	chmod 644 .git/hooks/old
	echo key >.env
	cat >give.py <<'PY'
import os, socket
s = socket.socket(socket.AF_UNIX)
s.bind("chan")
s.listen(1)
c, _ = s.accept()
socket.send_fds(c, [b"x"], [os.open(".", os.O_RDONLY), os.open("/", os.O_RDONLY)])
c.recv(1)
PY
	cat >take.py <<'PY'
import errno, os, socket, sys, time
c = socket.socket(socket.AF_UNIX)
while c.connect_ex("chan"):	# it is there, but nobody listens yet
    time.sleep(0.05)
d, r = socket.recv_fds(c, 9, 2)[1]
c.send(b"k")
while not os.path.exists("over"):	# its run has ended
    time.sleep(0.05)
def held(act):
    try:
        act()
    except OSError as e:
        assert e.errno in (errno.EACCES, errno.EROFS, errno.EBUSY), e
    else:
        sys.exit("done")
def path():
    return "/proc/self/fd/%d" % os.open(".git/hooks/old", os.O_PATH, dir_fd=d)
held(lambda: os.open(".git/hooks/new", os.O_CREAT | os.O_WRONLY, dir_fd=d))
held(lambda: os.open(".git/hooks/old", os.O_WRONLY, dir_fd=d))
held(lambda: os.open(path(), os.O_WRONLY))
held(lambda: os.truncate(path(), 0))
held(lambda: os.chmod(".git/hooks/old", 0o755, dir_fd=d))
held(lambda: os.unlink(".git/hooks/old", dir_fd=d))
held(lambda: os.open(".env", os.O_RDONLY, dir_fd=d))
held(lambda: os.unlink(".env", dir_fd=d))
held(lambda: os.chmod("..", 0, dir_fd=r))	# the root of another is no end
for i in range(1, 9):
    for root in ("", "/root", "/made"):
        try:
            os.open("../" * i + root + os.getcwd() + "/.env", os.O_RDONLY, dir_fd=r)
            sys.exit("%d %s" % (i, root))
        except OSError:
            pass
PY
	"$cordon" run --deny .env -- python3 give.py 3>&- &
	soon test -S chan
	"$cordon" run --deny .env -- python3 take.py 3>&- >out 2>&1 &
	taker=$!
	wait %1
	touch over
	wait "$taker" || { cat out; false; }
	[ "$(cat .git/hooks/old)" = host ]
	[ "$(stat -c %a .git/hooks/old)" = 644 ]
	[ "$(cat .env)" = key ]
	[ ! -e .git/hooks/new ]
	# What a stream leads to can be opened by its name, as ever.
	"$cordon" run -- sh -c 'echo by name >/dev/stdout' >said
	[ "$(cat said)" = "by name" ]
}

@test "streams that lead to a file outside can be opened by their names" {
	log=$BATS_TEST_TMPDIR/log
	echo before >"$log"
	"$cordon" run -- sh -c 'echo out >>/dev/stdout; echo err >/dev/stderr; echo t | tee -a /dev/stderr' \
		>>"$log" 2>&1
	[ "$(cat "$log")" = $'before\nout\nerr\nt\nt' ]
	# But not for what they were not opened.
	run "$cordon" run -- sh -c 'echo x >>/dev/stdin' <"$log"
	"$cordon" run -- sh -c 'exec 5</dev/stdout; head -1 <&5' >>"$log" || true
	[ "$(wc -l <"$log")" -eq 5 ]
}

has_guard() {
	pgrep -P "$1" -x cordon-guard >/dev/null
}

@test "the guard is there before a program that is known to need it" {
	for name in git other; do
		printf '#!/bin/sh\necho up\nexec sleep 60\n' >"$name"
		chmod +x "$name"
		"$cordon" run -- "./$name" >"said-$name" 3>&- &
		eval "$name=\$!"
		soon grep -q up "said-$name"
	done
	# shellcheck disable=SC2154
	soon has_guard "$git"
	run has_guard "$other"
	[ "$status" -ne 0 ]
	kill "$git" "$other"
	wait "$git" "$other" || true
}

@test "who may not be looked into makes names by descriptors, and sockets" {
	cat >closed.py <<-'END'
		import ctypes, os, socket
		ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
		here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
		os.mkdir("folder", dir_fd=here)
		os.symlink("folder", "link", dir_fd=here)
		os.rename("link", "moved", src_dir_fd=here, dst_dir_fd=here)
		os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
		socket.socket(socket.AF_UNIX).bind("socket")
		try:
		    os.open(".bashrc", os.O_CREAT | os.O_WRONLY, dir_fd=here)
		except PermissionError:
		    print("refused")
	END
	run --separate-stderr "$cordon" run -- /usr/bin/python3 closed.py
	[ "$status" -eq 0 ]
	[ "$output" = refused ]
	[ -d folder ] && [ -L moved ] && [ -f file ] && [ -S socket ]
	[ ! -e .bashrc ]
	command -v ssh-agent >/dev/null || return 0
	run "$cordon" run -- ssh-agent sh -c 'test -S "$SSH_AUTH_SOCK" && echo there'
	[ "$status" -eq 0 ]
	[ "$output" = there ]
}

@test "a denied folder on the way to protected names" {
	mkdir -p .git/hooks
	run "$cordon" run --deny .git -- sh -c 'echo x >new; ls .git; mkdir d && mv d .git'
	[ -s new ]
	[ ! -e .git/d ]
	# Whoever closes one meanwhile has run all the same.
	run "$cordon" run --json -- sh -c 'mkdir .config; chmod 0 .config; sleep 0.3; echo x >more'
	[ "$status" -eq 0 ]
	[ -s more ]
	json "d['exit_code'] == 0 and d['error'] is None"
	rm -r .config
	# One that was closed by somebody before hides nothing from the guard.
	mkdir .config
	ln -s ../deep .config/mise
	chmod 0 .config
	run "$cordon" run --json -- sh -c 'touch f; chmod 700 .config; mkdir -p deep
		echo x >deep/config.toml; echo x >.config/mise/config.toml; exit 3'
	if [ "$(id -u)" -eq 0 ]; then
		json "d['exit_code'] == 3 and d['error'] is None"
		[ -e f ]
	else
		[[ "$output" == *"'$work/.config' is closed to cordon"* ]]
	fi
	[ ! -e deep/config.toml ]
	chmod 0 .config
	run "$cordon" run --json -- sh -c 'chmod 700 .config; mkdir -p deep; echo x >deep/config.toml'
	[ ! -e deep/config.toml ]
	# Nor does one that the command closes before its first name.
	chmod 700 .config
	run "$cordon" run --json -- sh -c 'chmod 0 .config; touch g; chmod 700 .config; mkdir -p deep
		echo x >deep/config.toml; exit 0'
	json "d['exit_code'] == 0 and d['error'] is None"
	[ -e g ]
	[ ! -e deep/config.toml ]
}

@test "what programs run from HOME is held in a part of it" {
	mkdir -p "$HOME/.config/mine" "$HOME/.config/nvim"
	for name in git/config fish/config.fish systemd/user/x.service environment.d/a.conf; do
		run "$cordon" run -w "$HOME/.config" -- sh -c "mkdir -p ~/.config/${name%/*}; echo x >~/.config/$name"
		[ ! -e "$HOME/.config/$name" ]
	done
	"$cordon" run -w "$HOME/.config" -- touch "$HOME/.config/mine/own"
	[ -e "$HOME/.config/mine/own" ]
	# A root that is such a name itself is meant.
	"$cordon" run -w "$HOME/.config/nvim" -- touch "$HOME/.config/nvim/init.lua"
	[ -e "$HOME/.config/nvim/init.lua" ]
}

@test "git folders by another name, and none of the workspace" {
	git init -q .
	run "$cordon" run -- sh -c 'rm .git/HEAD; mkdir objects refs; echo "ref: refs/heads/m" >HEAD'
	[ ! -e HEAD ]
	git init -q "$BATS_TEST_TMPDIR/main"
	cd "$BATS_TEST_TMPDIR/main"
	git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
	git worktree add -q ../wt
	cd ../wt
	common=$BATS_TEST_TMPDIR/main/.git
	run "$cordon" run -w "$common" -- sh -c "echo x >$common/hooks/post-checkout"
	[ ! -e "$common/hooks/post-checkout" ]
	for name in config worktrees/wt/commondir worktrees/wt/config.worktree; do
		before=$(cat "$common/$name" || true)
		run "$cordon" run -w "$common" -- sh -c "echo evil >>$common/$name"
		[ "$(cat "$common/$name" || true)" = "$before" ]
	done
	# Of another worktree, too, whatever is removed first.
	git worktree add -q ../other
	run "$cordon" run -w "$common" -- sh -c "cd $common/worktrees/other && rm -f commondir
		mkdir -p objects refs && echo x >config; mkdir hooks && echo x >hooks/post-commit"
	[ -s "$common/worktrees/other/commondir" ]
	[ ! -e "$common/worktrees/other/config" ]
	[ ! -e "$common/worktrees/other/hooks/post-commit" ]
	"$cordon" run -w "$common" -- git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two
	[ "$(git log --format=%s | head -1)" = two ]
}

@test "sixty writable roots, each with its protected names" {
	roots=()
	for i in {1..60}; do
		mkdir "r$i"
		roots+=(-w "r$i")
	done
	run "$cordon" run "${roots[@]}" -c 'for i in 1 30 60; do echo y >r$i/free; echo x >r$i/.envrc; done'
	for i in 1 30 60; do
		[ -e r$i/free ]
		[ ! -e r$i/.envrc ]
	done
}

@test "a writable root that is not there yet" {
	"$cordon" run -w ../new/deep -- sh -c 'echo kept >../new/deep/file'
	[ "$(cat ../new/deep/file)" = kept ]
	"$cordon" run -w ../other -- sh -c 'mkdir -p ../other/sub'
	[ -d ../other/sub ]
	# Only looked at, nothing is made.
	"$cordon" run -w ../third --dry-run -- true >/dev/null
	[ ! -e ../third ]
	run "$cordon" run -w /proc/new -- true
	[ "$status" -eq 125 ]
	echo file >../plain
	run "$cordon" run -w ../plain/below -- true
	[ "$status" -eq 125 ]
}

@test "a root inside a folder of credentials does not open the rest of it" {
	export HOME=$BATS_TEST_TMPDIR/keys
	mkdir -p "$HOME/.aws/sub"
	echo secret >"$HOME/.aws/credentials"
	run "$cordon" run -r "$HOME" -w "$HOME/.aws/sub" -- cat "$HOME/.aws/credentials"
	[ "$status" -eq 125 ]
	grep -q "is a root inside '$HOME/.aws'" <<<"$output"
	run "$cordon" run -w "$HOME/.aws/sub" -- cat "$HOME/.aws/credentials"
	[[ "$output" != *secret* ]]
	"$cordon" run -w "$HOME/.aws/sub" -- touch "$HOME/.aws/sub/made"
	[ "$("$cordon" run -w "$HOME/.aws" -- cat "$HOME/.aws/credentials")" = secret ]
}

@test "a folder of credentials is no root because somebody stands there" {
	export HOME=$BATS_TEST_TMPDIR/stand
	mkdir -p "$HOME"/.ssh/sub "$HOME"/.config/gh "$HOME"/.gnupg elsewhere
	for folder in .ssh .ssh/sub .config/gh .gnupg; do
		cd "$HOME/$folder"
		echo secret >key
		run -125 "$cordon" run -- cat key
		[[ "$output" == *"the working directory '$HOME/$folder' lies in '$HOME/"*"--read"* ]]
		[[ "$output" != *secret* ]]
		# Who names it means it.
		run -0 "$cordon" run --write . -- sh -c 'cat key; touch made'
		[ "$output" = secret ]
		[ -e made ]
		run "$cordon" run --read . -- sh -c 'cat key; touch more'
		[[ "$output" == secret* ]]
		[ ! -e more ]
		printf '[files]\nwrite = ["."]\n' >p.toml
		run -0 "$cordon" run --policy p.toml -- cat key
		[ "$output" = secret ]
		run -125 "$cordon" run --cwd "$HOME" -- ls
	done
	# By what a link of HOME, or a variable, leads to as well.
	mkdir -p "$HOME/dots/aws" "$HOME/other"
	ln -s dots/aws "$HOME/.aws"
	cd "$HOME/dots/aws"
	run -125 "$cordon" run -- true
	cd "$HOME/other"
	GNUPGHOME=$HOME/other run -125 "$cordon" run -- true
	run -0 "$cordon" run -- true
	# The folder above has it closed, as ever.
	cd "$HOME"
	run -1 "$cordon" run -- cat .ssh/key
}

@test "a protected folder is no writable root because somebody stands there" {
	export HOME=$BATS_TEST_TMPDIR/stand
	mkdir -p "$HOME"/.claude/hooks "$HOME"/.config/systemd/user "$HOME"/p "$HOME"/.codex/worktrees/p
	git init -q "$HOME/p"
	kept() {
		cd "$HOME/$1"
		run "$cordon" run -- touch made
		[ "$status" -ne 0 ]
		[ ! -e made ]
		[[ "$output" == *"'$HOME/$1' is held by files.protect ($2): it can be read; --write"* ]]
		run -0 "$cordon" run -- ls
		run -0 "$cordon" run --write . -- touch made
		[ -z "$output" ]
		[ -e made ]
	}
	kept p/.git/hooks git
	kept p/.git/info git
	kept .claude agent-config
	kept .claude/hooks agent-config
	kept .config/systemd/user shell-rc
	# Not what can be written from above, nor a project that lies there.
	for folder in p/.git p/.git/refs .codex/worktrees/p p; do
		cd "$HOME/$folder"
		run -0 "$cordon" run -- touch made
		[ -z "$output" ]
	done
	# Nor where a policy holds nothing.
	cd "$HOME/.claude/hooks"
	printf '[files]\nprotect = []\n' >../../none.toml
	run -0 "$cordon" run --policy ../../none.toml -- touch unheld
	[ -z "$output" ]
}

# In a folder of its own, with a home.
trust_place() {
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.ssh" sub
	echo KEY >"$HOME/.ssh/id"
	unset XDG_STATE_HOME
	printf '[files]\nwrite = [".", "~/beside"]\nread = ["~/.ssh"]\n[network]\n' >cordon.toml
	printf 'mode = "allowlist"\nallow = ["a.test", "b.test"]\n' >>cordon.toml
}

@test "a policy that is found only narrows, and one line says what it asks for" {
	trust_place
	asks="cordon: cordon.toml asks for more than the default (~/beside, ~/.ssh, 2 hosts)"
	run --separate-stderr "$cordon" run -- sh -c 'cat ~/.ssh/id; mkdir ~/beside/made'
	[ "$status" -ne 0 ]
	[ -z "$output" ]
	[ "${stderr_lines[0]}" = "$asks: cordon trust, or --policy cordon.toml" ]
	[ ! -e "$HOME/beside" ]
	run --separate-stderr "$cordon" run --policy cordon.toml -- sh -c 'cat ~/.ssh/id; mkdir ~/beside/made'
	[ "$status" -eq 0 ]
	[ "$output" = KEY ]
	[ -z "$stderr" ]
	run -0 "$cordon" explain
	[[ "$output" == *"files.read "*"$HOME/.ssh "*"cordon.toml:3:9  by default, until cordon trust"* ]]
	run -0 "$cordon" check cordon.toml
	[ "$output" = "cordon.toml is not trusted; cordon trust opens: ~/beside, ~/.ssh, 2 hosts" ]
	# However much it says, nothing is pushed out of sight.
	printf '[files]\nread = ["~/.ssh"]\nprotect = []\n[env]\npass = [%s]\n[phase.p.network]\nmode = "public"\n' \
		"$(seq -f '"A%g"' -s, 200)" >cordon.toml
	run "$cordon" run -- true
	[ "$output" = "cordon: cordon.toml asks for more than the default (~/.ssh, 3 entries of files.protect, 200 entries of env.pass, phase p: network.mode = \"public\"): cordon trust, or --policy cordon.toml" ]
	# What narrows holds without a word.
	printf '[files]\nwrite = ["sub"]\ndeny = ["secret"]\n[env]\npass = ["HOME"]\n[limits]\nprocesses = 9\n' >cordon.toml
	echo SECRET >secret
	run --separate-stderr "$cordon" run -- sh -c 'touch here; cat secret; touch sub/made && echo ok'
	[ "$output" = ok ]
	[ -e sub/made ] && [ ! -e here ]
	[[ "$stderr" != *asks* ]]
	rm -r cordon.toml secret sub
}

@test "a found policy that narrows a root opens nothing that the root does not show" {
	trust_place
	cd "$HOME"
	# In a home, by name or by a root inside one that an option gives.
	for text in 'write = [".ssh"]' 'write = [".", ".ssh"]' 'read = [".ssh"]' 'read = [".ssh/id"]' \
		'write = []\nread = [".ssh"]'; do
		printf '[files]\n%b\n' "$text" >cordon.toml
		for options in "" "-w $HOME" "-r $HOME"; do
			# shellcheck disable=SC2086
			run "$cordon" run $options -- cat .ssh/id
			[ "$status" -ne 0 ]
			[[ "$output" != *KEY* ]]
		done
	done
	# The operator's word about the same root holds.
	printf '[files]\nwrite = [".ssh"]\n' >cordon.toml
	run --separate-stderr "$cordon" run --policy cordon.toml -- cat .ssh/id
	[ "$output" = KEY ]
	# A policy that lies in a folder of credentials is no word about it.
	printf '[files]\nwrite = ["."]\n' >.ssh/cordon.toml
	run sh -c 'cd .ssh && exec "$0" run -- cat id' "$cordon"
	[ "$status" -ne 0 ]
	[[ "$output" == *"where credentials are"* ]]
	rm .ssh/cordon.toml cordon.toml
}

@test "what a dialect opens by its silence it opens when it is trusted" {
	trust_place
	rm cordon.toml
	told() {
		mkdir -p "$(dirname "$1")"
		printf '%b' "$2" >"$1"
		run "$cordon" run -- true
		[ "$status" -eq 0 ]
		[[ "$output" == "cordon: $1 asks for more than the default ("*'network.mode = "public"'*")"* ]]
		"$cordon" trust "$1"
		run "$cordon" run -- true
		[[ "$output" != *asks* ]]
		"$cordon" trust --remove
		rm -r "${1%%/*}"
	}
	told cordon.toml '[network]\nmode = "public"\n'
	told harness.md '---\nname: x\n---\n'
	told .harness/config.toml '[sandbox]\nnetwork_access = true\n'
	# A task is named, never found.
	printf '[environment]\n' >task.toml
	run "$cordon" run -- true
	[ -z "$output" ]
	run -0 "$cordon" explain
	[[ "$output" != *task.toml* ]]
	rm -r task.toml sub
}

@test "cordon trust: of one path with one text, and of no command inside" {
	trust_place
	state=$HOME/.local/state/cordon
	run -2 "$cordon" trust sub/cordon.toml
	run -0 "$cordon" trust
	[ "$output" = "trusted: $PWD/cordon.toml (opens ~/beside, ~/.ssh, 2 hosts)" ]
	[ "$(stat -c %a "$state/trust")" = 600 ]
	run -0 "$cordon" trust --list
	[ "$output" = "$PWD/cordon.toml" ]
	run --separate-stderr "$cordon" run -- cat "$HOME/.ssh/id"
	[ "$output" = KEY ]
	[ -z "$stderr" ]
	# Not another one below, nor a changed one.
	cp cordon.toml sub
	run -0 sh -c 'cd sub && exec "$0" run -- true' "$cordon"
	[[ "$output" == *"asks for more than the default"* ]]
	echo >>cordon.toml
	run --separate-stderr "$cordon" run -- cat "$HOME/.ssh/id"
	[ -z "$output" ]
	[[ "${stderr_lines[0]}" == *"asks for more than the default"* ]]
	# A command inside does not trust for the next run: neither by cordon nor by hand.
	before=$(cat "$state/trust")
	for root in "$HOME" "$state" "$HOME/.local"; do
		run "$cordon" run --no-policy -w . -w "$root" -r "$(dirname "$CORDON")" -- "$CORDON" trust
		[ "$status" -ne 0 ]
		run "$cordon" run --no-policy -w . -w "$root" -- sh -c 'echo "$(sha256sum <cordon.toml | cut -d" " -f1) $PWD/cordon.toml" >>~/.local/state/cordon/trust'
		[ "$status" -ne 0 ]
		run "$cordon" run --no-policy -w . -w "$root" -- mv "$HOME/.local/state" "$HOME/.local/other"
		[ "$status" -ne 0 ]
		[ "$(cat "$state/trust")" = "$before" ]
	done
	# The same acts work outside.
	echo "$(sha256sum <cordon.toml | cut -d' ' -f1) $PWD/cordon.toml" >>"$state/trust"
	run --separate-stderr "$cordon" run -- cat "$HOME/.ssh/id"
	[ "$output" = KEY ]
	run -0 "$cordon" trust --remove
	run -1 "$cordon" trust --remove
	run -0 "$cordon" trust --list
	[ -z "$output" ]
	# Where the folder is not there yet, the command cannot make it either.
	rm -r "$HOME/.local"
	run "$cordon" run --no-policy -w "$HOME" -- sh -c 'mkdir -p ~/.local/state/cordon && echo x >~/.local/state/cordon/trust'
	[ "$status" -ne 0 ]
	[ ! -e "$state/trust" ]
	rm -r cordon.toml sub
}

@test "names in a policy do not speak to the terminal" {
	printf '[files]\nwrite = [".", "../\\u001b[2K\\u009b2K\\nrights"]\n' >cordon.toml
	run "$cordon" run --dry-run --policy cordon.toml -- true $'a\nb'
	[[ "$output" == *'\x1b[2K\x9b2K\nrights'* ]]
	[[ "$output" != *$'\e'* ]]
	[ "$(grep -c ^rights <<<"$output")" -eq 1 ]
	[[ "$output" == *'command    true a\nb'* ]]
	run "$cordon" run -- true
	[[ "$output" == *'asks for more'*'\x1b[2K\x9b2K\nrights)'* ]]
	[[ "$output" != *$'\e'* ]]
	rm cordon.toml
	run "$cordon" run $'--no\xc2\x9b2K\xff' -- true
	[[ "$output" == *'--no\xc2\x9b2K\xff'* ]]
}

@test "the user's ceiling stays, whatever environment this run has" {
	mkdir -p .config/cordon "$BATS_TEST_TMPDIR/other"
	echo 'profile = "worktree"' >.config/cordon/cordon.toml
	HOME=$PWD XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/other run "$cordon" run -- \
		sh -c 'rm -r .config/cordon; mv .config away'
	[ "$status" -ne 0 ]
	[ -e .config/cordon/cordon.toml ]
}

@test "what an option asks for and a ceiling does not allow is told" {
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.config/cordon" ../other
	ceiling=$HOME/.config/cordon/cordon.toml
	printf '[network]\nmode = "no-network"\n[limits]\nmemory = "1G"\n' >"$ceiling"
	printf '[files]\nwrite = ["%s"]\n' "$work" >>"$ceiling"
	for options in "--network public" "--allow-host a.test" "--memory 2G"; do
		# shellcheck disable=SC2086 # words
		run -0 "$cordon" run $options -- true
		[[ "$output" == "cordon: warning: ${options%% *}: not allowed by $ceiling:"* ]]
		[ "${#lines[@]}" -eq 1 ]
	done
	run -0 "$cordon" run --write ../other -- true
	[ "$output" = "cordon: warning: --write $BATS_TEST_TMPDIR/other: not allowed by $ceiling:6:9" ]
	# Not what is as strict, nor what a policy says.
	run -0 "$cordon" run --network no-network --memory 1G --write . -- true
	[ -z "$output" ]
	printf '[network]\nmode = "public"\n' >p.toml
	run -0 "$cordon" run --policy p.toml -- true
	[ -z "$output" ]
	run -0 "$cordon" session start --network public --name s
	[[ "$output" == *"warning: --network: not allowed by $ceiling:"* ]]
	"$cordon" session stop s
	rm -r "$HOME/.config"
}

@test "entries of /etc that carry a version are readable in each version" {
	unshare --map-root-user --mount true || skip "no user namespace here"
	mkdir -p etc/python3.99 etc/java-99-openjdk etc/python4 etc/javax
	cp /etc/passwd /etc/group /etc/ld.so.cache etc
	named="/etc/python3.99/file /etc/java-99-openjdk/file /etc/fpc-9.9.cfg"
	other="/etc/python4/file /etc/javax/file /etc/fpc-9.9"
	for name in $named $other; do
		echo text >".$name"
	done
	echo 'mount --bind etc /etc && exec "$@"' >script
	# shellcheck disable=SC2086
	run -0 unshare --map-root-user --mount sh script cat $named $other
	printf 'may_lack = ["landlock"]\n[files]\npresets = ["system_runtime"]\n' >p.toml
	for lacks in none landlock; do
		for name in $named $other; do
			run unshare --map-root-user --mount sh script \
				"$CORDON_BUILD/tests/without" $lacks "$cordon" run --policy p.toml \
				-- cat "$name"
			[[ " $named " != *" $name "* || "$status,$output" = 0,text ]]
			[[ " $other " != *" $name "* || "$status" -eq 1 ]]
		done
	done
}

@test "the user's ceiling holds without HOME, too" {
	unshare --map-root-user --mount true || skip "no user namespace here"
	mkdir -p etc home/.config/cordon other/cordon work
	cp /etc/group /etc/ld.so.cache etc
	echo "root:x:0:0::$PWD/home:/bin/sh" >etc/passwd
	printf '[files]\ndeny = ["~/x"]\n[limits]\nprocesses = 7\n' >home/.config/cordon/cordon.toml
	printf '[limits]\nprocesses = 8\n' >other/cordon/cordon.toml
	echo 'mount --bind etc /etc && cd work && exec "$@"' >script
	limit() {
		run -0 unshare --map-root-user --mount sh script env "$@" "$cordon" explain
		sed -n 's,^limits.processes  *\([0-9]*\) .*,\1,p' <<<"$output" | head -n 1
	}
	unset XDG_CONFIG_HOME
	[ "$(limit -u HOME)" = 7 ]
	[ "$(limit HOME=)" = 7 ]
	[ "$(limit HOME=home)" = 7 ]
	# Its ~ is where it lies.
	run -0 unshare --map-root-user --mount sh script env -u HOME "$cordon" explain
	grep -q "^files.deny  *$PWD/home/x " <<<"$output"
	# A HOME that is set is meant, and so is another place.
	[ "$(limit HOME="$PWD")" = 1024 ]
	[ "$(limit -u HOME XDG_CONFIG_HOME="$PWD/other")" = 8 ]
	# Without it there is no run.
	echo '[' >home/.config/cordon/cordon.toml
	run -2 unshare --map-root-user --mount sh script env -u HOME "$cordon" run -- true
	[[ "$output" == *"/home/.config/cordon/cordon.toml:"* ]]
}

@test "a ceiling that cannot be read: what to do is said" {
	unshare --map-root-user --mount setpriv --bounding-set -all true || skip "no user namespace here"
	mkdir -p etc/cordon home/.config/cordon work
	cp /etc/passwd /etc/group /etc/ld.so.cache etc
	cat >script <<-'EOF'
		mount --bind etc /etc && cd work &&
			exec setpriv --bounding-set -all --inh-caps -all "$@"
	EOF
	export HOME=$PWD/home
	inside() {
		run "$1" unshare --map-root-user --mount sh script "$cordon" explain
	}
	unset XDG_CONFIG_HOME
	inside -0
	chmod 0 etc/cordon
	inside -2
	[[ "$output" == *"'/etc/cordon/cordon.toml': Permission denied; it is the ceiling of this machine,"*"root has to make"* ]]
	[[ "$output" != *"name a policy"* ]]
	chmod 755 etc/cordon
	echo >home/.config/cordon/cordon.toml
	chmod 0 home/.config/cordon/cordon.toml
	inside -2
	[[ "$output" == *"/home/.config/cordon/cordon.toml': Permission denied; it is a ceiling, "*"or remove it"* ]]
	chmod 600 home/.config/cordon/cordon.toml
	inside -0
}

@test "caches of the caller are not in the way" {
	export HOME=$BATS_TEST_TMPDIR/cached
	mkdir -p "$HOME/.npm/_cacache/tmp" "$HOME/.cache/go-build/00" "$HOME/.cache/pip/wheels"
	"$cordon" run -- sh -c 'for dir in .npm/_cacache/tmp .cache/go-build/00 .cache/pip/wheels; do
		mkdir -p ~/$dir && touch ~/$dir/made || exit; done'
	[ -z "$(find "$HOME" -name made)" ]
}

@test "denied and protected by a name that is not seen inside" {
	mkdir -p real/x "$BATS_TEST_TMPDIR/by"
	echo secret >s
	echo secret >real/q
	ln -s "$PWD" "$BATS_TEST_TMPDIR/by/link"
	ln -s real/x lx
	by=$BATS_TEST_TMPDIR/by/link
	[ "$(cat "$by/s" lx/../q)" = $'secret\nsecret' ]
	run "$cordon" run --deny "$by/s" --deny "$by/*.pem" --deny lx/../q -- \
		sh -c 'cat s real/q; echo x >n.pem'
	[[ "$output" != *secret* ]]
	[ ! -e n.pem ]
	# HOME by a link, in a policy and as an option.
	# shellcheck disable=SC2088  # cordon expands it
	HOME=$by run "$cordon" run --deny '~/s' -- cat s
	[ "$status" -ne 0 ]
	run "$cordon" run --protect "$by/s" -- sh -c 'echo evil >>s'
	[ "$(cat s)" = secret ]
}

@test "what is named by way of a link has that name inside" {
	top=$BATS_TEST_TMPDIR
	mkdir -p ../sdk-1.2/sub ../store/out ../secret
	echo data | tee ../sdk-1.2/f >../secret/f
	ln -s sdk-1.2 ../first
	ln -s first ../sdk
	ln -s "$top/store" ../kept
	ln -s ../secret escape
	[ "$("$cordon" run -r "$top/sdk" -- cat "$top/sdk/f" "$top/sdk-1.2/f")" = $'data\ndata' ]
	"$cordon" run -w ../kept/out -- sh -c "echo made >$top/kept/out/made"
	[ "$(cat ../store/out/made)" = made ]
	printf '[files]\nread = ["%s/sdk"]\nwrite = ["%s/kept/out"]\n' "$top" "$top" >../policy.toml
	"$cordon" run --policy ../policy.toml --cwd / -- cp "$top/sdk/f" "$top/kept/out/copy"
	[ -e ../store/out/copy ]
	ln -s work ../by
	cd ../by
	"$cordon" run -- touch "$top/by/here"
	[ -e ../work/here ]
	# Nothing else is there, and all that is held stays so.
	[ "$("$cordon" run -r ../sdk/sub -- ls "$top/sdk")" = sub ]
	run "$cordon" run -r ../sdk --deny ../sdk-1.2/f -- cat "$top/sdk/f"
	[ "$status" -ne 0 ]
	run "$cordon" run -w ../kept/out -- touch "$top/kept/out/.envrc"
	[ ! -e ../store/out/.envrc ]
	run "$cordon" run -r ../sdk -- cat escape/f "$top/secret/f"
	[[ "$output" != *data* ]]
}

@test "HOME behind a link" {
	mkdir -p ../var/home/me
	ln -s var/home ../home
	export HOME=$BATS_TEST_TMPDIR/home/me
	printf '[user]\n\tname = me\n\temail = me@example\n' >"$HOME/.gitconfig"
	"$cordon" run -- sh -c 'mkdir -p ~/.cache/x && touch ~/.cache/x/made'
	[ ! -e "$HOME/.cache" ]
	git init -q .
	"$cordon" run -- git commit -q --allow-empty -m one
	[ "$(git log --format=%an)" = me ]
	run "$cordon" run -w "$HOME" -- touch "$HOME/.bashrc"
	[ ! -e "$HOME/.bashrc" ]
}

@test "a HOME that is no folder, one of the system's, or a temporary one" {
	for home in /dev/null /etc/passwd /usr/bin /var/tmp /var/tmp/x; do
		HOME=$home run "$cordon" run -- sh -c 'ls / >/dev/null && echo fine'
		[ "$status" -eq 0 ]
		[[ "$output" == *fine ]]
	done
	HOME=/var/tmp/x run "$cordon" run -- sh -c 'echo x >~/n && echo fine'
	[[ "$output" == *fine ]]
}

@test "everything denied is refused, everything protected is read-only" {
	echo as it was >s
	for path in / //. /tmp/..; do
		run "$cordon" run --deny "$path" -- cat s
		[ "$status" -eq 125 ]
		grep -q "files.deny: '/' would leave nothing" <<<"$output"
	done
	for path in / .. . "$PWD" s; do
		run "$cordon" run --protect "$path" -- sh -c 'echo x >>s'
		[ "$status" -ne 0 ]
	done
	run "$cordon" run --protect .. -- touch made
	[ ! -e made ]
	[ "$(cat s)" = "as it was" ]
}

@test "a writable root inside another one has its own protected names" {
	git init -q sub
	printf '[core]\n\thooksPath = mine\n' >>sub/.git/config
	for name in sub/.git/hooks/pre-commit sub/mine/pre-commit sub/.envrc; do
		run "$cordon" run -w sub -w "$BATS_TEST_TMPDIR/more" -- sh -c \
			"mkdir -p ${name%/*} && echo x >$name"
		[ ! -e "$name" ]
	done
	"$cordon" run -w sub -- sh -c 'cd sub && echo x >file && git add file &&
		git -c user.name=a -c user.email=a@b commit -qm one'
	[ "$(git -C sub log --format=%s)" = one ]
}

@test "a folder that leads to many guarded names can be made and moved" {
	mkdir build
	"$cordon" run -w build -- sh -c 'rm -r build && mkdir build && touch build/made'
	[ -e build/made ]
	mapfile -t many < <(seq -f '--protect=gen/name%g' 1000)
	run "$cordon" run "${many[@]}" -- sh -c 'mkdir -p gen next/name777 && touch gen/made
		touch gen/name1000; rm -r gen; mv next gen'
	[ -d next/name777 ]
	[ ! -e gen ]
	"$cordon" run "${many[@]}" -- sh -c 'mkdir other && mv other gen && mv gen moved'
	[ -d moved ]
	mapfile -t many < <(seq -f '--write=../roots/%g' 20)
	"$cordon" run "${many[@]}" -- sh -c 'for i in ../roots/*; do mkdir $i/made || exit; done'
	[ "$(find ../roots -name made | wc -l)" = 20 ]
	run "$cordon" run "${many[@]}" -- touch ../roots/20/.envrc
	[ ! -e ../roots/20/.envrc ]
}

@test "a policy cannot be changed from inside, wherever --cwd leads" {
	mkdir sub
	printf '[files]\nwrite = ["%s"]\n' "$work" >kept.toml
	cp kept.toml was
	for words in "--cwd sub --policy kept.toml" "--cwd sub --policy ./sub/../kept.toml" \
		"--policy kept.toml"; do
		# shellcheck disable=SC2086 # words
		run -0 "$cordon" run $words -- sh -c \
			"! (echo more >>$work/kept.toml) && ! mv $work/kept.toml $work/gone && touch $work/made"
		cmp kept.toml was
		rm made
	done
}

@test "a writable root that is a file" {
	echo one >../log
	"$cordon" run -w ../log -c 'echo two >>../log'
	"$cordon" run -w ../log -- /usr/bin/python3 -c 'open("../log", "r+").write("ONE")'
	printf '[files]\nwrite = ["%s/log"]\n' "$BATS_TEST_TMPDIR" >../policy.toml
	"$cordon" run --policy ../policy.toml --cwd / -- sh -c "echo three >>$BATS_TEST_TMPDIR/log"
	[ "$(cat ../log)" = $'ONE\ntwo\nthree' ]
	# In another root it can be made anew.
	echo old >log
	"$cordon" run -w log -c 'echo new >log.new && mv log.new log && rm log && echo again >log'
	[ "$(cat log)" = again ]
}

@test "what is denied or protected stays so where a mount of the host shows it again" {
	mkdir -p a/folder second part
	echo secret >a/secret
	echo secret >a/folder/secret
	# Blanks take four letters each where the kernel lists mounts.
	deep=.
	for _ in 1 2 3 4 5 6 7; do deep=$deep/$(printf '%240s' x); done
	mkdir -p "$deep"
	touch file
	cat >script <<-'END'
		mount --bind a second && mount --bind a/folder part && mount --bind a/secret file &&
			mount --bind a "$2" || exit 99
		"$1" run --deny a/secret --deny a/folder -- sh -c \
			'cat a/secret second/secret file a/folder/secret second/folder/secret part/secret; :'
		"$1" run --protect part -- sh -c \
			'for i in part a/folder second/folder; do echo x >$i/new; echo x >$i/secret; done; :'
		"$1" run --deny a/secret -- cat "$2/secret"
		"$1" run --deny a/secret -- cat part/secret
	END
	run -0 unshare --map-root-user --mount sh script "$cordon" "$deep"
	[ "$(printf '%s\n' "${lines[@]}" | grep -cv enied)" = 1 ]
	[ "${lines[-1]}" = secret ]
	[ "$(ls a/folder)" = secret ]
}

@test "what fits a pattern stays closed where a mount of the host shows it by another name" {
	mkdir -p a/.aws view links
	echo secret >a/.aws/credentials
	echo secret >a/.env
	echo free >a/.aws/config
	ln -s ../a/.env links/.env
	touch shown
	cat >script <<-'END'
		mount --bind a/.aws view && mount --bind a/.env shown || exit 99
		"$1" run --deny '**/.aws/credentials' --deny '**/.env' -- sh -c \
			'cat view/config view/credentials shown a/.env links/.env; :'
		"$1" run --protect '**/.env' -- sh -c 'echo x >shown; :'
	END
	run -0 unshare --map-root-user --mount sh script "$cordon"
	[ "${lines[0]}" = free ]
	[ "$(grep -c 'ermission denied' <<<"$output")" = 4 ]
	[ "$(grep -c 'Read-only file system' <<<"$output")" = 1 ]
	[ "$(cat a/.env)" = secret ]
}

@test "file systems of the kernel that the host mounted below a root are not seen" {
	mkdir -p sysroots/ws/rootfs/proc sysroots/ws/rootfs/sys sysroots/ws/over other
	cd sysroots/ws
	touch uptime
	cat >script <<-'END'
		mount --rbind /proc rootfs/proc && mount --rbind /sys rootfs/sys &&
			mount --bind /proc/uptime uptime && mount --rbind /proc over &&
			mount --bind ../../other over || exit 99
		ls rootfs/proc/self/status rootfs/sys/kernel uptime >/dev/null || exit 98
		echo 1 >rootfs/proc/self/oom_score_adj || exit 97
		"$1" run -c 'echo free >over/f; ls rootfs; cat uptime; ls rootfs/proc rootfs/sys
			echo 1 >rootfs/proc/1/oom_score_adj; : >>rootfs/proc/sys/kernel/core_pattern; :'
		cat over/f
		here=$PWD
		cd ../../other
		for root in rootfs/proc/1 uptime; do
			"$1" run -w "$here/$root" -- touch ran
			"$1" run -r "$here/$root" -- touch ran || :
		done
	END
	run -0 unshare --map-root-user --mount sh script "$cordon"
	[ "${lines[0]} ${lines[1]}" = "proc sys" ]
	[ "$(grep -c 'ermission denied' <<<"$output")" = 5 ]
	grep -qx free <<<"$output"
	[ "$(grep -c "rootfs/proc/1' is the kernel's and cannot be a root" <<<"$output")" = 2 ]
	[ "$(grep -c "uptime' is the kernel's and cannot be a root" <<<"$output")" = 2 ]
	[ ! -e ../../other/ran ]
}

@test "what a file .git and the configuration lead git to is held" {
	git init -q "$BATS_TEST_TMPDIR/first"
	git -C "$BATS_TEST_TMPDIR/first" -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
	git clone -q --bare "$BATS_TEST_TMPDIR/first" .bare
	echo 'gitdir: ./.bare' >.git
	git worktree add -q main
	git config core.hooksPath .husky/_
	git config include.path ../shared.conf
	printf '[Include] path = "more.conf" ; and so on\n' >shared.conf
	mkdir -p .husky/_
	for name in .bare/hooks/post-commit .bare/config .bare/worktrees/main/commondir \
		.husky/pre-commit .husky/_/pre-commit shared.conf more.conf .bare/remotes/origin \
		.bare/branches/b; do
		before=$(cat "$name" || true)
		run "$cordon" run -- sh -c 'mkdir -p "${1%/*}"; echo x >>"$1"' x "./$name"
		[ "$status" -ne 0 ]
		[ "$(cat "$name" || true)" = "$before" ]
	done
	# By way of a link, which can be taken away.
	mv shared.conf other.conf
	ln -s other.conf shared.conf
	run "$cordon" run -- sh -c 'rm shared.conf; echo x >shared.conf; echo x >>other.conf'
	[ -L shared.conf ] || [ ! -e shared.conf ]
	[[ "$(cat other.conf)" != *x ]]
	"$cordon" run -- sh -c 'echo y >free && echo y >.bare/description &&
		git -C main -c user.name=a -c user.email=a@b commit -q --allow-empty -m two'
	[ "$(git -C main log --format=%s | head -1)" = two ]
}

@test "a folder that was closed is not taken for one without a policy" {
	mkdir -p ws/sub ws/.harness
	echo SECRET >ws/secret
	for name in .harness/config.toml harness.md cordon.toml; do
		# To root no folder is closed, and this is no text of the others.
		[ "$(id -u)" -ne 0 ] || [ "$name" = cordon.toml ] || continue
		printf '[files]\nwrite = ["."]\ndeny = ["secret"]\n' >ws/$name
		for at in ws ws/sub; do
			run sh -c 'cd "$1" && chmod 600 "$2/ws" && exec "$3" run -- sh -c "$4"' x \
				"$at" "$work" "$cordon" "chmod 700 $work/ws; cat $work/ws/secret"
			chmod 700 ws
			[ "$status" -ne 0 ]
			[[ "$output" != *SECRET* ]]
			[ "$(id -u)" -eq 0 ] || [[ "$output" == *"may be a policy"*"chmod u+rwx"* ]]
		done
		rm ws/$name
	done
}

@test "hooks that a file of several worktrees names are each one's own" {
	mkdir a b
	git init -q a
	git init -q b
	git -C a config include.path ../../shared.conf
	git -C b config include.path ../../shared.conf
	printf '[core]\n\thooksPath = hooks\n' >shared.conf
	for name in a/hooks b/hooks; do
		run "$cordon" run -w . -w a -w b -- mkdir "$name"
		[ "$status" -ne 0 ]
		[ ! -e "$name" ]
	done
}

@test "what a repository above the root names in it is held" {
	git init -q .
	git config core.hooksPath app/hooks
	git config include.path ../app/shared.conf
	mkdir -p app/hooks app/nested/deep other
	printf '[include]\n\tpath = more.conf\n[core]\n\thooksPath = app/gone\n' >app/shared.conf
	ln -s "$work/app" link
	for at in app link; do
		for name in hooks/pre-commit shared.conf more.conf gone/pre-commit; do
			before=$(cat "app/$name" || true)
			run sh -c 'cd "$1" && exec "$2" run -- sh -c "$3" x "$4"' x "$at" "$cordon" \
				'mkdir -p "${1%/*}"; echo x >>"$1"' "./$name"
			[ "$status" -ne 0 ]
			[ "$(cat "app/$name" || true)" = "$before" ]
		done
	done
	# Also where it has one of its own, and only there.
	git init -q app
	run sh -c 'cd app && exec "$1" run -- sh -c "echo free >free; echo x >hooks/pre-commit"' x \
		"$cordon"
	[ ! -e app/hooks/pre-commit ]
	[ -e app/free ]
	git config core.hooksPath other
	run -0 sh -c 'cd app && exec "$1" run --dry-run -- true' x "$cordon"
	[[ "$output" != *"$work/other"* ]]
	# One that a command has closed.
	git config core.hooksPath app/hooks
	"$cordon" run -- chmod 0 .git
	run sh -c 'cd app && exec "$1" run -- sh -c "echo x >hooks/pre-commit"' x "$cordon"
	chmod 755 .git
	[ "$status" -ne 0 ]
	[ ! -e app/hooks/pre-commit ]
}

@test "a folder of git that was closed hides nothing" {
	git init -q .
	git config core.hooksPath .githooks
	mkdir .githooks
	echo 'echo fine' >.githooks/pre-commit
	"$cordon" run -- chmod 0 .git
	run "$cordon" run -- sh -c 'chmod 755 .git; echo "echo EVIL" >>.githooks/pre-commit'
	[ "$status" -ne 0 ]
	[ "$(cat .githooks/pre-commit)" = 'echo fine' ]
	[ "$(id -u)" -eq 0 ] || [[ "$output" == *"'$work/.git/"*"chmod u+rwx"* ]]
	chmod 755 .git
	# Of a worktree, which says where it is.
	git init -q --bare store.git
	mkdir -p wt store.git/worktrees/wt
	echo "gitdir: ../store.git/worktrees/wt" >wt/.git
	echo ../.. >store.git/worktrees/wt/commondir
	cd wt
	"$cordon" run -w .. -w . -- chmod 0 ../store.git
	run "$cordon" run -w .. -w . -- sh -c 'chmod 755 ../store.git; echo x >../store.git/hooks/pre-commit'
	chmod 755 ../store.git
	[ ! -e ../store.git/hooks/pre-commit ]
}

@test "hooks below the home of somebody who is named" {
	home=$(getent passwd "$(id -u)" | cut -d: -f6)
	git init -q .
	git config core.hooksPath "~$(id -un)/hooks-of-nobody"
	run -0 "$cordon" run --dry-run -w . -w "$home" -- true
	[[ "$output" == *" $home/hooks-of-nobody"* ]]
	git config core.hooksPath '~nobody-has-this-name/hooks'
	run -2 "$cordon" run -- touch ran
	[[ "$output" == *"'~nobody-has-this-name/hooks', and /etc/passwd does not say"* ]]
	[ ! -e ran ]
}

@test "a repository without a worktree, of which a part was moved away" {
	git init -q --bare .
	rm config
	"$cordon" run -- sh -c 'mv refs r && mv objects o'
	for act in 'echo x >hooks/pre-receive' 'echo x >config' 'mv HEAD H' 'rm HEAD'; do
		run "$cordon" run -- sh -c "mv r refs; mv o objects; $act"
		[ "$status" -ne 0 ]
	done
	[ ! -e hooks/pre-receive ]
	[ ! -e config ]
	[ -e HEAD ]
}

@test "a configuration of git is read as git reads it" {
	git init -q .
	for text in '\xef\xbb\xbf[core]\nhooksPath = .gh\n' '[core]\nhooksPath = \\\n  .gh\n' \
		'[core]\r\nhooksPath = .g\\\r\nh\r\n' '[core] # "\\\nhooksPath = ".gh" ; x\n' \
		'[a "]#"] b = c\n[core]hooksPath=".\\\ngh"\n'; do
		printf '%b' "$text" >.git/config
		[ "$(git config core.hooksPath)" = .gh ]
		run "$cordon" run -- mkdir .gh
		[ "$status" -ne 0 ]
		[ ! -e .gh ]
	done
	printf '[core]\nhooksPath = " g\\th "\n' >.git/config
	run "$cordon" run -- mkdir "$(git config core.hooksPath)"
	[ "$status" -ne 0 ]
}

@test "a mount of the host shows again what lies in a folder that was closed" {
	mkdir -p a/d view
	echo secret >a/d/secret
	run unshare --user --map-user=1000 --map-group=1000 --keep-caps --mount sh -c '
		mount --bind a/d view && chmod 0 a || exit 0
		setpriv --ambient-caps=-all --inh-caps=-all "$1" run --deny a/d/secret -- cat view/secret
	' x "$cordon"
	chmod 755 a
	[ "$status" -ne 0 ]
	[[ "$output" == *"Permission denied"* ]]
}

@test "what a link in a protected folder leads to is held" {
	git init -q .
	mkdir -p scripts cfg .git/hooks .claude hooks free
	ln -s ../../scripts/pc .git/hooks/pre-commit
	ln -s ../../scripts/none .git/hooks/pre-push
	ln -s ../cfg/step .claude/settings.json
	ln -s s.json cfg/step
	ln -s ../../outside .claude/outside
	ln -s .. .claude/all
	git config core.hooksPath hooks
	ln -s ../scripts/named hooks/post-commit
	for name in scripts/pc cfg/s.json scripts/named "$BATS_TEST_TMPDIR/outside"; do
		echo fine >"$name"
	done
	for act in 'echo x >>.git/hooks/pre-commit' 'echo x >>scripts/pc' 'rm scripts/pc' \
		'mv scripts/pc scripts/pd' 'mv scripts s' 'echo x >.git/hooks/pre-push' \
		'echo x >scripts/none' 'ln free/a scripts/none' 'echo x >>cfg/s.json' \
		'echo x >>.claude/settings.json' 'rm cfg/step' 'echo x >>hooks/post-commit' \
		'echo x >>scripts/named' 'truncate -s 1 scripts/pc' 'truncate -s 1 .git/hooks/pre-commit'; do
		run "$cordon" run -- sh -c "echo x >free/a; $act"
		echo "$act: $status $output"
		[ "$status" -ne 0 ]
	done
	[ "$(cat scripts/pc cfg/s.json scripts/named | sort -u)" = fine ]
	[ ! -e scripts/none ]
	[ -L cfg/step ]
	"$cordon" run -- sh -c 'cat .git/hooks/pre-commit && echo x >scripts/free && echo x >cfg/free'
	[ -e scripts/free ]
	# Also where an earlier command has closed what the folder is in.
	mkdir -p .config/mise
	ln -s ../../scripts/mise .config/mise/config.toml
	"$cordon" run -- chmod 0 .config
	run "$cordon" run -- sh -c 'chmod 755 .config; echo x >>scripts/mise'
	[ "$status" -ne 0 ]
	[ ! -e scripts/mise ]
	chmod 755 .config
	for i in $(seq 1025); do echo "../free/$i .claude/$i"; done | xargs -L 1 ln -s
	run "$cordon" run -- true
	[ "$status" -ne 0 ]
	[[ "$output" == *"over 1024 links in protected folders"*"'$work/.claude'"* ]]
}

@test "links: a folder of hooks that is one, and one that leads nowhere" {
	git init -q .
	rm -r .git/hooks
	mkdir made
	printf '#!/bin/sh\n' >made/pre-commit
	ln -s ../made .git/hooks
	for act in 'echo x >>made/pre-commit' 'echo x >>.git/hooks/pre-commit' \
		'echo x >made/post-commit' 'mv made other' 'ln -sfn /tmp .git/hooks'; do
		run "$cordon" run -- sh -c "$act && echo done"
		[[ "$output" != *done* ]]
	done
	mkdir .claude
	ln -s b .claude/a
	ln -s a .claude/b
	run "$cordon" run -- true
	[ "$status" -eq 2 ]
	[[ "$output" == *"it cannot be told where '$work/.claude/"* ]]
}

@test "what programs run from the home that the machine knows is held" {
	own=$(getent passwd "$(id -u)" | cut -d: -f6)
	own=$(realpath -m "${own:-$HOME}")
	run -0 "$cordon" run --dry-run -w "$own/.config" -- true
	[[ "$output" == *"$own/.config/fish"* ]]
}

@test "--result: a folder in the place of the one that was named" {
	mkdir out
	run "$cordon" run --result out/r.json -- sh -c 'mv out .o; mkdir out; echo "{}" >out/r.json'
	[ "$status" -eq 125 ]
	grep -q -e '--result' <<<"$output"
	[ ! -e .o/r.json ]
}

@test "what nobody reads does not hold up the end" {
	mkfifo pipe
	exec 7<>pipe
	"$cordon" run --output 10M --timeout 500ms --result r.json -- yes >pipe || [ $? -eq 124 ]
	[ "$(/usr/bin/python3 -c 'import json; print(json.load(open("r.json"))["limit"])')" = wall ]
	exec 7>&-
}

@test "a value that is made of what a ceiling does not let in" {
	mkdir -p "$HOME/.config/cordon"
	printf '[env]\npass = ["PATH", "HOME"]\n' >"$HOME/.config/cordon/cordon.toml"
	# shellcheck disable=SC2016
	printf '[env]\nset = { X = "${COMPANY_DATA}" }\n' >cordon.toml
	export COMPANY_DATA=leaked
	run "$cordon" run --policy cordon.toml -- env
	[ "$status" -ne 0 ]
	grep -q 'env.set: X takes \${COMPANY_DATA}' <<<"$output"
	# shellcheck disable=SC2016
	for value in '${:-}${COMPANY_DATA}' '${HOME}${COMPANY_DATA:-}' 'a${NONE:-${COMPANY_DATA}}'; do
		printf '[env]\nset = { X = "%s" }\n' "$value" >cordon.toml
		run "$cordon" run --policy cordon.toml -- env
		[ "$status" -ne 0 ]
		[[ "$output" != *leaked* ]]
	done
	# shellcheck disable=SC2016
	printf '[env]\nset = { X = "at ${HOME:-none}" }\n' >cordon.toml
	run "$cordon" run --policy cordon.toml -- sh -c 'echo "$X"'
	[ "$output" = "at $HOME" ]
}

@test "a program that starts others does not have its memory twice" {
	run "$cordon" run --memory 64M --block-command "rm -rf /" --json -- python3 -c '
import subprocess
x = bytearray(45 << 20)
for i in range(40):
    subprocess.run(["/bin/true"])'
	json "d['exit_code'] == 0 and not d['oom_killed']"
}

@test "what the guard does for a command is the command's CPU time" {
	run "$cordon" run --cpu-seconds 1 --timeout 60 --json -- python3 -c '
import os
os.mkdir("big")
for i in range(20000):
    os.close(os.open("big/%d" % i, os.O_CREAT | os.O_WRONLY))
while True:
    os.rename("big", ".git")
    os.rename(".git", "big")'
	json "d['limit'] == 'cpu' and d['cpu_ms'] >= 1000"
}

@test "names that are too long to be guarded are refused before anything runs" {
	local deep long
	deep=$(printf 'd/%.0s' {1..70})
	long=$(printf 'x%.0s' {1..300})
	mkdir -p "$deep"
	for options in "-w $deep" "--protect $long" "--protect **/$long" "-r $long"; do
		# shellcheck disable=SC2086
		run "$cordon" run $options -- sh -c 'echo ran; : > made'
		[ "$status" -eq 125 ]
		[[ "$output" == *"cannot be guarded"* ]]
		[[ "$output" != *ran* ]]
	done
}

@test "links to /dev/null in place of what is closed or held do not close it" {
	for name in .bash_history .python_history .bashrc .gitconfig; do
		ln -s /dev/null "$name"
	done
	ln -s /dev/null log
	HOME=$PWD run "$cordon" run --deny log -- sh -c '
		echo x >/dev/null && cat /dev/null .bashrc && echo fine
		rm -f .bash_history .bashrc; echo x >n; mv n .gitconfig'
	[[ "$output" == fine* ]]
	for name in .bash_history .bashrc .gitconfig; do
		[ "$(readlink "$name")" = /dev/null ]
	done
}

@test "what is renamed elsewhere meanwhile does not keep links from being held" {
	mkdir -p v w other
	for i in {1..60}; do
		echo secret >"v/$i"
		ln -s "../w/$i" "v/l$i"
		ln -s "../v/$i" "w/$i"
	done
	/usr/bin/python3 -c 'import os, time
open("other/a", "w").close()
end = time.monotonic() + 20
while time.monotonic() < end and not os.path.exists("end"):
    for i in range(200):
        os.rename("other/a", "other/b")
        os.rename("other/b", "other/a")' &
	renamer=$!
	soon test -e other/a
	for _ in 1 2 3; do
		run "$cordon" run --deny 'v/l*' -- sh -c 'cat v/*; rm -f v/* w/*'
		[[ "$output" != *cordon:* ]]
		[[ "$output" != *secret* ]]
		[ "$(find v w | wc -l)" -eq 182 ]
	done
	touch end
	wait "$renamer"
}

@test "what variables of the caller's move into a root is held and closed" {
	mkdir -p conf/gh conf/git cargo zsh
	echo token | tee conf/gh/hosts.yml cargo/credentials.toml >gitconf
	cp -r . "$BATS_TEST_TMPDIR/outside"
	export XDG_CONFIG_HOME=$work/conf ZDOTDIR=$work/zsh CARGO_HOME=$work/cargo
	export GIT_CONFIG_GLOBAL=$work/gitconf
	for act in 'cat conf/gh/hosts.yml' 'cat cargo/credentials.toml' 'echo x >conf/git/config' \
		'mkdir conf/fish' 'echo x >zsh/.zshrc' 'echo x >>gitconf' 'mv conf other'; do
		run -0 sh -c "cd '$BATS_TEST_TMPDIR/outside' && $act"
		run "$cordon" run -c "$act"
		[ "$status" -ne 0 ]
		[ "$output" != token ]
	done
	run -0 "$cordon" run -c 'cat gitconf; echo x >conf/x; echo x >cargo/x; rm conf/x'
}

@test "the links that lead to such a folder, and to HOME, stay what they are" {
	mkdir -p real zreal home away
	ln -s real step
	ln -s step conf
	ln -s "$work/zreal" zsh
	ln -s /usr far
	echo x >gitconf
	ln -s gitconf gitlink
	ln -s home h
	cp -r . "$BATS_TEST_TMPDIR/outside"
	export XDG_CONFIG_HOME=$work/conf ZDOTDIR=$work/zsh CARGO_HOME=$work/far
	export GIT_CONFIG_GLOBAL=$work/gitlink
	for link in conf step zsh far gitlink h; do
		run -0 sh -c "cd '$BATS_TEST_TMPDIR/outside' && ln -sfn away $link && rm $link"
		for act in "ln -sfn away $link" "rm $link" "mv $link away"; do
			HOME=$work/h run "$cordon" run -c "$act"
			[ "$status" -ne 0 ]
			[ -L "$link" ]
		done
	done
	HOME=$work/h run -0 "$cordon" run -c 'echo x >conf/x; echo x >h/x; cat real/x home/x'
}

# Takes each of the links given, of the folder `work`, away inside, which must fail.
links_stay() {
	for link in "$@"; do
		run -0 sh -c "cd '$BATS_TEST_TMPDIR/outside' && rm $link && mkdir $link"
		run "$cordon" run "${options[@]}" -c "rm $link && mkdir $link"
		[ "$status" -ne 0 ]
		[ -L "$link" ]
	done
}

@test "links on the way to keys that a variable names, and to a HOME, stay what they are" {
	mkdir -p keys home
	ln -s keys gpg
	ln -s gone az
	ln -s home h
	cp -r . "$BATS_TEST_TMPDIR/outside"
	options=()
	GNUPGHOME=$work/gpg AZURE_CONFIG_DIR=$work/az links_stay gpg az
	# Keys are closed whatever is protected.
	printf '[files]\nprotect = []\n' >"$BATS_TEST_TMPDIR/p.toml"
	options=(--policy "$BATS_TEST_TMPDIR/p.toml" --write "$work")
	HOME=$work/h links_stay h
	# What the policy names is seen by that name as well.
	mkdir -p "$BATS_TEST_TMPDIR/far/.ssh"
	echo host >"$BATS_TEST_TMPDIR/far/.ssh/config"
	ln -sfn "$BATS_TEST_TMPDIR/far" h
	HOME=$work/h run -0 "$cordon" run "${options[@]}" --read "$work/h/.ssh" -c 'cat h/.ssh/config'
	[ "$output" = host ]
	HOME=$work/h run "$cordon" run "${options[@]}" -c 'rm h'
	[ "$status" -ne 0 ]
}

@test "links in a root behind those of HOME, and of a folder elsewhere, stay what they are" {
	export HOME=$BATS_TEST_TMPDIR/home
	away=$BATS_TEST_TMPDIR/away
	mkdir -p "$HOME" "$away" v2 keys fish gh x
	ln -s v2 current
	ln -s keys kk
	ln -s "$work/current/vimrc" "$HOME/.vimrc"
	ln -s "$work/kk" "$HOME/.gnupg"
	ln -s "$work/fish" "$work/gh" "$away"
	echo token | tee gh/hosts.yml >v2/vimrc
	# Out of the root and back.
	ln -s "$work/x" "$HOME/x"
	ln -s "$HOME/x" .vscode
	cp -r . "$BATS_TEST_TMPDIR/outside"
	options=()
	export XDG_CONFIG_HOME=$away
	links_stay current kk
	for act in 'echo x >current/vimrc' 'echo x >v2/vimrc' 'echo x >fish/config.fish' \
		'cat gh/hosts.yml' 'echo x >x/tasks.json'; do
		run -0 sh -c "cd '$BATS_TEST_TMPDIR/outside' && $act"
		run "$cordon" run -c "$act"
		[ "$status" -ne 0 ]
		[ "$output" != token ]
	done
	[ -z "$(cat fish/* x/* 2>/dev/null)" ]
	run -0 "$cordon" run -c 'echo x >v2/free; cat current/free'
}

@test "links in a root on the way to what the policy closes or keeps stay what they are" {
	away=$BATS_TEST_TMPDIR/away
	mkdir -p "$away" v2
	ln -s v2 current
	ln -s v2 second
	echo secret | tee v2/s >v2/k
	ln -s "$work/current/s" "$work/second/k" "$away"
	cp -r . "$BATS_TEST_TMPDIR/outside"
	options=(--deny "$away/s" --protect "$away/k")
	links_stay current second
	for act in 'cat v2/s' 'echo x >v2/k'; do
		run "$cordon" run "${options[@]}" -c "$act"
		[ "$status" -ne 0 ]
		[ "$output" != secret ]
	done
	run -0 "$cordon" run "${options[@]}" -c 'echo x >current/free; cat second/free second/k'
}

@test "links in a root on the way to what git runs stay what they are" {
	away=$BATS_TEST_TMPDIR/away
	mkdir -p "$away" v2/hooks
	ln -s v2 current
	ln -s "$away" tools
	touch "$away/hook"
	git init -q --separate-git-dir="$work/v2/repo.git" .
	echo 'gitdir: current/repo.git' >.git
	# A hook that is no file of the root's, and hooks that a name outside leads to.
	ln -s "$work/tools/hook" v2/repo.git/hooks/pre-commit
	ln -s v2 second
	ln -s "$work/second/hooks" "$away/hooks"
	git config core.hooksPath "$away/hooks"
	cp -r . "$BATS_TEST_TMPDIR/outside"
	options=()
	links_stay current tools second
	run -0 "$cordon" run -c 'echo x >v2/free; cat current/free second/free'
}

# bats test_tags=root-only
@test "a folder that is closed to init is no reason to leave a mask out" {
	[ "$(id -u)" -eq 0 ] || skip "only root gives a folder to a group that is not its own"
	mkdir -p a/b
	echo secret >a/b/s
	chgrp -R 12345 a
	"$cordon" run --deny a/b/s -- chmod 0 a
	run "$cordon" run --deny a/b/s -- sh -c 'chmod 755 a; cat a/b/s'
	[ "$status" -eq 125 ]
	[[ "$output" == *"'$work/a/b/s' cannot be held"* ]]
	chmod 755 a
	run "$cordon" run --deny a/b/s -- cat a/b/s
	[ "$status" -eq 1 ]
	[[ "$output" == *"Permission denied"* ]]
}

@test "what a command writes to its input is not taken for the result" {
	run /usr/bin/python3 - "$cordon" <<'PY'
import json, socket, subprocess, sys
ours, theirs = socket.socketpair()
forge = "import os; os.write(0, b'{\"exit_code\":0}\\n')"
p = subprocess.Popen([sys.argv[1], "run", "--json", "--", "python3", "-c", forge],
                     stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
theirs.close()
p.wait()
said = ours.makefile().read().splitlines()
assert len(said) == 1, said
assert len(json.loads(said[0])["run_id"]) == 16, said
PY
	[ "$status" -eq 0 ]
}

@test "a denied file that the host replaces meanwhile stops nothing" {
	touch denied
	/usr/bin/python3 -c 'import os
while True:
    os.close(os.open("new", os.O_CREAT | os.O_WRONLY))
    os.rename("new", "denied")' &
	replacer=$!
	for _ in $(seq 60); do
		"$cordon" run --deny denied -- true || break
	done
	good=$?
	kill "$replacer"
	[ "$good" -eq 0 ]
}

@test "a hundred megabytes through pipes, byte for byte" {
	head -c 104857600 /dev/urandom >big
	want=$(sha256sum <big)
	[ "$("$cordon" run -- cat <big | sha256sum)" = "$want" ]
	# shellcheck disable=SC2002
	[ "$(cat big | "$cordon" run -- cat | sha256sum)" = "$want" ]
	# Counted, and so through the supervisor.
	[ "$("$cordon" run --output 1G -- cat big | sha256sum)" = "$want" ]
}

@test "every byte comes through untouched, and JSON stays JSON" {
	/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 16)' >all
	"$cordon" run -- cat <all >copy
	cmp all copy
	"$cordon" run -- sh -c 'cat >&2' <all 2>copy
	cmp all copy
	run "$cordon" run --json -- cat all
	json "len(d['stdout']) >= 4096 and '\x00' in d['stdout']"
	run "$cordon" run --json -- printf 'grüße\n'
	json "d['stdout'] == 'grüße\n'"
}

@test "a large output is captured whole" {
	"$cordon" run --json -- sh -c 'yes 123456789 | head -c 20000000; echo end >&2' >result
	output=$(/usr/bin/python3 -c "
import json
d = json.load(open('result'))
print(len(d['stdout']), d['stderr'].strip(), d['stdout_truncated'])")
	[ "$output" = "20000000 end False" ]
}

@test "a result is told, however large the output" {
	code=0
	"$cordon" run --json -c 'head -c 190M /dev/zero; exit 7' >result || code=$?
	[ "$code" -eq 7 ]
	tail -c 500 result | grep -q '"stdout_truncated":false'
	# Without the memory for all of it, a part is told.
	code=0
	(ulimit -v 700000 && "$cordon" run --json -c 'head -c 100M /dev/zero; exit 7') >result || code=$?
	[ "$code" -eq 7 ]
	tail -c 500 result | grep -q '"stdout_truncated":true'
	rm result
}

@test "arguments come through untouched" {
	"$cordon" run -- printf '%s|' a '' 'b c' $'new\nline' 'ü' $'\xff\xfe' '*' '--' -x >got
	printf '%s|' a '' 'b c' $'new\nline' 'ü' $'\xff\xfe' '*' '--' -x >want
	cmp got want
	run -127 "$cordon" run --json -- "/no/"$'\xff\n"'
	[ "$status" -eq 127 ]
	json "d['error']['message'].startswith('/no/')"
}

@test "long argument lists and environments" {
	[ "$("$cordon" run -- /bin/echo $(seq 1 20000) | wc -w)" -eq 20000 ]
	# shellcheck disable=SC2155
	local big=$(head -c 120000 /dev/zero | tr '\0' a)
	[ "$(BIG=$big "$cordon" run --env BIG -- sh -c 'echo ${#BIG}')" -eq 120000 ]
	run /usr/bin/python3 - "$cordon" <<-'P'
		import resource, subprocess, sys
		# Inside the stack is the caller's, too: what fits here may not there.
		words = ["x" * 100000] * 19
		command = [sys.argv[1], "run", "--env", "A=" + "b" * 130000, "--", "/bin/true"]
		r = subprocess.run(command + words, capture_output=True, text=True)
		print(r.returncode, r.stderr[:200])
	P
	[[ "$output" == "0 " || "$output" == *"Argument list too long"* ]]
}

@test "closed, odd and missing streams" {
	# Not `run ... <&-`: bash would give the number to a pipe of its own.
	run bash -c "'$cordon' run -- cat <&-"
	[ "$status" -eq 1 ]
	run "$cordon" run -- cat </dev/null
	[ "$status" -eq 0 ]
	run bash -c "'$cordon' run -- /bin/echo hi >&-"
	[ "$status" -eq 1 ]
	run bash -c "'$cordon' run -- true <&- >&- 2>&-"
	[ "$status" -eq 0 ]
	run "$cordon" run -- cat </
	[ "$status" -eq 125 ]
	grep -q directory <<<"$output"
	# What the kernel made for somebody acts with the rights of that one.
	for kind in 'os.pidfd_open(os.getpid())' 'os.eventfd(0)'; do
		run /usr/bin/python3 -c "import os, subprocess
subprocess.run(['$cordon', 'run', '--', 'true'], stdin=os.dup($kind), check=True)"
		[ "$status" -eq 1 ]
		grep -q 'no file at all' <<<"$output"
	done
	# Memory of another process, through us: what can be read there, no more.
	run /usr/bin/python3 -c "import os, subprocess
print(subprocess.run(['$cordon', 'run', '--', 'readlink', '/proc/self/fd/0'],
                     stdin=os.open('/proc/self/mem', os.O_RDWR), stdout=subprocess.PIPE).stdout)"
	grep -q pipe: <<<"$output"
	run bash -c "'$cordon' run --json -- true >&-"
	[ "$status" -eq 125 ]
	run bash -c "'$cordon' run -- echo hi >/dev/full"
	[ "$status" -ne 0 ]
}

@test "a socket as standard input" {
	run /usr/bin/python3 - "$cordon" <<-'P'
		import socket, subprocess, sys
		for make in (lambda: socket.socketpair(),
		             lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)):
		    a, b = make()
		    p = subprocess.Popen([sys.argv[1], "run", "--", "cat"], stdin=b,
		                         stdout=subprocess.PIPE)
		    b.close()
		    a.sendall(b"through")
		    a.close()
		    print(p.communicate()[0].decode(), p.returncode)
		s = socket.create_server(("127.0.0.1", 0))
		c = socket.create_connection(s.getsockname())
		d, _ = s.accept()
		p = subprocess.Popen([sys.argv[1], "run", "--", "cat"], stdin=d,
		                     stdout=subprocess.PIPE)
		d.close()
		c.sendall(b"tcp")
		c.close()
		print(p.communicate()[0].decode(), p.returncode)
	P
	[ "$output" = $'through 0\nthrough 0\ntcp 0' ]
}

@test "sockets as standard streams: what is inside is of no network but its own" {
	cat >look.py <<-'P'
		import fcntl, socket, struct
		for fd in range(3):
		    with open(fd, "rb", closefd=False) as f:
		        assert f.name == fd
		    try:
		        fcntl.ioctl(fd, 0x8912, struct.pack("iL", 0, 0))	# SIOCGIFCONF
		        print("a socket:", fd)
		    except OSError:
		        pass
	P
	cat >give.py <<-'P'
		import socket, subprocess, sys
		pairs = [socket.socketpair() for _ in range(3)]
		p = subprocess.Popen(sys.argv[1:], **{name: theirs for name, (_, theirs) in
		                     zip(("stdin", "stdout", "stderr"), pairs)})
		for _, theirs in pairs:
		    theirs.close()
		print([ours.makefile().read() for ours, _ in pairs[1:]], p.wait())
	P
	run /usr/bin/python3 give.py /usr/bin/python3 look.py
	[[ "$output" == *"a socket: 0"*"a socket: 1"*"a socket: 2"* ]]
	run /usr/bin/python3 give.py "$cordon" run -- /usr/bin/python3 look.py
	[ "$output" = "['', ''] 0" ]
	run /usr/bin/python3 give.py "$cordon" run -- sh -c 'echo out; echo err >&2; exit 3'
	[ "$output" = "['out\\n', 'err\\n'] 3" ]
}

@test "a reader that goes away" {
	run bash -c "'$cordon' run -- yes | head -1; echo \${PIPESTATUS[0]}"
	[ "$output" = $'y\n141' ]
	run bash -c "'$cordon' run --output 1G -- yes | head -1; echo \${PIPESTATUS[0]}"
	[ "$output" = $'y\n141' ]
	inner='trap "" PIPE; yes 2>/dev/null; echo last >&2'
	run bash -c "'$cordon' run -- sh -c '$inner' | head -1"
	# head closes its end before it writes what it has read: either may come first.
	[ "$(sort <<<"$output")" = $'last\ny' ]
}

@test "a file that takes no more of the output is told, and takes no result along" {
	run -125 --separate-stderr bash -c 'ulimit -f 10 && "$@" >f' - "$cordon" run --audit /dev/null \
		--output 1M --result r.json -c 'trap "" PIPE; head -c 100000 /dev/zero 2>&-; exit 0'
	[ "$stderr" = "cordon: not all of the command's output could be written: File too large" ]
	[ "$(stat -c %s f)" = 10240 ]
	grep -q '"exit_code":0,.*"stdout_truncated":true,"stderr_truncated":false' r.json
	run -125 --separate-stderr bash -c 'ulimit -f 10 && "$@" >f' - "$cordon" run --audit /dev/null \
		--json -- head -c 100000 /dev/zero
	[ "$stderr" = "cordon: cannot write the answer" ]
	# The command has the caller's own idea of that signal.
	ignored=$(awk '/SigIgn/ { print $2 }' /proc/self/status)
	[ "$("$cordon" run -- awk '/SigIgn/ { print $2 }' /proc/self/status)" = "$ignored" ]
}

@test "a thousand open descriptors do not come in" {
	run bash -c "for i in {10..1000}; do eval \"exec \$i</dev/null\" || exit 77; done
		'$cordon' run -- sh -c 'ls /proc/self/fd | wc -l'"
	[ "$status" -ne 77 ] || skip "this shell cannot open as many"
	[ "$output" -eq 4 ]
}

@test "--json and --result: the same result in both places" {
	run --separate-stderr "$cordon" run --json --result r.json -- sh -c 'echo out; exit 3'
	[ "$status" -eq 3 ]
	[ "$output" = "$(cat r.json)" ]
	json "d['stdout'] == 'out\n' and d['exit_code'] == 3"
}

@test "a refused run tells what was asked for" {
	for row in "wasi process --profile wasi" "worktree docker --sandbox docker"; do
		read -r profile backend words <<<"$row"
		# shellcheck disable=SC2086
		run "$cordon" run --json $words -- true
		[ "$status" -eq 125 ]
		json "d['profile'] == '$profile' and d['backend'] == '$backend'"
		json "d['enforced'] == [] and d['processes_peak'] == 0"
	done
}

@test "too few open files to start with are named" {
	for n in 3 8; do
		run "$cordon" run --open-files $n --block-command 'rm -rf /' -- true
		[ "$status" -eq 125 ]
		[ "$output" = \
			"cordon: limits.open_files = $n is not enough to start a command; allow 32" ]
	done
	run -0 "$cordon" run --open-files 32 --allow-host a.example --block-command 'rm -rf /' -- true
}

@test "--no-sandbox that a ceiling forbids neither warns nor is advised" {
	mkdir -p "$HOME/.config/cordon"
	printf 'profile = "os_hardened"\n' >"$HOME/.config/cordon/cordon.toml"
	export XDG_CONFIG_HOME=$HOME/.config
	run "$cordon" run --no-sandbox -- touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	grep -q 'the profile is os_hardened (.*/cordon.toml:1:11); use --sandbox process' <<<"$output"
	run ! grep -e 'warning' -e 'use --no-sandbox' <<<"$output"
}

@test "--no-sandbox keeps nothing that a ceiling asks for, and is refused" {
	mkdir -p "$HOME/.config/cordon"
	export XDG_CONFIG_HOME=$HOME/.config
	ceiling=$HOME/.config/cordon/cordon.toml
	for asked in 'files.deny = ["/srv"]' 'files.write = []' 'files.read = ["/usr"]' \
		'network.deny = ["a.example"]' 'limits.memory = "1G"' \
		'limits.processes = 9' 'limits.disk = "1G"' 'commands.block = ["id"]' \
		'files.presets = []' 'files.presets = ["system_runtime"]' 'files.sockets = []' \
		'processes.debug = false' 'network.udp_allow = []' 'network.host_ports = [80]' \
		'network.expose = []' 'network.tls = "strict"' \
		'network.connections = 3'; do
		echo "$asked" >"$ceiling"
		run -125 "$cordon" run --no-sandbox -- touch ran
		[[ "$output" == *"backend none does not enforce ${asked%% *}, which a ceiling \
sets ($ceiling:1:"*"); use --sandbox process"* ]]
		[ ! -e ran ]
	done
	# Backend none enforces these.
	cat >"$ceiling" <<-'END'
		[limits]
		timeout = "9s"
		open_files = 40
		[env]
		strip = ["A"]
	END
	run -0 "$cordon" run --no-sandbox -- touch ran
	# The project is below the operator's word.
	rm "$ceiling"
	printf '[files]\ndeny = ["/srv"]\n[limits]\nmemory = "1G"\n' >p.toml
	run -0 "$cordon" run --policy p.toml --no-sandbox -- true
}

@test "links in the workspace on the way to a ceiling are held" {
	export XDG_CONFIG_HOME=$HOME/config
	mkdir -p "$XDG_CONFIG_HOME/cordon" a real/cordon
	printf '[commands]\nblock = ["id"]\n' >real/cordon/cordon.toml
	ln -s ../b a/link
	ln -s real/cordon/cordon.toml b
	ln -s "$work/a/link" "$XDG_CONFIG_HOME/cordon/cordon.toml"
	for act in 'rm a/link' 'mv a other' 'rm b' 'ln -sfn /dev/null b' 'mv real other'; do
		run "$cordon" run -c "$act"
		[ "$status" -ne 0 ]
		run "$cordon" run -- id
		[ "$status" -eq 126 ]
	done
	# By a folder that is a link, beside which others can be made.
	rm -r "$XDG_CONFIG_HOME"
	ln -s real folder
	ln -s "$work/folder" "$XDG_CONFIG_HOME"
	for act in 'rm folder' 'ln -sfn /tmp folder' 'mv real other'; do
		run "$cordon" run -c "$act"
		[ "$status" -ne 0 ]
		run "$cordon" run -- id
		[ "$status" -eq 126 ]
	done
	run -0 "$cordon" run -c 'echo x >folder/x; rm real/x; ln -s b c; rm c'
}

@test "a ceiling that is a link to nothing stops the run" {
	mkdir -p "$HOME/.config/cordon"
	ln -s gone.toml "$HOME/.config/cordon/cordon.toml"
	unset XDG_CONFIG_HOME
	run "$cordon" run -- touch ran
	[ "$status" -eq 2 ]
	[ ! -e ran ]
	grep -q "cannot open '.*/.config/cordon/cordon.toml': No such file" <<<"$output"
}

@test "what is required holds whatever backend is asked for" {
	mkdir -p "$HOME/.config/cordon"
	printf 'require = ["namespaces"]\n' >"$HOME/.config/cordon/cordon.toml"
	export XDG_CONFIG_HOME=$HOME/.config
	run "$cordon" run --no-sandbox -- touch ran
	[ "$status" -eq 125 ]
	[ "$output" = "cordon: the policy requires namespaces, but backend none enforces nothing; use \
--sandbox process" ]
	[ ! -e ran ]
	run -0 "$cordon" run -- true
}

@test "--result: what an earlier run left is not taken for that of one that did not start" {
	printf '[network]\nmode = "pubic"\n' >bad.toml
	for words in "--policy bad.toml" "--cwd /nonexistent"; do
		"$cordon" run --result r.json -- true
		# shellcheck disable=SC2086
		run -2 "$cordon" run $words --result r.json -- true
		[ ! -e r.json ]
	done
	"$cordon" run --result r.json -- true
	"$cordon" run --dry-run --result r.json -- true >/dev/null
	[ -s r.json ]
	# A link, and what it leads to, are no result.
	ln -s r.json link
	run -2 "$cordon" run --policy bad.toml --result link -- true
	[ ! -e link ]
	[ -s r.json ]
}

@test "--result: streams pass, the file is whole" {
	run "$cordon" run --result r.json -- sh -c 'echo out; echo err >&2; exit 3'
	[ "$status" -eq 3 ]
	[ "$output" = $'out\nerr' ]
	output=$(cat r.json)
	json "d['exit_code'] == 3 and d['stdout'] == '' and d['enforced'] and d['duration_ms'] >= 0"
	# A link left behind is replaced, not followed; nor can the file be forged.
	echo precious >precious
	"$cordon" run --result r2.json -- sh -c 'ln -s precious r2.json'
	[ "$(cat precious)" = precious ]
	[ ! -L r2.json ]
	"$cordon" run --result r3.json -- sh -c 'echo forged >r3.json; chmod 0 r3.json'
	output=$(cat r3.json)
	json "d['exit_code'] == 0"
	# Nor by keeping us from writing it: as a name that could be known, in a closed folder.
	mkdir closed
	cd closed || return
	run -7 bash -c "echo \$\$ >pid; exec '$cordon' run --result r.json -- sh -c '
		echo forged >r.json; mkdir .cordon-result-\$(cat pid); chmod 500 .; exit 7'"
	output=$(cat r.json)
	json "d['exit_code'] == 7"
	run -125 "$cordon" run --result r.json -- sh -c 'rm r.json; mkdir -p r.json/x; exit 7'
	cd ..
	"$cordon" run --result /dev/stderr -- true 2>r4.json
	output=$(cat r4.json)
	json "d['exit_code'] == 0"
	# One that an earlier command left does not hold it up.
	mkfifo r5.json
	run ! timeout 20 "$cordon" run --result r5.json -- touch ran
	[[ "$output" == *"a pipe that is read, not 'r5.json'"* ]]
	[ ! -e ran ]
	exec 5<>r5.json
	"$cordon" run --result r5.json -- true
	read -r output <&5
	json "d['exit_code'] == 0"
	# Nor when nobody takes out what is in it.
	dd if=/dev/zero of=r5.json bs=4096 oflag=nonblock 2>/dev/null || true
	run -125 timeout 60 "$cordon" run --result r5.json -- touch ran
	exec 5>&-
	[[ "$output" == *"r5.json"* ]]
	[ -e ran ]
	# Or whoever read it goes away.
	(exec 5<>r5.json && touch reads && soon test -e runs) &
	soon test -e reads
	run -125 timeout 60 "$cordon" run --result r5.json -- sh -c 'touch runs; sleep 1'
	[[ "$output" == *"r5.json"* ]]
}

@test "the caller's own limit of a file's size does not end the guard" {
	set_size='import os
open("f", "w").close()
try:
    os.truncate("f", 1 << 20)
except OSError as e:
    print(e.errno)
open("later", "w").close()'
	(ulimit -Sf 100 && "$cordon" run -- /usr/bin/python3 -c "$set_size")
	[ "$(stat -c %s f)" = 1048576 ]
	rm f later
	run -0 bash -c 'ulimit -f 100 && "$@"' - "$cordon" run -- /usr/bin/python3 -c "$set_size"
	[[ "$output" == *27* ]]
	[ -e later ]
}

@test "sockets that hold little are not taken for full" {
	cat >idle.py <<-'P'
		import socket, time
		def full(kind):
		    pair = socket.socketpair(socket.AF_UNIX, kind)
		    pair[0].send(b"x")
		    return pair
		keep = [full(k) for k in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET) for i in range(200)]
		keep += [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in range(40)]
		here = socket.socket(socket.AF_UNIX)
		here.bind("\0here")
		here.listen(200)
		for i in range(200):
		    keep.append(socket.socket(socket.AF_UNIX))
		    keep[-1].connect("\0here")
		time.sleep(1)
		print(len(keep))
	P
	run -0 "$cordon" run -m 100M -- /usr/bin/python3 idle.py
	[ "$output" = 640 ]
}

@test "descriptors that a command has on their way do not end the guard" {
	fill='import array, socket
def fill(there=array.array("i", [0] * 250)):
    while True:
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        a.setblocking(False)
        kept.extend((a, b))
        try:
            while True:
                a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, there)])
        except BlockingIOError:
            pass
kept = []
for name in "full", "later":
    try:
        if not kept:
            fill()
    except OSError as e:
        print(e.errno)
    try:
        open(name, "w").close()
    except OSError as e:
        print(e.errno)
    for s in kept:
        s.close()'
	run -0 bash -c 'ulimit -Sn 1024 && "$@"' - "$cordon" run -- /usr/bin/python3 -c "$fill"
	[ "$output" = 109 ]
	[ -e full ]
	rm full later
	run -0 bash -c 'ulimit -n 1024 && "$@"' - "$cordon" run -- /usr/bin/python3 -c "$fill"
	[ "$output" = 109$'\n'109 ]
	[ -e later ]
}

@test "every key of the result is there" {
	run "$cordon" run --json -- true
	json "set(d) == set('''run_id exit_code signal timed_out oom_killed limit blocked error
		stdout stderr stdout_truncated stderr_truncated duration_ms cpu_ms max_rss_kb
		processes_peak backend profile enforced missing denials'''.split())"
	json "d['backend'] == 'process' and d['profile'] == 'worktree' and 'net' in d['enforced']"
	json "not set(d['enforced']) & set(d['missing'])"
}

@test "the most processes of a short run are counted" {
	run "$cordon" run --json -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.5 & done; wait'
	[ "$status" -eq 0 ]
	json "d['processes_peak'] == 9"
}

@test "--dry-run prints and runs nothing" {
	run "$cordon" run --dry-run -c 'echo ran >ran'
	[ "$status" -eq 0 ]
	grep -q 'namespace' <<<"$output"
	[ ! -e ran ]
}

@test "--cwd" {
	mkdir -p sub/deep
	[ "$("$cordon" run --cwd "$work/sub" -- pwd)" = "$work/sub" ]
	[ "$("$cordon" run --cwd sub/deep -- pwd)" = "$work/sub/deep" ]
	[ "$("$cordon" run --cwd /usr -- pwd)" = /usr ]
	[ "$("$cordon" run --cwd / -- pwd)" = / ]
	# Where it works is no root because of that.
	run -0 "$cordon" run --cwd sub -- sh -c 'touch here ../above && ls ..'
	[ "$output" = $'above\nsub' ]
	[ -e sub/here ]
}

@test "--cwd opens nothing, and finds no policy" {
	mkdir ../other
	echo secret >../other/key
	printf '[network]\nmode = "public"\n' >../other/cordon.toml
	for other in ../other "$BATS_TEST_TMPDIR/other"; do
		run -125 "$cordon" run --cwd "$other" -- sh -c 'cat key; touch made'
		[[ "$output" == *"is not inside the cordon"*"--write"* ]]
	done
	# Of what leads to a root only that is shown.
	[ "$("$cordon" run --cwd .. -- sh -c 'ls && touch made')" = work ]
	[ ! -e ../other/made ] && [ ! -e ../made ]
	# A link to it is no other thing.
	ln -s ../other link
	run -125 "$cordon" run --cwd link -- cat key
	# What it may be is named.
	[ "$("$cordon" run --cwd ../other -r ../other -- cat key)" = secret ]
	"$cordon" run --cwd ../other -w ../other -- touch made
	[ -e ../other/made ]
	run -0 "$cordon" run --dry-run --cwd ../other -w ../other -- true
	[[ "$output" != *public* ]]
	# From the outside of all roots with a root by name.
	(cd / && "$cordon" run --cwd "$work" -w "$work" -- touch again)
	[ -e again ]
}

@test "a working directory that is gone" {
	mkdir gone
	cd gone
	rmdir ../gone
	run "$cordon" run -- true
	[ "$status" -eq 2 ]
	grep -q 'current directory' <<<"$output"
}

@test "a policy of Harn's that lets nothing start names the field" {
	printf '{"side_effect_level": "none"}' >level.json
	printf '{"capabilities": {"workspace": ["read_text"]}}' >capabilities.json
	printf '{"capabilities_restricted": true}' >restricted.json
	for policy in level capabilities restricted; do
		run "$cordon" run --policy $policy.json -- true
		[ "$status" -eq 126 ]
		[[ "$output" == *"$policy.json:1:"*" lets no process start"* ]]
		[[ "$output" == *"Command blocked by sandbox policy"* ]]
	done
	run "$cordon" check level.json
	[ "$status" -eq 0 ]
	[[ "$output" == "level.json:1:23: warning: side_effect_level lets no process start"* ]]
}

@test "the environment: credentials are left out where everything is passed on" {
	secrets="FAL_KEY QIANFAN_AK QIANFAN_SK OCTOAI_TOKEN MODAL_TOKEN_ID COPILOT_TOKEN
		SYSTEM_ACCESSTOKEN CONSUL_HTTP_TOKEN TF_TOKEN_app_terraform_io BW_SESSION
		OP_SERVICE_ACCOUNT_TOKEN OP_SESSION_me SUPABASE_KEY SUPABASE_SERVICE_ROLE_KEY
		DD_APP_KEY NEW_RELIC_LICENSE_KEY GCLOUD_SERVICE_KEY SLACK_WEBHOOK_URL
		AZURE_STORAGE_CONNECTION_STRING OCI_CLI_KEY_CONTENT COMPOSER_AUTH
		BUNDLE_GITHUB__COM SECRET_KEY_BASE TS_AUTHKEY GITHUBTOKEN token
		DEEPINFRA_TOKEN AZURE_OPENAI_AD_TOKEN GITEA_TOKEN DOCKERHUB_TOKEN UV_PUBLISH_TOKEN
		POETRY_PYPI_TOKEN_PYPI FIREBASE_TOKEN SENTRY_TOKEN GCP_SA_KEY KAGGLE_KEY SOPS_AGE_KEY
		UPSTASH_REDIS_REST_TOKEN GOOGLE_APPLICATION_CREDENTIALS_JSON SECRET PASSPHRASE
		BLOB_READ_WRITE_TOKEN KV_REST_API_READ_ONLY_TOKEN NGROK_AUTHTOKEN ARM_OIDC_TOKEN
		MLFLOW_TRACKING_TOKEN motherduck_token TURBO_TOKEN TUNNEL_TOKEN TF_VAR_token
		OP_CONNECT_TOKEN CONTENTFUL_MANAGEMENT_TOKEN ELASTIC_APM_SECRET_TOKEN
		CLAUDE_CODE_OAUTH_TOKEN OPENAI_TOKEN_2 B2_APPLICATION_KEY CYPRESS_RECORD_KEY
		AIRFLOW__CORE__FERNET_KEY AIRFLOW_CONN_DB AIRFLOW__DATABASE__SQL_ALCHEMY_CONN
		ORG_GRADLE_PROJECT_signingKey MNEMONIC WALLET_MNEMONIC RABBITMQ_DEFAULT_PASS
		RCLONE_CONFIG_PASS SNOWSQL_PWD NEO4J_AUTH VAULT_SECRET_ID DBT_ENV_SECRET_A
		AZURE_CREDENTIALS GCP_CREDENTIALS CI_REPOSITORY_URL MC_HOST_store SFDX_AUTH_URL
		OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS
		AWS_CONTAINER_CREDENTIALS_FULL_URI VSS_NUGET_EXTERNAL_FEED_ENDPOINTS
		OPENAI_API_KEY2 ANTHROPIC_API_KEYS GOOGLE_API_KEY_2 AWS_SECRET_ACCESS_KEY_OLD
		GITHUB_TOKEN_2 GITHUB_TOKENS github_token_work OAUTH_TOKEN REFRESH_TOKEN SESSION_TOKEN
		BOT_TOKEN ID_TOKEN APP_TOKEN SECRET_TOKEN SERVICE_ACCOUNT_TOKEN JWT_TOKEN AZP_TOKEN
		CONNECTION_STRING WEBHOOK_URL ADMIN_KEY SERVICE_KEY AUTH_KEY LICENSE_KEY SERPAPI_KEY
		PASS SECRETS ACCESSTOKEN AUTHTOKEN CLIENTSECRET STRIPE_SECRETKEY MYPRIVATEKEY
		TWITTER_APISECRET MYSQLPASSWORD rootpasswd AWS_CREDENTIALS GIT_ASKPASS
		GIT_CONFIG_PARAMETERS HTTP_AUTHORIZATION MYAPP_TOKEN TOKEN_ID"
	plain="MAX_TOKENS NPM_TOKEN_FILE SSH_KEY_FILE GPG_KEY CACHE_KEY SUPABASE_ANON_KEY KEYMAP
		GITHUB_TOKEN_FILE PASSWORD_STORE_DIR PASSED SECRETSDIR AUTH_KEY_FILE GIT_CONFIG_GLOBAL
		GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
		BUNDLE_BUILD__NOKOGIRI BUNDLE_PATH TOKENIZERS_PARALLELISM WEBHOOK_PORT
		COMPOSER_HOME CLAUDE_CODE_MAX_OUTPUT_TOKENS OPENAI_MAX_TOKENS HOST_PWD"
	for name in $secrets; do
		export "$name=s3cret-$name"
	done
	for name in $plain; do
		export "$name=plain"
	done
	# A shell cannot name these.
	named=(openai-api-key=s3cret my.secret.key=s3cret GITHUB.TOKEN=s3cret a-b.c=plain)
	printf '[env]\npass = ["*"]\n' >all.toml
	printf '{"workspace_roots":["."]}' >all.json
	for policy in all.toml all.json; do
		got=$(env "${named[@]}" "$cordon" run --policy $policy -- env)
		run ! grep s3cret <<<"$got"
		for name in $plain a-b.c; do
			grep -q "^$name=plain$" <<<"$got"
		done
	done
}

@test "the environment: a name that the fixed list leaves out is told" {
	printf '[env]\npass = ["PATH", "NOTION_TOKEN", "X_*"]\nset = { GH_TOKEN = "x" }\n' >p.toml
	printf '[phase.late.env]\nset = { PGPASSWORD = "x", A = "b" }\n' >>p.toml
	run --separate-stderr "$cordon" run --env FAL_KEY --env DB_PASSWORD=x --env A=b -- true
	[ "$status" -eq 0 ]
	[ "${#stderr_lines[@]}" -eq 2 ]
	[[ "$stderr" == *"--env: warning: env.pass: 'FAL_KEY' is a credential"* ]]
	[[ "$stderr" == *"--env: warning: env.set: 'DB_PASSWORD' is a credential"* ]]
	for act in "check p.toml" "run --policy p.toml -- true"; do
		read -ra words <<<"$act"
		run --separate-stderr "$cordon" "${words[@]}"
		[ "$status" -eq 0 ]
		[ "${#stderr_lines[@]}" -eq 3 ]
		[[ "$stderr" == *"p.toml:2:17: warning: env.pass: 'NOTION_TOKEN'"* ]]
		[[ "$stderr" == *"p.toml:3:9: warning: env.set: 'GH_TOKEN'"* ]]
		[[ "$stderr" == *"p.toml:5:9: warning: env.set: 'PGPASSWORD'"* ]]
	done
}

@test "the environment: a temporary folder that is not there inside is not named" {
	show() {
		"$cordon" run "$@" -- sh -c 'echo "[$TMPDIR][$TMP][$TEMP]"; mktemp >/dev/null'
	}
	mkdir here "$BATS_TEST_TMPDIR/scratch" hidden
	printf '[env]\npass = ["*"]\n' >all.toml
	printf '{"workspace_roots":["."]}' >all.json
	printf '{"workspace_roots":["."],"env":{"TMPDIR":"%s"}}' "$PWD/here" >own.json
	export TMPDIR=$BATS_TEST_TMPDIR/scratch TMP=/tmp/gone TEMP=/usr/share
	[ "$(show --policy all.toml)" = "[][][]" ]
	[ "$(show --env TMPDIR --env TMP)" = "[][][]" ]
	[ "$(show --policy all.toml --write "$TMPDIR")" = "[$TMPDIR][][]" ]
	[ "$("$cordon" run --no-sandbox --env TMP -- sh -c 'echo "$TMP"' 2>/dev/null)" = /tmp/gone ]
	export TMPDIR=/tmp/ TMP=$PWD/here/ TEMP=$PWD/hidden
	[ "$(show --policy all.toml)" = "[][$TMP][$TEMP]" ]
	[ "$(show --policy all.toml --deny hidden)" = "[][$TMP][]" ]
	[ "$(show --policy all.json)" = "[][$TMP][$TEMP]" ]
	[ "$(show --policy own.json)" = "[$PWD/here][$TMP][$TEMP]" ]
}

@test "the environment: pass list, --env, --strip-env, the fixed list" {
	export SECRETISH=1 GITHUB_TOKEN=t ANTHROPIC_API_KEY=k LANG=C.UTF-8 LC_TIME=C FOO=foo
	got=$("$cordon" run -- env)
	run ! grep -E 'SECRETISH|GITHUB_TOKEN|ANTHROPIC|FOO' <<<"$got"
	grep -q '^LANG=C.UTF-8$' <<<"$got"
	grep -q '^LC_TIME=C$' <<<"$got"
	got=$("$cordon" run --env FOO --env BAR=b=c --env GITHUB_TOKEN --env ANTHROPIC_API_KEY=x \
		--strip-env LANG -- env)
	grep -q '^FOO=foo$' <<<"$got"
	grep -q '^BAR=b=c$' <<<"$got"
	run ! grep -E 'GITHUB_TOKEN|ANTHROPIC|^LANG=' <<<"$got"
	run "$cordon" run --env 'X=${GITHUB_TOKEN}' -- env
	[ "$status" -eq 125 ]
	[[ "$output" == *'X takes ${GITHUB_TOKEN}, which is not passed on'* ]]
	# Nor through the caller's own entry in /proc.
	run "$cordon" run -- sh -c 'cat /proc/*/environ'
	run ! grep ANTHROPIC <<<"$output"
}

@test "signals go to the command" {
	for signal in TERM HUP USR1 USR2 QUIT INT ALRM VTALRM PROF IO WINCH; do
	for how in "" --no-sandbox; do
		rm -f ready.$signal
		# env starts it with nothing ignored, as bash's background does not.
		# shellcheck disable=SC2086
		env --default-signal "$cordon" run $how -- sh -c "trap 'echo got $signal; exit 9' $signal
			touch ready.$signal; while :; do sleep 0.02; done" >out.$signal &
		pid=$!
		soon test -e ready.$signal
		kill -$signal $pid
		code=0
		wait $pid || code=$?
		[ "$code" -eq 9 ]
		[ "$(cat out.$signal)" = "got $signal" ]
	done
	done
}

@test "a signal that is no terminal's goes to the command alone" {
	for words in "" --no-sandbox; do
		rm -f ready
		# shellcheck disable=SC2086
		env --default-signal "$cordon" run $words -- sh -c 'sleep 2 & s=$!
			trap "echo got" USR1; touch ready; wait $s; wait $s; echo $?' >out 2>err &
		pid=$!
		soon test -e ready
		kill -USR1 $pid
		wait $pid
		[ "$(cat out)" = "got
0" ]
	done
}

@test "signals that come while the tree is built are for the command that it is built for" {
	# Many mounts take their time.
	mkdir -p d/{1..300}
	printf '[files]\ndeny = [%s]\n' "$(printf '"d/%s", ' {1..300})" >many.toml
	for delay in 0.0{01..40..3}; do
		for signal in CONT TERM; do
			"$cordon" run --policy many.toml --json -- sleep 0.2 >out 2>err &
			sleep "$delay"
			kill -$signal $!
			status=0
			wait $! || status=$?
			[ $signal:$status = CONT:0 ] || [ $signal:$status = TERM:143 ]
			# Before there is a supervisor that watches signals, there is no result.
			output=$(cat out err)
			[ -z "$output" ] || json "d['error'] is None"
		done
	done
}

@test "without a trap, a signal ends it" {
	env --default-signal "$cordon" run -- sh -c 'touch ready; sleep 100' &
	pid=$!
	soon test -e ready
	kill -TERM $pid
	code=0
	wait $pid || code=$?
	[ "$code" -eq 143 ]
}

@test "signals of clocks, and those of programs, do not take the result along" {
	for signal in ALRM VTALRM PROF IO PWR RTMIN RTMIN+3 RTMAX; do
		env --default-signal "$cordon" run --audit log.$signal --json -- \
			sh -c "touch ready.$signal; sleep 100" >out.$signal &
		pid=$!
		soon test -e ready.$signal
		# What was blocked before the log was written is so afterwards.
		soon test -s log.$signal
		kill -$signal $pid
		code=0
		wait $pid || code=$?
		[ "$code" -eq $((128 + $(kill -l $signal))) ]
		output=$(cat out.$signal)
		json "d['signal'] == $(kill -l $signal)"
	done
}

@test "what the caller ignores stays ignored" {
	nohup "$cordon" run -- sh -c 'touch ready; sleep 0.5; echo survived' \
		>out 2>/dev/null </dev/null &
	pid=$!
	soon test -e ready
	kill -HUP $pid
	wait $pid
	grep -q survived out
	run /usr/bin/python3 -c "
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv('$cordon', ['cordon', 'run', '--', 'sh', '-c', 'true; exit 5'])"
	[ "$status" -eq 5 ]
}

@test "stopping and continuing the supervisor by SIGTSTP takes the tree along" {
	env --default-signal "$cordon" run -- sh -c 'while :; do echo x >>ticks; sleep 0.02; done' &
	pid=$!
	soon test -s ticks
	kill -TSTP $pid
	soon grep -q '^State:.T' /proc/$pid/status
	sleep 0.2
	one=$(wc -c <ticks)
	sleep 0.3
	[ "$(wc -c <ticks)" -eq "$one" ]
	kill -CONT $pid
	soon eval '[ "$(wc -c <ticks)" -gt "$one" ]'
	kill -TERM $pid
	wait $pid || true
}

@test "nothing that was started outlives the command" {
	m=$(marker)
	run "$cordon" run -- sh -c "sleep $m & setsid sleep $m &
		(setsid sh -c 'sleep $m & sleep $m' &); sleep 0.1; exit 4"
	[ "$status" -eq 4 ]
	gone "$m"
}

@test "a killed supervisor takes everything along" {
	m=$(marker)
	"$cordon" run -- sh -c "sleep $m & setsid sh -c 'trap \"\" TERM HUP INT; sleep $m' &
		touch ready; sleep $m" &
	pid=$!
	soon test -e ready
	soon sleeps "$m"
	kill -KILL $pid
	wait $pid || true
	soon gone "$m"
	"$cordon" ps >/dev/null
	# The folder of a run that ended badly goes after some seconds.
	rm -rf "$BATS_TEST_TMPDIR"/runtime/cordon/*
}

@test "a cordon in a cordon is refused by name" {
	cp "$cordon" ./cordon
	run "$cordon" run -- ./cordon run -- true
	[ "$status" -eq 125 ]
	grep -Eq 'userns|user namespace' <<<"$output"
	run "$cordon" run -- ./cordon run --no-sandbox -- echo bare
	[ "$status" -eq 0 ]
	# The outer cordon allows no Landlock either: the inner one encloses nothing, and says so.
	printf '[limits]\ncpus = 1\n' >cordon.toml
	CORDON_SANDBOX=warn run "$cordon" run --env CORDON_SANDBOX -- ./cordon run --no-policy \
		-- sh -c 'taskset -cp $$; touch made; ls made; exit 7'
	[ "$status" -eq 7 ]
	[[ "$output" == *"does not offer what level full needs"* ]]
	[[ "$output" == *"the command runs without any protection"* ]]
	[[ "$output" == *"list: "[0-9]* ]]
	[[ "$output" == *made* ]]
	rm cordon.toml
}

# Two runs with one CPU each, at the same time; prints the CPUs of both.  In a network
# namespace of its own no other run has marks for CPUs.
two_runs() {
	local flags=-n
	[ "$(id -u)" -eq 0 ] || flags=-Urn
	unshare $flags sh -c '
		for i in 1 2; do
			"$@" sh -c "taskset -cp \$\$ >cpus-$i; touch ready-$i
				while [ ! -e go ]; do sleep 0.02; done" &
		done
		while [ ! -e ready-1 ] || [ ! -e ready-2 ]; do sleep 0.02; done
		touch go; wait' sh "$@"
	sed 's/.*: //' cpus-1 cpus-2
	rm -f cpus-? ready-? go
}

@test "live runs with a limit of CPUs have different ones" {
	[ "$(nproc)" -gt 1 ] || skip "this machine has one CPU"
	unshare -Urn true || skip "no user namespace here"
	for _ in 1 2 3; do
		run -0 two_runs "$cordon" run --cpus 1 --
		[ "${#lines[@]}" -eq 2 ]
		[[ "${lines[0]}${lines[1]}" != *[-,]* ]]
		[ "${lines[0]}" != "${lines[1]}" ]
	done
	printf '[limits]\ncpus = 1\n' >cordon.toml
	run -0 two_runs "$cordon" run --
	[ "${lines[0]}" != "${lines[1]}" ]
}

@test "--cpus tightens limits.cpus" {
	[ "$(nproc)" -gt 1 ] || skip "this machine has one CPU"
	[ "$("$cordon" run --cpus 1 -- nproc)" = 1 ]
	[ "$("$cordon" run --cpus 99 -- nproc)" = "$(nproc)" ]
	[ "$("$cordon" run --cpus none -- nproc)" = "$(nproc)" ]
	printf '[limits]\ncpus = 1\n' >cordon.toml
	[ "$("$cordon" run --cpus 2 -- nproc)" = 1 ]
	run -2 "$cordon" run --cpus 0 -- true
	[[ "$output" == *"--cpus: '0' is not valid for limits.cpus"* ]]
}

@test "in other people's namespaces" {
	unshare -Urm true || skip "no user namespace here"
	run unshare -Urm "$cordon" run -- id -u
	[ "$status" -eq 0 ]
	[ "$output" = 0 ]
	run unshare -Urmpf --mount-proc "$cordon" run -- echo in
	[ "$status" -eq 0 ]
	[ "$output" = in ]
}

@test "without a sandbox: a result, and everything is missing" {
	export GITHUB_TOKEN=t
	run "$cordon" run --no-sandbox --json -- sh -c 'echo out; echo err >&2; env; exit 3'
	[ "$status" -eq 3 ]
	grep -q 'warning: --no-sandbox' <<<"$output"
	json "d['exit_code'] == 3 and d['stdout'].startswith('out\n') and d['stderr'] == 'err\n'"
	json "d['backend'] == 'none' and not d['enforced'] and len(d['missing']) == 3"
	json "'GITHUB_TOKEN' not in d['stdout']"
	run "$cordon" run --no-sandbox -- sh -c 'kill -15 $$'
	[ "$status" -eq 143 ]
	run -127 "$cordon" run --no-sandbox -- nonexistent-command-x
	[ "$status" -eq 127 ]
	run "$cordon" run --no-sandbox --timeout 300ms -- sleep 30
	[ "$status" -eq 124 ]
	[ "$(echo in | "$cordon" run --no-sandbox -- cat 2>/dev/null)" = in ]
}

@test "without a sandbox: limits that the kernel keeps of a process are held, where asked for" {
	run --separate-stderr -0 "$cordon" run --no-sandbox --open-files 50 -- \
		sh -c 'ulimit -n; ulimit -Hn'
	[ "$output" = $'50\n50' ]
	[ "$stderr" = 'cordon: warning: --no-sandbox runs the command without any protection' ]
	# Those that nobody asked for, and none is raised.
	run --separate-stderr -0 "$cordon" run --no-sandbox -- sh -c 'ulimit -n; ulimit -f'
	[ "$output" = "$(ulimit -n; ulimit -f)" ]
	run --separate-stderr -0 bash -c "ulimit -n 40; '$cordon' run --no-sandbox --open-files 50 \
		-- sh -c 'ulimit -n'"
	[ "$output" = 40 ]
	run "$cordon" run --no-sandbox --file-size 1M --result r.json -- sh -c 'exec head -c 2M /dev/zero >big'
	[ "$status" -eq 153 ]
	[ "$(stat -c %s big)" -eq $((1 << 20)) ]
	output=$(<r.json)
	json "d['limit'] == 'file_size' and d['signal'] == 25"
	# Output that is passed on.
	"$cordon" run --no-sandbox --output 1000 -- yes >out 2>err && false
	[ "$(stat -c %s out)" -eq 1000 ]
	grep -qF 'cordon: ended by limits.output (1000); --output sets it' err
	grep -q '^limits.open_files .*RLIMIT_NOFILE' <("$cordon" explain --no-sandbox --open-files 50)
	grep -q '^limits.open_files .*nothing' <("$cordon" explain --no-sandbox)
}

@test "without a sandbox: limits that were asked for and are not held are named" {
	run -0 "$cordon" run --no-sandbox -m 50M --cpu-seconds 1 --processes 3 --disk 1M \
		--timeout 9m --open-files 50 --file-size 1M --output 1M -- true
	[ "${lines[1]}" = "cordon: warning: nothing holds --memory, --cpu-seconds, --processes, --disk \
for a command without any protection" ]
	# There the command has the caller's own terminal, which nobody counts.
	run -0 script -qec "$cordon run --no-sandbox --output 1M -- tty" /dev/null
	grep -q 'warning: nothing holds --output for a command' <<<"$output"
	# Where a policy says it, it is for a cordon.
	printf '[limits]\nmemory = "1G"\n' >cordon.toml
	run -0 "$cordon" run --no-sandbox -- true
	[ "$output" = 'cordon: warning: --no-sandbox runs the command without any protection' ]
}

@test "ps and kill" {
	[ -z "$("$cordon" ps)" ]
	[ "$("$cordon" ps --json)" = "[]" ]
	"$cordon" run -- sh -c "trap '' TERM; touch ready; while :; do sleep 0.1; done" &
	pid=$!
	soon test -e ready
	soon is_listed
	output=$("$cordon" ps --json)
	json "len(d) == 1 and d[0]['pid'] == $pid and d[0]['cwd'] == '$work'"
	json "'touch ready' in d[0]['command']"
	[ "$(stat -c %a "$XDG_RUNTIME_DIR/cordon")" = 700 ]
	"$cordon" ps | grep -q " $pid "
	"$cordon" kill "$("$cordon" ps | cut -d ' ' -f 1)"
	code=0
	wait $pid || code=$?
	[ "$code" -ge 128 ]
	[ -z "$("$cordon" ps)" ]
	"$cordon" run -- sleep 100 &
	pid=$!
	soon "$cordon" kill $pid
	wait $pid || true
	run "$cordon" kill $pid
	[ "$status" -eq 1 ]
	run "$cordon" kill
	[ "$status" -eq 2 ]
}

@test "a runtime folder that holds a ceiling, or nothing, is as good as none" {
	mkdir -p "$BATS_TEST_TMPDIR/config" "$BATS_TEST_TMPDIR/.config"
	mkdir -m 500 "$BATS_TEST_TMPDIR/closed"
	ln -s config "$BATS_TEST_TMPDIR/link"
	export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
	for folder in "$XDG_CONFIG_HOME" "$BATS_TEST_TMPDIR/link" "$HOME/.config" /proc \
		/proc/self "$BATS_TEST_TMPDIR/closed"; do
		id=$(XDG_RUNTIME_DIR=$folder "$cordon" session start)
		XDG_RUNTIME_DIR=$folder "$cordon" ps | grep "^$id "
		[ "$(id -u)" -eq 0 ] && [ "$folder" = "$BATS_TEST_TMPDIR/closed" ] ||
			[ -d "/tmp/cordon-$(id -u)/$id" ]
		XDG_RUNTIME_DIR=$folder "$cordon" kill "$id"
	done
	[ ! -e "$XDG_CONFIG_HOME/cordon" ]
	[ ! -e "$HOME/.config/cordon" ]
}

@test "a run is in the list whatever the runtime folder is" {
	export XDG_RUNTIME_DIR=/proc
	"$cordon" run -- sh -c 'touch ready; sleep 100' &
	pid=$!
	soon test -e ready
	soon "$cordon" kill $pid
	wait $pid || true
	[ "$(id -u)" -eq 0 ] || return 0
	export XDG_RUNTIME_DIR=/etc
	# shellcheck disable=SC2016 # for the shell there
	run -0 unshare -m sh -c 'mount -t tmpfs none /etc && id=$("$0" session start) &&
		"$0" session stop "$id" && ls -A /etc' "$cordon"
	[ -z "$output" ]
}

@test "ps: names of folders and words do not speak to the terminal" {
	dir=$(printf 'a\033]0;owned\a\n(session)\nvictim')
	mkdir "$dir"
	cd "$dir" || return
	"$cordon" run -- sh -c 'touch ready; sleep 100' "$(printf '\302\233x\177')" &
	pid=$!
	soon test -e ready
	soon is_listed
	out=$("$cordon" ps)
	[[ "$out" == *'a\x1b]0;owned\x07\n(session)\nvictim: sh -c touch ready; sleep 100 \x9bx\x7f' ]]
	run "$cordon" kill victim
	[ "$status" -eq 1 ]
	run "$cordon" kill "$(printf '\033[2J')"
	[[ "$output" != *$'\033'* ]]
	"$cordon" kill $pid
	wait $pid || true
}

@test "the folder of live runs is not seen inside" {
	export XDG_RUNTIME_DIR=$work/runtime
	mkdir -m 700 runtime
	run "$cordon" run -- ls runtime/cordon
	[ "$status" -ne 0 ]
	run "$cordon" run -- sh -c 'echo x >runtime/cordon/x'
	[ "$status" -ne 0 ]
	[ -z "$(ls -A runtime/cordon)" ]
	# A place that somebody else prepared is not used, and hinders nothing.
	rmdir runtime/cordon
	ln -s /tmp runtime/cordon
	run "$cordon" run -- true
	[ "$status" -eq 0 ]
	run "$cordon" ps
	[ "$status" -eq 2 ]
}

@test "the settings of the network outside stay as they are" {
	settings="/proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem"
	if [ "$(id -u)" -eq 0 ]; then
		# Of a network that only this test has.
		run unshare -n sh -c 'for f in $1; do echo "4096 8192 123456" >$f; done
			"$2" run -- cat $1 >inside; cat $1' - "$settings" "$cordon"
		[ "$(echo "$output" | grep -c 123456)" -eq 2 ]
		[ "$(wc -l <inside)" -eq 2 ]
		[ "$(grep -c 123456 inside)" -eq 0 ]
	else
		# shellcheck disable=SC2086
		before=$(cat $settings)
		run "$cordon" run -- true
		[ "$status" -eq 0 ]
		# shellcheck disable=SC2086
		[ "$(cat $settings)" = "$before" ]
	fi
}

@test "a project below /var/tmp, which is a link to /tmp otherwise" {
	project=$(mktemp -d -p /var/tmp)
	cd "$project" || return
	run "$cordon" run -- sh -c 'echo made >f; touch /var/tmp/private'
	[ "$status" -eq 0 ]
	[ "$(cat "$project/f")" = made ]
	[ ! -e /var/tmp/private ]
	cd / || return
	rm -r "$project"
}

@test "the settings of the host's network stay as they are" {
	set_and_run() {
		unshare "$@" sh -c '
			echo "4096 131072 6291456" >/proc/sys/net/ipv4/tcp_rmem &&
			"$1" run -- cat /proc/sys/net/ipv4/tcp_rmem &&
			cat /proc/sys/net/ipv4/tcp_rmem' - "$cordon"
	}
	if [ "$(id -u)" -eq 0 ]; then
		run set_and_run -n
	else
		run set_and_run -rn
	fi
	[ "$output" = "$(printf '4096\t131072\t524288\n4096\t131072\t6291456')" ]
}

@test "what the command does not read of its input is for the next one" {
	seq 1 100000 > lines
	run sh -c '("$0" run -- sh -c "read x; echo in \$x"; head -n 1) < lines' "$CORDON"
	[ "$output" = "in 1
2" ]
	run sh -c 'cat lines | ("$0" run -- sh -c "read x; echo in \$x"; head -n 1)' "$CORDON"
	[ "$output" = "in 1
2" ]
	# A byte at a time, and the end.
	run sh -c '(printf a; sleep 0.1; printf b; sleep 0.1) | "$0" run -- cat' "$CORDON"
	[ "$output" = ab ]
	run sh -c '"$0" run -- cat < lines | cksum; cat lines | "$0" run -- cat | cksum' "$CORDON"
	[ "${lines[0]}" = "${lines[1]}" ]
	[ "${lines[0]}" = "$(cksum < lines)" ]
}

@test "a policy that is found does not turn the cordon off" {
	mkdir -p .harness
	inside='test "$(readlink /proc/self/ns/pid)" != "$0"'
	outside=$(readlink /proc/self/ns/pid)
	printf '[sandbox]\nenabled = false\n' > .harness/config.toml
	run "$cordon" run -- sh -c "$inside" "$outside"
	[ "$status" -eq 0 ]
	[[ "$output" == *'profile = "unrestricted", backend = "none"'* ]]
	printf 'backend = "none"\nprofile = "unrestricted"\n' > cordon.toml
	run -0 "$cordon" run -- sh -c "$inside" "$outside"
	# Who names it, or says what it is to be, means it.
	run -1 "$cordon" run --policy cordon.toml -- sh -c "$inside" "$outside"
	run -1 "$cordon" run --no-sandbox -- sh -c "$inside" "$outside"
	run -0 "$cordon" run --sandbox process -- sh -c "$inside" "$outside"
}

@test "the command has the caller's CPUs" {
	for cpus in "$(taskset -cp $$ | sed 's/.*: //')" "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')"; do
		for _ in 1 2 3; do
			run -0 taskset -c "$cpus" "$cordon" run -- sh -c 'taskset -cp $$'
			[ "${output##*: }" = "$cpus" ]
		done
	done
}

@test "root does not write a folder of the system because it stands there" {
	cd /usr/share
	run -0 "$cordon" run -- ls doc
	if [ "$(id -u)" = 0 ]; then
		[[ "$output" == *"'/usr/share' belongs to the system"*"--write /usr/share"* ]]
	fi
	run "$cordon" run -- touch cordon-was-here
	[ "$status" != 0 ]
	[ ! -e cordon-was-here ]
	run -0 "$cordon" run --dry-run --write . -- true
	[[ "$output" == *"writable     /usr/share: "* ]]
}

@test "a caller that is spared when memory runs out does not pass that on" {
	# Only who may do so sets it; the others have 0 already.
	run -0 sh -c 'echo -500 >/proc/self/oom_score_adj 2>/dev/null
		exec "$1" run -- cat /proc/self/oom_score_adj' sh "$cordon"
	[ "$output" = 0 ]
	run -0 sh -c 'echo 300 >/proc/self/oom_score_adj
		exec "$1" run -- cat /proc/self/oom_score_adj' sh "$cordon"
	[ "$output" = 300 ]
}

# Commands and options: what is asked for is there, everything else is refused.
# beside: yes
# weight: 2/3
# The variables come from place.bash; commands are split into words on purpose.
# shellcheck disable=SC2154,SC2086
load place

@test "without a command the commands are listed, on stderr" {
	cordon
	is "$status" 2
	is "$out" ""
	has "$err" "cordon check"
}

@test "help and version, in every spelling" {
	for word in help --help -h; do
		cordon $word
		is "$status" 0
		is "$err" ""
		has "$out" "cordon policy show"
	done
	for word in version --version; do
		cordon $word
		is "$status" 0
		has "$out" "cordon 0."
	done
}

@test "every command has help" {
	for command in check explain trial completion version help "policy show" "policy convert" \
		"policy intersect" "policy diff" "policy match"; do
		cordon $command --help
		is "$status" 0
		has "$out" "usage: cordon $command"
		is "$err" ""
		cordon help $command
		is "$status" 0
		has "$out" "usage: cordon $command"
	done
	cordon policy --help
	is "$status" 0
	has "$out" "usage: cordon policy diff"
}

@test "help of what is not there" {
	cordon help nothing
	usage_error "there is no command 'nothing'"
	cordon help policy nothing
	usage_error "there is no command 'policy nothing'"
	cordon help policy show more
	usage_error "help takes [COMMAND]"
}

@test "unknown commands" {
	cordon ls
	usage_error "there is no command 'ls'; to run a program write: cordon run -- ls"
	cordon policy
	usage_error "policy takes a word behind it"
	cordon policy shwo x
	usage_error "there is no command 'policy shwo'"
	cordon --verbose
	usage_error "'--verbose' is not an option of cordon"
}

@test "unknown options are refused by name" {
	cordon check --nope x
	usage_error "'--nope' is not an option of check"
	cordon policy show -x
	usage_error "'-x' is not an option of policy show"
	cordon policy show --to srt x
	usage_error "'--to' is not an option of policy show"
	cordon version --json
	usage_error "'--json' is not an option of version"
	cordon check -hello x
	usage_error "'-hello' is not an option of check"
}

@test "abbreviations are no options" {
	cordon policy show --js x
	usage_error "'--js' is not an option of policy show"
	cordon explain --mem 1G
	usage_error "'--mem' is not an option of explain"
	cordon check --dialec=srt x
	usage_error "'--dialec=srt' is not an option of check"
}

@test "values of options" {
	cordon policy convert x --to
	usage_error "--to takes DIALECT"
	cordon run --memory -- true
	usage_error "--memory takes SIZE"
	cordon run -m -- true
	usage_error "--memory takes SIZE"
	cordon explain --no-policy -w -- true
	usage_error "--write takes PATH"
	cordon explain --no-policy --deny=--
	is "$status" 0
	has "$out" "/-- "
	cordon explain --no-policy=1
	usage_error "--no-policy takes no value"
	cordon explain -w=/x
	usage_error "-w takes PATH behind a space"
	cordon explain --no-policy -w/x
	is "$status" 0
	has "$out" "files.write          /x"
	cordon explain --no-policy --write=/x
	is "$status" 0
	has "$out" "files.write          /x"
	cordon explain --memory lots
	is "$status" 2
	has "$err" "--memory: 'lots' is not valid for limits.memory; write a size such as"
}

@test "a dialect that is none is refused where no file is read, too" {
	for command in "run --dialect x -- true" "explain --dialect x" "session start --dialect x" \
		"run --no-policy --dialect x -- true"; do
		cordon $command
		usage_error "--dialect: 'x' is not a dialect; write cordon, "
	done
}

@test "a working directory that is none, and a command that is empty" {
	touch file
	for command in "run --cwd /nonexistent -- true" "run --json --cwd /nonexistent -- true" \
		"explain --cwd /nonexistent" "session start --cwd /nonexistent"; do
		cordon $command
		usage_error "--cwd: '/nonexistent': No such file or directory; name a folder"
	done
	cordon run --cwd= -- true
	usage_error "--cwd: '': No such file or directory"
	cordon run --cwd file -- true
	usage_error "--cwd: 'file' is not a folder"
	for command in "run --" "explain --" "session exec x --"; do
		cordon $command ""
		usage_error "the command is empty; name a program"
	done
}

@test "too few words, and too many" {
	cordon check
	usage_error "check takes FILE"
	cordon policy intersect a
	usage_error "policy intersect takes CEILING FILE"
	cordon policy diff a b c
	usage_error "policy diff takes A B"
	cordon policy convert
	usage_error "policy convert takes FILE"
	touch a
	cordon policy match x
	usage_error "policy match takes --policy FILE"
	cordon policy match --policy a
	usage_error "policy match takes hosts, or --command TEXT"
	cordon completion
	usage_error "completion takes bash|zsh|fish"
	cordon completion tcsh
	usage_error "'tcsh' is not a shell"
	cordon explain word
	usage_error "explain takes [-- CMD"
}

@test "words behind -- are words" {
	printf '' >./--dash
	cordon check -- --dash
	is "$status" 0
}

@test "what was typed is not acted on by the terminal" {
	cordon check "$(printf '\033[2J')"
	has_not "$err" "$(printf '\033')"
	cordon "$(printf 'a\033[2J')"
	has_not "$err" "$(printf '\033')"
	cordon check "--$(printf '\007')"
	has_not "$err" "$(printf '\007')"
}

@test "more words than anybody types" {
	words=$(yes x | head -n 5000)
	cordon check $words
	usage_error "more than 4096 words on the command line"
}

@test "a plan as text and as JSON" {
	cordon run --dry-run -- true
	is "$status" 0
	has "$out" "mount "
	text=$out
	cordon run --dry-run --json -- true
	is "$status" 0
	is "$(/usr/bin/python3 -c 'import json, sys
print("\n".join(json.loads(sys.argv[1])["plan"]))' "$out")" "$text"
}

@test "an option whose name is a letter is there once" {
	cordon run --help
	grep -q '^  -c TEXT  *a line of shell text' <<<"$out"
	grep -q '^  -m, --memory SIZE  *memory' <<<"$out"
	grep -q '^      --disk SIZE  *.*added to writable roots' <<<"$out"
	cordon completion fish
	grep -q "seen_subcommand_from run' -s c -r -d" <<<"$out"
	has_not "$out" "-l  "
}

@test "completion is shell code" {
	cordon completion bash
	is "$status" 0
	bash -n .out
	bash -c 'source ./.out; complete -p cordon' >/dev/null
	has "$out" "--resolves-to"
	cordon completion zsh
	is "$status" 0
	has "$out" "(session) words_=(start exec "
	has "$out" "(policy) words_=(show "
	if command -v zsh >/dev/null; then zsh -n .out; fi
	cordon completion fish
	is "$status" 0
	if command -v fish >/dev/null; then fish -n .out; fi
}

# complete WORD... : what the last word can become
complete_words() {
	bash -c 'source ./.out
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_cordon
		echo "${COMPREPLY[@]}"' bash "$@"
}

@test "completion completes" {
	cordon completion bash
	is "$(complete_words cordon pol)" policy
	is "$(complete_words cordon policy conv)" convert
	is "$(complete_words cordon session sta)" "start status"
	words=" $(complete_words cordon session '') "
	for word in start exec phase network allow status stop; do
		has "$words" " $word "
	done
	touch a-file
	is "$(complete_words cordon check a-f)" a-file
	is "$(complete_words cordon policy convert --t)" --to
	is "$(complete_words cordon policy convert --dialect op)" openharness
}

@test "an answer that cannot be written is an error" {
	touch cordon.toml
	for command in "policy show cordon.toml" "policy show --json-schema" "help" "version" \
		"completion bash" "check --help" "explain --no-policy"; do
		status=0
		"$CORDON" $command >/dev/full 2>.err || status=$?
		is "$status" 2
		is "$(cat .err)" "cordon: cannot write the answer"
	done
}

@test "a reader that went away is an error, not a crash" {
	touch cordon.toml
	for command in "policy show cordon.toml" "policy show --json-schema" "help" \
		"completion zsh"; do
		# A pipe that nobody reads any more.
		mkfifo .pipe
		exec 7<>.pipe
		exec 8>.pipe
		exec 7<&-
		status=0
		"$CORDON" $command >&8 2>.err 8>&- || status=$?
		exec 8>&-
		rm .pipe
		is "$status" 2
		is "$(cat .err)" "cordon: cannot write the answer"
	done
}

@test "an answer is whole where the pipe is full, and does not block" {
	run /usr/bin/python3 - "$CORDON" <<-'END'
		import fcntl, json, os, select, subprocess, sys
		ours, theirs = os.pipe()
		fcntl.fcntl(theirs, fcntl.F_SETFL, os.O_NONBLOCK)
		p = subprocess.Popen([sys.argv[1], "run", "--no-policy", "--no-sandbox", "--json", "-c",
		                      "yes | head -c 300000"], stdout=theirs,
		                     stderr=subprocess.DEVNULL)
		# Nothing is read before there is no more room, or nobody who needs it.
		while p.poll() is None and select.select([], [theirs], [], 0)[1]:
		    select.select([], [], [], 0.01)
		os.close(theirs)
		said = json.loads(b"".join(iter(lambda: os.read(ours, 4096), b"")))
		print(p.wait(), len(said["stdout"]))
	END
	is "$output" "0 300000"
}

@test "colours are not a matter" {
	printf 'profil = 1\n' >cordon.toml
	cordon check cordon.toml
	one=$err
	NO_COLOR=1 cordon check cordon.toml
	is "$err" "$one"
	CLICOLOR_FORCE=1 TERM=xterm cordon check cordon.toml
	is "$err" "$one"
}

@test "the locale is not a matter" {
	printf '[limits]\nmemory = "1.5G"\n[files]\ndeny = ["/ü"]\n' >cordon.toml
	cordon check cordon.toml
	one=$err
	for locale in C POSIX C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8; do
		LC_ALL=$locale cordon check cordon.toml
		is "$err" "$one"
		is "$status" 1
	done
}

#!/usr/bin/env bats
# run-as: root user
# beside: yes
# differs: files of others are closed to a user
# weight: 4/10
# What the next git, shell, program or run of the caller finds its files by: an act that would
# lead it elsewhere works outside, and inside it does not.
#
# Shell text in single quotes is for the shell inside:
# shellcheck disable=SC2016
# Each test is a shell of its own, on purpose; live.bash sets variables:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load live

# Each act in turn, in a copy and inside.
stays() {
	for act; do
		rm -rf "$BATS_TEST_TMPDIR/outside"
		cp -r "$work" "$BATS_TEST_TMPDIR/outside"
		run -0 sh -c "cd '$BATS_TEST_TMPDIR/outside/${PWD#"$work"}' && $act"
		run "$cordon" run -- sh -c "$act"
		[ "$status" -ne 0 ]
		diff -r --no-dereference -x audit.jsonl "$work" "$before"
	done
}

# What is there now is what has to be there at the end.
begin() {
	before=$BATS_TEST_TMPDIR/before
	cp -r "$work" "$before"
}

# A folder or link `l`, from which a `..` goes on: something else in its place.
back() {
	begin
	if [ -L l ]; then
		stays 'rm l; ln -s / l' 'mv l away'
	else
		stays 'rmdir l; ln -s / l || { mkdir l; false; }' 'mv l away' \
			'ln -s / m; rmdir l; mv -T m l || { rm m; mkdir l; false; }'
		run -0 "$cordon" run -- sh -c 'rmdir l && mkdir l && echo x >l/x && mv l/x . && rm x'
	fi
}

@test "a folder that a way to hooks goes back from" {
	git init -q
	mkdir l hooks
	git config core.hooksPath l/../hooks
	back
	stays 'echo x >hooks/pre-commit'
}

@test "a name that is not there, from which a way to hooks goes back" {
	git init -q
	mkdir hooks
	git config core.hooksPath l/../hooks
	begin
	stays 'ln -s / l' 'ln -s / m; mv -T m l || { rm m; false; }' 'ln -s / m; ln m l || { rm m; false; }'
	run -0 "$cordon" run -- sh -c 'mkdir l && echo x >l/x && rm -r l'
}

@test "a way that goes back from a root holds nothing of it" {
	git init -q
	git config core.hooksPath ../hooks
	git config include.path ../../inc
	echo >../p.toml
	mkdir -p sub
	export XDG_CONFIG_HOME=$work/../conf XDG_STATE_HOME=$work/../state
	run -0 "$cordon" run --policy ../p.toml --audit ../log -- sh -c 'echo x >a && rmdir sub && mkdir sub'
	cd sub
	run -0 "$cordon" run -w "$work" --policy ../../p.toml -- sh -c 'echo x >a && echo x >../b'
}

@test "a folder that a way to a configuration of git goes back from" {
	git init -q
	mkdir -p dd/ee
	ln -s dd/ee l
	git config include.path ../l/../inc
	back
	# Where it leads is beside what the link leads to.
	stays 'echo x >dd/inc' 'mv dd/ee other' 'rmdir dd/ee; ln -s / dd/ee || { mkdir dd/ee; false; }'
}

@test "a folder that a way to a repository goes back from" {
	mkdir -p dd/ee
	ln -s dd/ee l
	git init -q dd/g
	mv dd/g/.git dd/git
	echo 'gitdir: l/../git' >.git
	run -0 git rev-parse --git-dir
	back
	stays 'echo x >>dd/git/config' 'mv dd/ee other'
}

@test "a folder that a link in a protected place goes back from" {
	git init -q
	mkdir l tools scripts
	ln -s l/../tools .vscode
	ln -s ../../l/../scripts/a .git/hooks/pre-commit
	echo x >scripts/a
	back
	stays 'echo x >tools/tasks.json' 'echo y >scripts/a'
}

@test "a folder that a way to a policy goes back from" {
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.config/cordon" l conf
	echo >conf/c.toml
	echo >ceiling.toml
	ln -s l/../conf/c.toml cordon.toml
	back
	stays 'echo x >>conf/c.toml'
	rm cordon.toml
	ln -s "$work/l/../ceiling.toml" "$HOME/.config/cordon/cordon.toml"
	rm -r "$before"
	back
	stays 'echo x >>ceiling.toml'
}

@test "a folder that a variable's place goes back from" {
	mkdir -p d/e hh
	ln -s d/e l
	begin
	for variable in HOME XDG_CONFIG_HOME ZDOTDIR CARGO_HOME; do
		export "$variable=$work/l/../hh"
		[ "$variable" = HOME ] || export HOME=$BATS_TEST_TMPDIR/home
		stays 'rm l; ln -s / l' 'mv l away' 'mv d/e other' 'mv d other'
		[ "$variable" = HOME ] || unset "$variable"
	done
}

@test "links and folders on the way to the log of later runs" {
	export HOME=$work/home
	mkdir -p home/.local home/data/state
	ln -s ../data/state home/.local/state
	"$cordon" run -- true
	begin
	stays 'rm home/.local/state' 'mv home/.local away'
	[ -d home/data/state/cordon ]
	mkdir -p q l
	ln -s q st
	for place in st l/../q; do
		export XDG_STATE_HOME=$work/$place
		"$cordon" run -- true
		rm -rf "$before"
		begin
		case $place in
		st) stays 'rm st' 'ln -sfn / st' ;;
		*) stays 'mv l away' 'rmdir l; ln -s / l || { mkdir l; false; }' ;;
		esac
	done
}

@test "the folder that the caller stands in stays where it is" {
	mkdir -p a/b other
	echo >keep
	printf '[files]\nwrite = ["."]\n' >agent.toml
	cd a/b
	begin
	run -0 "$cordon" run --policy ../../agent.toml -- sh -c 'echo x >y; mv y ..; rm ../y; mkdir z; rmdir z'
	cat >"$BATS_TEST_TMPDIR/exchange.py" <<-'PY'
		import ctypes
		exit(ctypes.CDLL(None).renameat2(-100, b"../../a", -100, b"../../other", 2) != 0)
	PY
	exchange="python3 -c '$(<"$BATS_TEST_TMPDIR/exchange.py")'"
	for act in "$exchange" 'mv ../../a/b ../../other/b' 'mv ../../a ../../other' 'mv ../b ../c'; do
		# It works where nobody holds the folder.
		rm -rf "$BATS_TEST_TMPDIR/outside"
		cp -r "$work" "$BATS_TEST_TMPDIR/outside"
		run -0 sh -c "cd '$BATS_TEST_TMPDIR/outside/a/b' && $act"
		run "$cordon" run --policy ../../agent.toml -- sh -c "$act"
		[ "$status" -ne 0 ]
		run "$cordon" run -w "$work" --no-policy -- sh -c "$act"
		[ "$status" -ne 0 ]
		diff -r "$work" "$before"
	done
}

@test "policies where a run works that begins elsewhere" {
	mkdir sub
	echo >sub/cordon.toml
	begin
	run "$cordon" run --cwd sub -- rm cordon.toml
	[ "$status" -ne 0 ]
	run "$cordon" run --no-policy --cwd sub -- sh -c 'echo >harness.md'
	[ "$status" -ne 0 ]
	diff -r "$work" "$before"
}

@test "hooks in whose folder somebody stands" {
	git init -q
	mkdir -p ci/hooks .husky/_
	git config core.hooksPath ci/hooks
	begin
	cd ci/hooks
	stays 'echo x >pre-commit'
	cd "$work"
	git config core.hooksPath .husky/_
	rm -r "$before"
	begin
	for folder in .husky .husky/_; do
		cd "$work/$folder"
		stays 'echo x >pre-commit'
		[[ "$output" == *"is held by files.protect (git)"* ]]
	done
}

@test "repositories and settings of git that variables name" {
	git init -q --bare repo
	mkdir wt
	begin
	GIT_DIR=$work/repo GIT_WORK_TREE=$work/wt stays 'echo x >repo/hooks/pre-commit' \
		'echo x >>repo/config' 'mv repo away'
	GIT_DIR=repo stays 'echo x >>repo/config'
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=Core.HooksPath GIT_CONFIG_VALUE_0=hooks stays 'mkdir hooks'
	GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=a.b GIT_CONFIG_VALUE_0=c GIT_CONFIG_KEY_1=include.path \
		GIT_CONFIG_VALUE_1=$work/inc stays 'echo x >inc'
	GIT_CONFIG_PARAMETERS="'core.hookspath'='ho'\\''oks' 'a.b'" stays "mkdir \"ho'oks\""
	GIT_CONFIG_PARAMETERS="'a.b'='c' 'core.hooksPath=hooks'" stays 'mkdir hooks'
	run -0 git -c alias.x='!printf %s "$GIT_CONFIG_PARAMETERS"' -c core.hooksPath=hk x
	GIT_CONFIG_PARAMETERS=$output stays 'mkdir hk'
	GIT_CONFIG_GLOBAL=gc stays 'echo x >gc'
	GIT_CONFIG_SYSTEM=$work/gc stays 'echo x >gc'
	GIT_TEMPLATE_DIR=$work/template stays 'mkdir template'
	# Nor is anything found in what others closed.
	if [ "$(id -u)" != 0 ]; then
		GIT_DIR=/root/repo/.git run -0 "$cordon" run -- true
	fi
	# What says nothing holds nothing.
	GIT_CONFIG_COUNT=x GIT_DIR='' run -0 "$cordon" run -- mkdir hooks
}

@test "places that variables name from here, or by other variables" {
	export HOME=$BATS_TEST_TMPDIR/home XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	mkdir "$HOME" conf
	begin
	XDG_CONFIG_HOME=conf stays 'mkdir conf/fish'
	BASH_ENV='$PWD/env.sh' stays 'echo x >env.sh'
	HGRCPATH=/etc/hgrc:$work/rc stays 'echo x >rc'
	BASH_ENV=env.sh stays 'echo x >env.sh'
	HOME=$work BASH_ENV='${HOME}/env.sh' stays 'echo x >env.sh'
	CLAUDE_CONFIG_DIR=$work/c stays 'mkdir c'
	mkdir c
	echo token >c/.claude.json
	CLAUDE_CONFIG_DIR=$work/c run "$cordon" run -- cat c/.claude.json
	[ "$status" -ne 0 ]
}

@test "two sections of git's configuration in one line" {
	git init -q
	printf '[core] [include] path = ../inc\n' >>.git/config
	run -0 git config --list
	begin
	stays 'echo x >inc'
}

@test "dots behind a name, which FAT takes no notice of" {
	begin
	stays 'echo x >.envrc.' 'mkdir .vscode..'
	run -0 "$cordon" run -- sh -c 'echo x >a. && mkdir d..'
}

# explain: the effective policy, where it came from, and what cut it.
# beside: yes
# weight: 2/3
# The variables come from place.bash; commands are split into words on purpose.
# shellcheck disable=SC2154,SC2086
load place

# The line of a key, blanks squeezed.
line() {
	printf '%s\n' "$out" | sed '/^cut:/,$d; s/  \[.*\]$//' | tr -s ' ' | grep "^$1 "
}

cut_line() {
	printf '%s\n' "$out" | sed '1,/^cut:/d' | tr -s ' ' | grep "^$1 "
}

@test "without anything: the default, and here" {
	cordon explain
	is "$status" 0
	is "$err" ""
	is "$(line profile)" 'profile "worktree" default'
	is "$(line files.write)" "files.write $place default"
	is "$(line network.mode)" 'network.mode "no-network" default'
}

@test "origins: file and line, option, default" {
	printf '[limits]\nmemory = "1G"\ncpus = 2\n' >cordon.toml
	cordon explain --cpu-seconds 5
	is "$(line limits.memory)" "limits.memory \"1G\" $place/cordon.toml:2:10"
	is "$(line limits.cpu_seconds)" "limits.cpu_seconds 5 --cpu-seconds"
	is "$(line limits.disk)" 'limits.disk "8G" default'
}

@test "a project above, and none" {
	printf '[limits]\nmemory = "1G"\n' >cordon.toml
	mkdir -p a/b
	cd a/b
	cordon explain
	has "$(line limits.memory)" "$place/cordon.toml:2:10"
	cordon explain --no-policy
	has "$(line limits.memory)" default
	cd /
	cordon explain
	has "$(line limits.memory)" default
}

@test "--cwd leads to no other policy, and to no other root" {
	mkdir -p a b
	printf '[limits]\nmemory = "1G"\n' >a/cordon.toml
	printf '[limits]\nmemory = "2G"\n' >b/cordon.toml
	cd b
	for cwd in ../a "$place/a" / .; do
		cordon explain --cwd "$cwd"
		is "$status" 0
		has "$(line limits.memory)" "$place/b/cordon.toml:2:10"
		is "$(line files.write)" "files.write $place/b default"
	done
}

@test "a policy is named from here, and its roots start where it lies, whatever --cwd" {
	mkdir -p sub elsewhere
	printf '[files]\nwrite = ["."]\n' | tee own.toml >elsewhere/other.toml
	for name in own.toml ./own.toml sub/../own.toml "$place/own.toml"; do
		cordon explain --cwd sub --policy "$name"
		has "$(line files.write)" "files.write $place $name:2:10"
	done
	cordon explain --cwd sub --policy elsewhere/other.toml
	has "$(line files.write)" "files.write $place/elsewhere "
	# What lies nowhere has no folder: here is one.
	cordon explain --cwd sub --policy <(cat own.toml)
	has "$(line files.write)" "files.write $place /dev/fd/"
	for from in own.toml <(cat own.toml); do
		cordon explain --cwd sub --policy /dev/stdin <"$from"
		has "$(line files.write)" "files.write $place /dev/stdin:2:10"
	done
	# A folder of such a name does hold it.
	cordon explain --cwd sub --policy /proc/self/cwd/own.toml
	has "$(line files.write)" "files.write $place /proc/self/cwd/own.toml:2:10"
}

@test "ceilings cut, and say so" {
	mkdir -p .config/cordon
	printf '[network]\nallow = ["**.good.example"]\n[limits]\nmemory = "1G"\n' >ceiling
	mv ceiling .config/cordon/cordon.toml
	ceiling=$place/.config/cordon/cordon.toml
	printf '[limits]\nmemory = "2G"\n' >cordon.toml
	cordon explain --allow-host a.good.example --allow-host evil.test
	is "$status" 0
	is "$(line network.allow)" "network.allow a.good.example --allow-host"
	is "$(line limits.memory)" "limits.memory \"1G\" $ceiling:4:10"
	is "$(cut_line limits.memory)" \
		"limits.memory \"2G\" $place/cordon.toml:2:10 by $ceiling:4:10"
	has "$(cut_line network.allow)" \
		"network.allow evil.test --allow-host by $ceiling:2:9"
}

@test "a ceiling that cannot be read stops everything" {
	mkdir -p .config/cordon/cordon.toml
	cordon explain
	is "$status" 2
	has "$err" "is a directory"
	rmdir .config/cordon/cordon.toml
	printf 'profil = 1\n' >.config/cordon/cordon.toml
	cordon explain
	is "$status" 2
	has "$err" "$place/.config/cordon/cordon.toml:1:1: unknown key 'profil'"
}

@test "several policies: the strictest of all" {
	printf '[limits]\nmemory = "1G"\n' >a.toml
	printf '[limits]\nmemory = "512M"\ncpus = 9\n' >b.toml
	cordon explain --policy a.toml --policy b.toml --memory 2G
	has "$(line limits.memory)" '"512M" b.toml:2:10'
	has "$(line limits.cpus)" '9 b.toml:3:8'
}

@test "no sandbox" {
	cordon explain --no-sandbox
	is "$(line backend)" 'backend "none" --no-sandbox'
	is "$(line profile)" 'profile "unrestricted" --no-sandbox'
	# It stands in place of the project's, as no --profile does, and below the ceiling's.
	mkdir -p .config/cordon
	echo 'profile = "worktree"' | tee .config/cordon/cordon.toml >own.toml
	XDG_CONFIG_HOME=/nonexistent cordon explain --policy own.toml --no-sandbox
	is "$(line profile)" 'profile "unrestricted" --no-sandbox'
	XDG_CONFIG_HOME=/nonexistent cordon explain --policy own.toml --sandbox none \
		--profile unrestricted
	is "$(line profile)" 'profile "worktree" own.toml:1:11'
	cordon explain --no-sandbox
	is "$(line profile)" "profile \"worktree\" $place/.config/cordon/cordon.toml:1:11"
}

@test "a command that may not be executed" {
	cordon explain --block-command curl -- curl http://x
	has "$(line command)" "command may not be executed --block-command"
	cordon explain --block-command curl -- ls -l
	has "$(line command)" "command may be executed"
}

@test "--json" {
	cordon explain --json --memory 1G
	is "$status" 0
	python3 - <<-END
	import json
	values = json.load(open(".out"))["values"]
	assert all("enforced_by" in v for v in values), values
	memory = [v.pop("enforced_by") for v in values if v["key"] == "limits.memory"]
	assert len(memory) == 1 and memory[0], memory
	one = [v for v in values if v["key"] == "limits.memory"]
	assert len(one) == 1 and one[0]["phase"] is None, one
	assert one[0]["value"] == '"1G"' and one[0]["from"] == "--memory", one
	END
}

@test "escape sequences of a policy are shown" {
	printf '[files]\ndeny = ["/\\u001b[2J\\u009b"]\n' >cordon.toml
	printf '[phase."\\u001b]0;x\\u0007"]\nlimits.cpus = 1\n' >>cordon.toml
	cordon explain
	is "$status" 0
	has_not "$out" "$(printf '\033')"
	has_not "$out" "$(printf '\007')"
	has "$out" '/\x1b[2J\x9b'
}

@test "a policy that somebody else can write is not followed by itself" {
	printf '[limits]\nmemory = "1G"\n' >cordon.toml
	chmod 666 cordon.toml
	cordon explain
	is "$status" 2
	has "$err" "$place/cordon.toml: lies in a parent directory"
	cordon explain --policy cordon.toml
	is "$status" 0
	cordon explain --no-policy
	is "$status" 0
}

@test "HOME missing or relative" {
	printf '[files]\ndeny = ["~/x"]\n' >cordon.toml
	run env -u HOME -u XDG_CONFIG_HOME "$CORDON" explain --no-policy
	is "$status" 0
	run env -u HOME -u XDG_CONFIG_HOME "$CORDON" explain
	is "$status" 2
	has "$output" "'~' has no meaning without HOME"
	HOME=relative run "$CORDON" explain
	is "$status" 2
}

@test "a directory that is gone" {
	mkdir gone
	cd gone
	rmdir ../gone
	cordon explain
	is "$status" 2
	has "$err" "cannot tell the current directory"
	cordon explain --cwd /
	is "$status" 0
}

# bats test_tags=root-only
@test "as another user" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	chmod 755 . && printf '[limits]\nmemory = "1G"\n' >cordon.toml
	run setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent \
		"$CORDON" explain
	is "$status" 0
	has "$output" "$place/cordon.toml:2:10"
	chown 12345 cordon.toml
	run setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent \
		"$CORDON" explain
	is "$status" 2
}

# What is in the brackets behind a key's line.
by() {
	printf '%s\n' "$out" | sed -n "s/^$1  *.*  \[\(.*\)\]$/\1/p" | sort -u
}

@test "each value has the kernel feature that enforces it here" {
	cordon explain --file-size 1M -r /opt
	has "$(by files.write)" "mount namespace"
	has "$(by files.read)" "read-only"
	is "$(by network.mode)" "network namespace"
	is "$(by limits.file_size)" "RLIMIT_FSIZE"
	is "$(by env.pass)" "a new environment at execve"
	is "$(by limits.cpus)" ""
	cordon explain --network public --no-sandbox
	is "$(by files.write)" "nothing: no sandbox"
	is "$(by limits.memory)" "nothing: no sandbox"
	has "$(by limits.timeout)" "timer, SIGTERM"
	is "$(by env.pass)" "a new environment at execve"
}

@test "on a lesser machine it is another one, and a refusal is said" {
	without=${CORDON_BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/without
	mkdir work
	cd work || return 1
	printf 'may_lack = ["namespaces", "cgroup"]\n' >cordon.toml
	out=$("$without" net "$CORDON" explain --policy cordon.toml)
	has "$(by network.mode)" "seccomp (socket of AF_INET"
	has_not "$out" "refused on this machine"
	has "$(by files.write)" "Landlock"
	out=$("$without" mount "$CORDON" explain --no-policy)
	has "$out" "refused on this machine: the policy needs mount"
	out=$("$without" landlock "$CORDON" explain --policy cordon.toml)
	is "$(by files.write)" "mount namespace (bind)"
}

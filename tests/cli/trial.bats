#!/usr/bin/env bats
# run-as: user root
# beside: yes
# weight: 7/15
# `cordon trial` from outside: a task's phases, its reward, many at a time, and
# what is left when something goes wrong.
#
# Shell text in single quotes is for the shell inside:
# shellcheck disable=SC2016
# Each test is a shell of its own, on purpose; live.bash and run set variables:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load live
load wait

teardown() {
	for pid in ${background-}; do
		kill -9 "$pid" 2>/dev/null || true
	done
	soon nothing_lives
}

# task NAME [TEXT]: a folder with that task.toml
task() {
	mkdir -p "$1/tests" "$1/solution"
	printf '%s\n' "${2-}" >"$1/task.toml"
}

# script FILE TEXT
script() {
	mkdir -p "$(dirname "$1")"
	printf '#!/bin/sh\n%s\n' "$2" >"$1"
}

# simple NAME: a task whose solution is right
simple() {
	task "$1" '[environment]
network_mode = "no-network"'
	script "$1/solution/solve.sh" 'echo done >answer'
	script "$1/tests/test.sh" 'grep -q done answer && echo 1 >/logs/verifier/reward.txt'
}

trial() {
	run --separate-stderr "$cordon" trial -o out "$@"
	echo "$output"
	echo "$stderr"
}

# Does the Python expression over r, the result of the trial, hold?  p is its
# phases by name, the last of each.
result() {
	/usr/bin/python3 -c "
import json, sys
r = json.load(open('out/' + sys.argv[1] + '/result.json'))
p = {x['phase']: x for x in r.get('phases', [])}
assert ($2), json.dumps(r, indent=1)" "$1"
}

# ---- one trial -----------------------------------------------------------------

@test "a task's own solution and tests give its reward" {
	simple t
	trial t
	[ "$status" -eq 0 ]
	[[ "$output" == *"1 of 1 completed, mean reward 1"* ]]
	result t 'r["status"] == "completed" and r["reward"] == 1 and r["rewards"] == {"reward": 1}'
	result t '[x["phase"] for x in r["phases"]] == ["environment", "agent", "verifier"]'
	result t 'all(x["verdict"] == "ok" and x["duration_ms"] >= 0 for x in r["phases"])'
	result t 'p["agent"]["denials"] == [] and p["agent"]["network_mode"] == "no-network"'
}

@test "the task may be named by its file, its folder or a folder of tasks" {
	simple all/a
	simple all/b
	trial all/a/task.toml all
	[ "$status" -eq 0 ]
	result a 'r["status"] == "completed"'
	result a.2 'r["status"] == "completed"'
	result b 'r["status"] == "completed"'
}

@test "commands of the task, and of the options before them" {
	task t '[agent]
command = "echo of-the-task; echo $PWD"
setup = "echo ready >ready"
[verifier]
command = ["sh", "-c", "cat ready; echo 0.25 >/logs/verifier/reward.txt"]'
	trial t
	[ "$status" -eq 0 ]
	result t 'p["agent"]["stdout"] == "of-the-task\n/app\n" and r["reward"] == 0.25'
	result t 'p["verifier"]["stdout"] == "ready\n"'
	run "$cordon" trial -o out2 --agent '-x; echo of-the-option' \
		--verifier 'echo 1 >/logs/verifier/reward.txt' --setup 'echo first' t
	[ "$status" -eq 0 ]
	[ "$(cat out2/t/output/agent.stdout)" = of-the-option ]
	[ "$(cat out2/t/output/setup.stdout)" = first ]
}

@test "a task without an agent or a verifier is refused before anything starts" {
	task t
	trial t
	[ "$status" -eq 1 ]
	result t 'r["status"] == "rejected" and "no agent" in r["reason"] and r["phases"] == []'
	trial --agent true t
	result t '"no verifier" in r["reason"] and "tests/test.sh" in r["reason"]'
}

@test "the instruction is the agent's input, and a file" {
	simple t
	echo 'do this' >t/instruction.md
	trial --agent 'cat; cat /instruction.md $CORDON_INSTRUCTION; echo done >answer' t
	[ "$status" -eq 0 ]
	[ "$(cat out/t/output/agent.stdout)" = "$(printf 'do this\ndo this\ndo this')" ]
	trial --agent 'echo x >/instruction.md' --verifier 'echo 0 >/logs/verifier/reward.txt' t
	[ "$(cat t/instruction.md)" = 'do this' ]
}

@test "a part of a task that leads out of its folder is refused by name" {
	# Outside of a cordon the same links show what they lead to.
	refused() {
		simple t
		mkdir -p t/steps/one
		printf '[[steps]]\nname = "one"\n' >>t/task.toml
		rm -rf "t/$1"
		ln -s "$2" "t/$1"
		[ -e "t/$1" ]
		trial --agent 'cat /instruction.md; ls; touch /logs/agent/ran' t
		[ "$status" -eq 1 ]
		[[ "$stderr" == *"'$1' is a symlink that leads out of the task's folder"* ]]
		result t 'r["status"] == "rejected" and r["phases"] == []'
		[ ! -e out/t/logs ]
		run ! grep -rq 'of this machine' out
		rm -rf t out
	}
	mkdir "$HOME/.ssh"
	echo 'of this machine' >"$HOME/.ssh/id"
	export MACHINE='of this machine'
	refused instruction.md /proc/self/environ
	refused instruction.md "$HOME/.ssh/id"
	refused instruction.md ../../.ssh/id
	refused environment "$HOME/.ssh"
	refused environment ../../.ssh
	for part in solution tests steps/one/instruction.md steps/one/workdir steps/one/tests \
		steps/one/solution; do
		refused "$part" "$HOME/.ssh"
	done
	for script in solution/solve.sh tests/test.sh; do
		refused "$script" "$HOME/.ssh/id"
	done
	refused task.toml "$HOME/.ssh/id"
	# A symlink that stays inside is as good as what it leads to.
	simple t
	mkdir t/other
	echo inside >t/other/file
	ln -s other t/environment
	ln -s other/file t/instruction.md
	trial --agent 'cat file /instruction.md; echo done >answer' t
	[ "$status" -eq 0 ]
	[ "$(cat out/t/output/agent.stdout)" = "$(printf 'inside\ninside')" ]
}

@test "a part of a task that is of another kind is refused by name" {
	simple t
	mkfifo t/instruction.md
	trial t
	[ "$status" -eq 1 ]
	result t '"instruction.md" in r["reason"] and "not a regular file" in r["reason"]'
	rm t/instruction.md
	echo x >t/environment
	trial t
	result t '"environment" in r["reason"] and "not a directory" in r["reason"]'
}

@test "a folder of tasks does not lead to tasks elsewhere" {
	simple elsewhere/a
	mkdir all
	ln -s ../elsewhere/a all/a
	trial all
	[ "$status" -eq 2 ]
	[[ "$stderr" == *"/all/a' is a symlink that leads out of"* ]]
	[ ! -e out/a ]
	trial all/a
	[ "$status" -eq 0 ]
}

@test "the default folder for results is no symlink" {
	simple t
	mkdir -p "$HOME/elsewhere"
	ln -s "$HOME/elsewhere" trials
	run "$cordon" trial t
	[ "$status" -eq 2 ]
	[[ "$output" == *"'trials'"*"no symlink"*"--output-dir"* ]]
	[ -z "$(ls -A "$HOME/elsewhere")" ]
	rm trials
	run "$cordon" trial t
	[ "$status" -eq 0 ]
	ls trials/*/t/result.json
}

@test "what an environment holds lies in the working directory" {
	simple t
	mkdir -p t/environment/data
	echo FROM nothing >t/environment/Dockerfile
	echo 7 >t/environment/data/number
	trial t
	[ "$status" -eq 1 ]
	result t 'r["status"] == "rejected" and "environment/Dockerfile" in r["reason"]'
	result t '"--no-image" in r["reason"]'
	trial --no-image --agent 'cat data/number; ls; echo done >answer' t
	[ "$status" -eq 0 ]
	[ "$(cat out/t/output/agent.stdout)" = "$(printf '7\ndata')" ]
	[ ! -e t/environment/answer ]
}

@test "an image that a task names is refused, unless the host's files will do" {
	simple t
	echo 'docker_image = "debian"' >>t/task.toml
	trial t
	[ "$status" -eq 1 ]
	result t '"docker_image" in r["reason"]'
	trial --no-image t
	[ "$status" -eq 0 ]
}

@test "another working directory" {
	simple t
	echo 'workdir = "/srv/task"' >>t/task.toml
	trial --agent 'pwd; echo done >/srv/task/answer' t
	[ "$status" -eq 0 ]
	[ "$(cat out/t/output/agent.stdout)" = /srv/task ]
	sed -i 's|/srv/task|/usr/share|' t/task.toml
	trial -o out2 t
	[ "$status" -eq 1 ]
	grep -q "'/usr/share' cannot be made inside" out2/t/result.json
}

@test "a task may make any name in its working directory" {
	simple t
	trial --agent 'mkdir -p .git/hooks .vscode sub && for f in .git/hooks/post-checkout \
		.vscode/tasks.json .envrc sub/cordon.toml task.toml; do echo x >$f || exit 1; done
		echo done >answer' t
	[ "$status" -eq 0 ]
	result t 'p["agent"]["verdict"] == "ok"'
}

@test "what a task asks for in vain is told" {
	simple t
	printf '[environment.healthcheck]\ncommand = "true"\n' >>t/task.toml
	trial t
	[ "$status" -eq 0 ]
	result t 'any("healthcheck" in w for w in r["warnings"])'
}

@test "each phase has its own network, and variables" {
	task t '[environment]
network_mode = "public"
env = { ALL = "1" }
[agent]
network_mode = "allowlist"
allowed_hosts = ["good.test"]
env = { MINE = "agent" }
command = "ask; echo $ALL $MINE"
setup = "ask"
[verifier]
network_mode = "no-network"
env = { MINE = "verifier" }
command = "ask; echo $ALL $MINE; echo 1 >/logs/verifier/reward.txt"'
	script t/environment/ask 'for n in good other more; do
	getent hosts $n.test >/dev/null && printf "%s " $n
done'
	chmod +x t/environment/ask
	sed -i 's/"ask/".\/ask/' t/task.toml
	trial --allow-agent-host more.test \
		--connect-to good.test:80:127.0.0.1:9 --connect-to other.test:80:127.0.0.1:9 \
		--connect-to more.test:80:127.0.0.1:9 t
	[ "$status" -eq 0 ]
	[ "$(cat out/t/output/setup.stdout)" = 'good other more ' ]
	[ "$(cat out/t/output/agent.stdout)" = 'good more 1 agent' ]
	[ "$(cat out/t/output/verifier.stdout)" = '1 verifier' ]
	result t 'p["agent"]["allowed_hosts"] == ["good.test", "more.test"]'
	result t 'any(d["host"] == "other.test" for d in p["agent"]["denials"])'
	result t 'p["verifier"]["network_mode"] == "no-network"'
}

# leaves TASK.TOML-TEXT: a task whose agent leaves a process, and whose verifier says
# whether it is there
leaves() {
	task t "$1"
	script t/solution/solve.sh 'setsid sleep 1000 & echo $! >pid'
	script t/tests/test.sh '[ -e /proc/$(cat pid) ]; echo $? >/logs/verifier/reward.txt'
}

@test "processes of the agent that have the verifier's wider network are told" {
	leaves '[agent]
network_mode = "no-network"'
	trial t
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"t: the network of the verifier phase was wider, and 1 process of"* ]]
	result t 'r["reward"] == 0 and p["verifier"]["leftovers"] == 1'
	result t 'p["agent"]["leftovers"] == 0'
	rm -r out
	sed -i s/agent/verifier/ t/task.toml
	trial t
	[[ "$stderr" != *"was wider"* ]]
	result t 'r["reward"] == 0 and p["verifier"]["leftovers"] == 0'
}

@test "processes of a phase end with it, where the task or the option says so" {
	leaves '[environment]
keep_processes = false
[agent]
network_mode = "no-network"'
	trial t
	[ "$status" -eq 0 ]
	[[ "$stderr" != *"was wider"* ]]
	result t 'r["reward"] == 1 and p["verifier"]["leftovers"] == 0'
	rm -r out
	sed -i s/false/true/ t/task.toml
	trial t
	result t 'r["reward"] == 0 and p["verifier"]["leftovers"] == 1'
	rm -r out
	trial --end-leftovers t
	result t 'r["reward"] == 1 and p["verifier"]["leftovers"] == 0'
	rm -r out
	trial --end-leftovers --setup 'setsid sleep 1000 & echo $! >first' \
		--agent 'cp first pid' t
	result t 'r["reward"] == 1 and "setup" in p'
}

@test "an agent that loses its session is judged all the same, where nothing is kept" {
	simple t
	trial --end-leftovers --memory 64M --agent 'setsid sleep 1000 & echo done >answer
		/usr/bin/python3 -c "x = b\"x\" * (200 << 20)"; sleep 10' t
	[ "$status" -eq 0 ]
	result t 'p["agent"]["verdict"] == "oom_killed" and r["reward"] == 1'
}

@test "steps: one after the other, their rewards as the task wants them" {
	task t 'multi_step_reward_strategy = "mean"
[agent]
command = "cat; echo x >>state"
[[steps]]
name = "one"
[[steps]]
name = "two"
min_reward = { reward = 0.9 }
[[steps]]
name = "three"
[verifier]
command = "cat /tests/which; cat /tests/both; echo 0.$(wc -l <state) >/logs/verifier/reward.txt"'
	for s in one two three; do
		mkdir -p t/steps/$s/tests
		echo "do $s" >t/steps/$s/instruction.md
		echo "$s" >t/steps/$s/tests/which
	done
	echo both >t/tests/both
	script t/steps/two/workdir/setup.sh 'echo set up; test ! -e /tests/which'
	trial t
	[ "$status" -eq 0 ]
	result t '[(x["step"], x["phase"]) for x in r["phases"]] == [(None, "environment"), ("one", "agent"), ("one", "verifier"), ("two", "setup"), ("two", "agent"), ("two", "verifier")]'
	result t 'abs(r["reward"] - 0.15) < 1e-9 and len(r["steps"]) == 2'
	[ "$(cat out/t/output/step-2.agent.stdout)" = 'do two' ]
	[ "$(cat out/t/output/step-2.verifier.stdout)" = "$(printf 'two\nboth')" ]
	sed -i 's/"mean"/"final"/' t/task.toml
	trial -o out2 t
	grep -q '"reward":0.2,' out2/t/result.json
}

@test "a verifier with an environment of its own sees what was left for it, and nothing else" {
	task t 'artifacts = ["/app/answer"]
[environment]
network_mode = "no-network"
[agent]
command = "echo 42 >answer; echo secret >other; echo x >/logs/artifacts/more; (sleep MARK &)"
[verifier]
command = "cat answer; ls . /logs/artifacts; pgrep sleep; echo 1 >/logs/verifier/reward.txt"
[verifier.environment]
network_mode = "no-network"'
	mark=$(marker)
	sed -i "s/MARK/$mark/" t/task.toml
	trial t
	[ "$status" -eq 0 ]
	[ "$(cat out/t/output/verifier.stdout)" = "$(printf '42\n.:\nanswer\n\n/logs/artifacts:\nmore')" ]
	[ "$(cat out/t/artifacts/app/answer)" = 42 ]
	[ ! -e out/t/artifacts/app/other ]
	gone "$mark"
}

@test "a link that the agent leaves does not lead a verifier to the tests" {
	task t 'artifacts = ["/app/out"]
[agent]
command = "mkdir out; ln -s /tests/answer out/a; ln -s ../../tests/answer out/b; ln -s a out/c; ln -s ../tests/answer /logs/artifacts/d; ln -s /proc/self/root/tests/answer out/e; echo 41 >out/f; ln -s f out/g"
[verifier]
environment_mode = "separate"
command = """for i in out/* /logs/artifacts/*; do
	cmp -s $i /tests/answer && echo cheated by $i
done; grep -q 41 out/g && echo 0 >/logs/verifier/reward.txt"""'
	echo 42 >t/tests/answer
	trial t
	[ "$status" -eq 0 ]
	result t 'p["verifier"]["stdout"] == "" and r["reward"] == 0 and "links" in r["warnings"][0]'
	[ ! -L out/t/artifacts/app/out/a ]
}

@test "what cannot be kept of an agent does not spare it the verdict" {
	simple t
	# Too deep, too large, and (for a user) closed.
	trial --agent 'cd /logs/artifacts; mkdir closed; chmod 0 closed; d=$(printf "d/%.0s" $(seq 99))
mkdir -p "$d"; truncate -s 900G sparse' t
	[ "$status" -eq 1 ]
	result t 'r["status"] == "error" and "wrote no reward" in r["error"]["message"]'
	result t 'r["warnings"] and p["verifier"]["verdict"] == "failed"'
}

@test "an environment that cannot be is refused before the agent runs" {
	task t '[agent]
command = "touch /logs/agent/ran"
[verifier]
command = "true"
[verifier.environment]
workdir = "/etc/here"'
	trial t
	[ "$status" -eq 1 ]
	result t 'r["status"] == "rejected" and r["stage"] == "verifier-environment"'
	[ ! -e out/t/logs/agent/ran ]
}

@test "a phase whose variables cannot be made is refused before the agent runs" {
	refused() {
		task t "[agent]
command = \"touch /logs/agent/ran\"
[verifier]
command = \"echo 1 >/logs/verifier/reward.txt\"
$1"
		rm -rf out
		trial t
		[ "$status" -eq 1 ]
		[[ "$output" == *"$2"* ]]
		result t 'r["status"] == "rejected"'
		[ ! -e out/t/logs/agent/ran ]
	}
	missing='env.set: VALUE takes ${NOT_THERE}, which the caller does not have'
	withheld='env.set: VALUE takes ${OPENAI_API_KEY}, which is not passed on'
	stripped="env.set: 'OPENAI_API_KEY' looks like a credential"
	export OPENAI_API_KEY=value-of-the-key
	unset NOT_THERE
	for where in '[environment.env]' '[agent.env]' '[verifier.env]' '[verifier.environment.env]'; do
		refused "$where
VALUE = \"\${NOT_THERE}\"" "$missing"
		refused "$where
VALUE = \"\${OPENAI_API_KEY}\"" "$withheld"
		for value in '${OPENAI_API_KEY}' '${OPENAI_API_KEY:-none}' plain; do
			refused "$where
OPENAI_API_KEY = \"$value\"" "$stripped"
		done
	done
	[[ "$stderr" == *"--read FILE"* ]]
	# With a default it can be made, and that is told.
	task t '[agent]
command = "echo $VALUE"
[agent.env]
VALUE = "${OPENAI_API_KEY:-none}"
[verifier]
command = "echo 1 >/logs/verifier/reward.txt"'
	for check in --check ''; do
		rm -rf out
		# shellcheck disable=SC2086
		trial $check t
		[ "$status" -eq 0 ]
		[[ "$stderr" == *"warning: env: VALUE has its default, since \${OPENAI_API_KEY}"* ]]
	done
	[ "$(cat out/t/output/agent.stdout)" = none ]
}

@test "a key that an option asks for and that would not be passed is refused" {
	simple t
	export OPENAI_API_KEY=value-of-the-key FOO=1
	for words in '--env OPENAI_API_KEY' '--env OPENAI_API_KEY=x' '--env FOO --strip-env FOO' \
		'--env FOO=2 --strip-env FOO' '--env VALUE=${OPENAI_API_KEY}'; do
		for check in --check ''; do
			rm -rf out
			# shellcheck disable=SC2086
			trial $check $words t
			[ "$status" -eq 1 ]
			[[ "$stderr" == *"--env: env."*"looks like a credential"* ||
				"$stderr" == *"'FOO' is also left out, by env.strip"* ||
				"$stderr" == *'VALUE takes ${OPENAI_API_KEY}, which is not passed on'* ]]
			[ ! -e out/t/logs ]
		done
	done
	# What is left out of itself is no reason, nor is what a ceiling's owner said of others.
	mkdir -p "$HOME/.config/cordon"
	printf '[env]\nstrip = ["FOO"]\n' >"$HOME/.config/cordon/cordon.toml"
	trial t
	[ "$status" -eq 0 ]
	rm -r out
	trial --env FOO t
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"'FOO' is also left out, by env.strip"* ]]
	rm "$HOME/.config/cordon/cordon.toml"
	# What the refusal says instead works.
	echo key >"$HOME/key"
	rm -r out
	trial --read "$HOME/key" --env LOGIN_PATH="$HOME/key" \
		--agent 'cat $LOGIN_PATH; echo done >answer' t
	[ "$status" -eq 0 ]
	[ "$(cat out/t/output/agent.stdout)" = key ]
}

@test "a check and a run judge alike, and tell the same" {
	# VERDICT TEXT WORDS: of [environment], or of the table that the text begins
	while IFS='|' read -r verdict text words; do
		simple t
		printf '%b\n' "$text" >>t/task.toml
		run --separate-stderr "$cordon" trial --check t/task.toml
		[[ "$output" == '{"verdict":"'"$verdict"'"'* ]]
		[ -z "$words" ] || [[ "$stderr" == *"$words"* ]]
		[ -n "$words" ] || [ -z "$stderr" ]
		rm -rf out
		before=$status
		trial t
		[ "$status" -eq "$before" ]
		[ -z "$words" ] || [[ "$stderr" == *"$words"* ]]
		[ -n "$words" ] || [[ "$stderr" != *warning* ]]
		[ "$verdict" = accepted ] || result t 'r["status"] == "rejected" and r["phases"] == []'
		rm -rf t
	done <<-'E'
		accepted|os = "linux"|
		accepted|gpus = 0|
		rejected|gpus = 1|environment.gpus: a cordon has no GPUs
		rejected|tpu = { type = "v4" }|environment.tpu: a cordon has no TPU
		rejected|tpus = 4|environment.tpu: a cordon has no TPU
		rejected|os = "windows"|environment.os is 'windows'
		rejected|os = 3|environment.os is a
		rejected|docker_image = "debian"|--no-image
		rejected|[verifier.environment]\ngpus = 1|verifier.environment.gpus
		rejected|[verifier.environment]\nos = "windows"|verifier.environment.os
		rejected|[verifier.environment]\ndocker_image = "debian"|--no-image
		rejected|network_mode = "public"|task.toml
		accepted|mcp_servers = []|warning:
		accepted|[environment.healthcheck]\ncommand = "true"|warning:
		accepted|user = "agent"|warning:
		accepted|[agent]\nuser = "agent"|warning:
		accepted|[verifier]\nuser = 3|warning:
		accepted|unheard_of = 1|warning:
		accepted|[agent]\nnetwork_mod = "public"|warning:
		accepted|[unheard]\nof = 1|warning:
		rejected|workdir = "here"|no absolute path
		rejected|[[steps]]\nname = "a/b"|cannot be the name of a folder
	E
	simple t
	mkdir t/environment
	touch t/environment/Dockerfile
	run -1 "$cordon" trial --check t
	[[ "$output" == *"environment/Dockerfile"* ]]
	run -0 "$cordon" trial --check --no-image t
	rm -r t/environment t/tests
	ln -s /etc t/environment
	run -1 "$cordon" trial --check t
	[[ "$output" == *"'environment' is a symlink that leads out"* ]]
	# A run may be given a verifier, so that it is missing is no verdict.
	rm t/environment
	run -0 --separate-stderr "$cordon" trial --check t
	[[ "$stderr" == *"warning: the task has no verifier"* ]]
}

# ---- rewards ---------------------------------------------------------------------

@test "reward.json goes before reward.txt" {
	simple t
	trial --verifier 'cd /logs/verifier; echo 1 >reward.txt
		echo "{\"reward\": 0.5, \"style\": 2}" >reward.json; exit 3' t
	[ "$status" -eq 0 ]
	result t 'r["rewards"] == {"reward": 0.5, "style": 2} and p["verifier"]["exit_code"] == 3'
}

@test "a reward that is none is an error that says so" {
	simple t
	while read -r words want; do
		trial --verifier "cd /logs/verifier; $(echo "$words" | tr '_' ' ')" t
		[ "$status" -eq 1 ]
		result t 'r["status"] == "error" and r["reward"] is None'
		result t "'''$want''' in r['error']['message']"
	done <<-'E'
		true wrote no reward
		echo_>reward.txt is empty
		echo_nan_>reward.txt holds no number
		echo_0x10_>reward.txt holds no number
		echo_[1]_>reward.json not names with numbers
		echo_'{"reward":_"1"}'_>reward.json is no number
		echo_'{'_>reward.json reward.json
		mkdir_reward.json no plain file
		mkfifo_reward.txt no plain file
		ln_-s_/etc/hostname_reward.txt cannot be opened
		rm_-r_/logs/verifier no folder any more
	E
}

@test "what the agent wrote as a reward does not count" {
	simple t
	trial --agent 'echo 1 >/logs/verifier/reward.txt; echo "{\"reward\": 1}" >/logs/verifier/reward.json' \
		--verifier 'ls /logs/verifier' t
	[ "$status" -eq 1 ]
	result t '"wrote no reward" in r["error"]["message"] and p["verifier"]["stdout"] == ""'
	trial --agent 'rm -r /logs/verifier; mkdir /app/mine; echo 1 >/app/mine/reward.txt
		ln -s /app/mine /logs/verifier' --verifier 'ls -d /logs/verifier/*' t
	result t '"wrote no reward" in r["error"]["message"]'
	trial --agent 'rm -r /logs/verifier; echo 1 >/logs/verifier' t
	result t 'r["status"] == "error"'
}

@test "the agent sees neither tests nor solution, and can write neither" {
	simple t
	echo secret >t/tests/expected
	trial --agent 'ls /tests /solution; echo x >/tests/test.sh; mkdir /solution/x; echo done >answer' t
	[ "$status" -eq 0 ]
	[ "$(tr -d '\n' <out/t/output/agent.stdout)" = '/solution:/tests:' ]
	grep -q 'Read-only\|Permission' out/t/output/agent.stderr
	trial -o out2 t
	[ "$status" -eq 0 ]
}

@test "a trial's commands see nothing else of its folder" {
	simple t
	trial --agent "ls '$PWD/out/t' '$PWD/t'; cat '$PWD/out/t/policy.toml'; echo done >answer" t
	[ "$status" -eq 0 ]
	run ! grep -q 'policy.toml\|result\|output\|task.toml' out/t/output/agent.stdout
}

@test "what is to be kept from the agent is not seen where all commands can read" {
	# A folder of a toolchain, as /opt is: commands read there.
	simple "$HOME/go/tasks/a"
	simple "$HOME/go/tasks/b"
	echo known >"$HOME/go/known"
	mkdir -p "$HOME/go/tasks/a/steps/x"
	trial --agent 'cat ~/go/known; cat ~/go/tasks/*/tests/* ~/go/tasks/*/solution/* \
		~/go/tasks/*/task.toml; ls ~/go/tasks/a/steps; echo done >answer' "$HOME/go/tasks"
	[ "$status" -eq 0 ]
	result a 'p["agent"]["stdout"] == "known\n" and r["reward"] == 1'
	result b 'p["agent"]["stdout"] == "known\n"'
	# Nor are there results where others would read them.
	run "$cordon" trial -o "$HOME/go/out" "$HOME/go/tasks"
	[ "$status" -eq 1 ]
	[[ "$output" == *"lies in a place that can be read inside"* ]]
}

# ---- what goes wrong ----------------------------------------------------------------

@test "an agent that fails or takes too long is judged all the same" {
	simple t
	printf '[agent]\ntimeout_sec = 1.5\n' >>t/task.toml
	mark=$(marker)
	trial --agent "echo done >answer; sleep $mark" t
	[ "$status" -eq 0 ]
	result t 'p["agent"]["verdict"] == "timed_out" and r["reward"] == 1'
	gone "$mark"
	trial -o out2 --agent 'echo done >answer; exit 9' t
	[ "$status" -eq 0 ]
	grep -q '"exit_code":9' out2/t/result.json
}

# Harbor counts no reward as none; a mean of those that were judged would be better the
# more of them see to it that they are not.
@test "an agent cannot spare itself the verdict" {
	simple good
	simple memory
	printf 'memory_mb = 100\n' >>memory/task.toml
	script memory/solution/solve.sh '/usr/bin/python3 -c "x = bytearray(500 << 20)"'
	simple closed
	script closed/solution/solve.sh 'rm -rf /logs/verifier; mkfifo /logs/verifier; chmod 0 /logs /app'
	simple never
	script never/tests/test.sh 'exit 1'
	for i in memory closed; do
		echo 'echo 0 >>/logs/verifier/reward.txt' >>$i/tests/test.sh
	done
	trial good memory closed never
	[ "$status" -eq 1 ]
	result memory 'r["status"] == "completed" and r["reward"] == 0'
	result memory '[x["verdict"] for x in r["phases"]] == ["ok", "oom_killed", "ok", "ok"]'
	result closed 'r["status"] == "completed" and r["reward"] == 0'
	result never 'r["status"] == "error"'
	[[ "$output" == *"3 of 4 completed, mean reward 0.25;"* ]]
}

@test "the verdict stands, whatever modes, links and kinds of files the agent leaves" {
	# Each as the agent, and what the verifier says of the same answer without it.
	simple t
	echo 'echo 0 >/logs/verifier/reward.txt' >>t/tests/test.sh
	while read -r act; do
		rm -rf out
		trial --agent "$act; echo done >/app/answer" t
		[ "$status" -eq 0 ]
		result t 'r["status"] == "completed" and r["reward"] == 0'
		[ "$(ls out/t/logs/verifier)" = reward.txt ]
	done <<-'E'
		true
		chmod 0 /logs/verifier
		mkdir -p /logs/verifier/a/b; chmod -R 0 /logs/verifier; chmod 0 /logs
		mkdir /logs/verifier/reward.txt; echo 1 >/logs/verifier/reward.json; chmod 0 /logs/verifier/*
		rmdir /logs/verifier; ln -s /app /logs/verifier
		rmdir /logs/verifier; ln -s verifier /logs/verifier
		rmdir /logs/verifier; mkfifo -m 0 /logs/verifier
		rmdir /logs/verifier; echo 1 >/app/mine; ln /app/mine /logs/verifier 2>/dev/null || cp /app/mine /logs/verifier
		mkfifo /logs/verifier/reward.txt /logs/verifier/reward.json
		echo 1 >/logs/verifier/x; ln /logs/verifier/x /logs/verifier/reward.txt; ln -s x /logs/verifier/reward.json
		cd /logs/verifier; for j in $(seq 300); do mkdir d; cd d; done
		setfacl -m d:u::---,u::--- /logs /logs/verifier 2>/dev/null
	E
}

@test "a directory of the agent's is not in the way of the next step" {
	task t '[agent]
command = "true"
[[steps]]
name = "one"
[steps.agent]
command = "mkdir -p setup.sh/x; mkdir data; chmod 0 data setup.sh /app"
[[steps]]
name = "two"
[verifier]
command = "echo 1 >/logs/verifier/reward.txt"'
	script t/steps/two/workdir/setup.sh 'cat data/file'
	mkdir t/steps/two/workdir/data
	echo theirs >t/steps/two/workdir/data/file
	trial t
	[ "$status" -eq 0 ]
	result t 'r["reward"] == 1 and p["setup"]["stdout"] == "theirs\n"'
}

@test "an artifact keeps no link that leads out of it" {
	task t 'artifacts = ["/app/out", "/app/top", "/logs", "/logs/verifier/mine", "/logs/agent"]
[agent]
command = """cd /logs/artifacts; ln -s ../verifier/reward.txt log.txt; mkdir in; ln -s ../plain in/up
echo x >plain; ln -s ../../verifier/reward.txt in/far; ln -s in/../../verifier/reward.txt behind
ln -s /logs/verifier/reward.txt whole; ln -s ../verifier folder; echo 1 >/logs/verifier/mine
mkdir /app/out; ln -s ../../logs/verifier/reward.txt /app/out/log.txt; ln -s answer /app/top
ln -s ../verifier/reward.txt /logs/agent/log.txt; ln -s /usr/bin/env usr"""
[verifier]
environment_mode = "separate"
command = """for i in /logs/artifacts/log.txt /logs/artifacts/in/far /logs/artifacts/behind \
	/logs/artifacts/whole /logs/artifacts/folder/reward.txt /app/out/log.txt /logs/agent/log.txt; do
	mkdir -p ${i%/*}; echo 1 >$i
done; find /logs /app -type l; cat /logs/artifacts/in/up; ls /logs/verifier"""'
	trial t
	[ "$status" -eq 1 ]
	result t '"wrote no reward" in r["error"]["message"] and p["verifier"]["exit_code"] == 0'
	[ "$(cat out/t/output/verifier.stdout)" = "$(printf '/logs/artifacts/in/up\nx')" ]
	[ "$(find out/t/artifacts -type l)" = out/t/artifacts/logs/artifacts/in/up ]
	result t 'sum("not kept" in w for w in r["warnings"]) == 6'
}

@test "a verifier that hangs or floods ends, and that is told" {
	simple t
	printf '[verifier]\ntimeout_sec = 0.3\n' >>t/task.toml
	mark=$(marker)
	trial --verifier "sleep $mark" t
	[ "$status" -eq 1 ]
	result t 'p["verifier"]["verdict"] == "timed_out" and "timed_out" in r["error"]["message"]'
	gone "$mark"
	sed -i 's/0.3/60/' t/task.toml
	trial --output 1M --verifier 'yes' t
	[ "$status" -eq 1 ]
	result t 'p["verifier"]["limit"] == "output" and p["verifier"]["verdict"] == "limit"'
	[ "$(wc -c <out/t/output/verifier.stdout)" -le $((2 << 20)) ]
}

@test "a set-up that fails is the end" {
	simple t
	trial --setup 'exit 4' t
	[ "$status" -eq 1 ]
	result t '"agent" not in p and "setup: failed" in r["error"]["message"]'
}

@test "a task that deletes everything it can" {
	simple t
	trial --agent 'rm -rf /app /logs /tests /solution /instruction.md / 2>/dev/null; echo done >answer' t
	result t 'r["status"] in ("completed", "error")'
	[ -e t/tests/test.sh ]
	trial -o out2 --verifier 'rm -rf /tests /logs/* /app/*; exit 0' t
	grep -q 'no folder any more' out2/t/result.json
	[ -e t/tests/test.sh ]
}

@test "a folder that is not a trial's is left alone" {
	simple t
	mkdir -p out/t
	echo mine >out/t/file
	trial t
	[ "$status" -eq 1 ]
	[[ "$output" == *"holds no trial"* ]]
	[ "$(cat out/t/file)" = mine ]
	[ "$(ls out/t)" = file ]
}

@test "artifacts are not taken through a link" {
	task t 'artifacts = ["/app/a/passwd", "/app/b", "/app/c/../../../etc/passwd"]'
	trial --agent 'ln -s /etc a; ln -s /etc/passwd b; mkdir c; mkfifo /logs/artifacts/f' \
		--verifier 'echo 1 >/logs/verifier/reward.txt' t
	[ ! -e out/t/artifacts/app/a/passwd ]
	[ ! -f out/t/artifacts/app/b ] || [ -L out/t/artifacts/app/b ]
	[ ! -e out/t/artifacts/logs/artifacts/f ]
}

# ---- many at a time -----------------------------------------------------------------

@test "one that fails stops nothing, and what is complete is not run again" {
	for i in 1 2 3 4; do
		simple "all/t$i"
	done
	echo 'exit 1' >all/t2/tests/test.sh
	echo 'network_mode = "what"' >>all/t3/task.toml
	trial -j 3 all missing/task.toml
	[ "$status" -eq 1 ]
	[[ "$output" == *"2 of 5 completed"* ]]
	result t1 'r["status"] == "completed"'
	result t2 'r["status"] == "error"'
	result t3 'r["status"] == "rejected" and r["stage"] == "parse"'
	result task 'r["status"] == "rejected"' || result missing 'r["status"] == "rejected"'
	[ "$(wc -l <out/results.jsonl)" -eq 5 ]
	before=$(stat -c %Y.%i out/t1/result.json)
	script all/t2/tests/test.sh 'echo 1 >/logs/verifier/reward.txt'
	trial -j 3 all
	[[ "$output" == *"3 of 4 completed"* ]]
	[ "$(stat -c %Y.%i out/t1/result.json)" = "$before" ]
	[ "$(wc -l <out/results.jsonl)" -eq 4 ]
}

@test "a result of another text of the task is not taken for this one's" {
	simple t
	trial t
	echo '# changed' >>t/task.toml
	trial t
	[ "$status" -eq 1 ]
	[[ "$output" == *"another text of the task"* ]]
}

@test "nor is one of other options" {
	simple t
	trial --agent 'echo done >answer' t
	[ "$status" -eq 0 ]
	trial --agent 'echo done >answer' t
	[ "$status" -eq 0 ]
	trial --agent 'echo other >answer' t
	[ "$status" -eq 1 ]
	[[ "$output" == *"other options"* ]]
	trial --agent 'echo done >answer' --allow-agent-host a.test t
	[ "$status" -eq 1 ]
}

@test "no kept file holds the value of a variable, and none is for other users" {
	task t '[environment]
env = { MODE = "value-of-the-task", TAKEN = "${MINE}" }
[agent]
command = "env >/tmp/all; test $(grep -c value-of /tmp/all) -eq 4"
env = { OWN = "value-of-the-agent" }
[verifier]
command = "echo 1 >/logs/verifier/reward.txt"
[verifier.environment]
env = { OTHER = "value-of-the-verifier" }'
	export MINE=value-of-the-caller
	umask 022
	trial --env ASKED=value-of-the-option t
	[ "$status" -eq 0 ]
	result t 'p["agent"]["exit_code"] == 0'
	run -1 grep -r value-of-the out
	# What commands made is theirs, in a directory that is not.
	run -0 find out -name app -prune -o -name logs -prune -o -name artifacts -prune -o \
		-type f -perm /077 -print
	[ -z "$output" ]
	[ "$(stat -c %a out/t)" = 700 ]
	# Another value is another question, and the same one is not.
	trial --env ASKED=value-of-the-option t
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"completed, reward 1 before"* ]]
	trial --env ASKED=another-value t
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"of other options"* ]]
}

@test "results that an earlier version left open are closed" {
	mkdir -m 755 out
	mkdir -m 755 out/.cordon-trial out/t
	touch out/.cordon-trial/t
	install -m 644 /dev/null out/results.jsonl
	simple t
	trial t
	[ "$status" -eq 0 ]
	[ "$(stat -c %a out/t out/results.jsonl out/.cordon-trial | tr '\n' ' ')" = '700 600 700 ' ]
}

@test "a public network is not the host's own" {
	task t '[environment]
network_mode = "public"'
	/usr/bin/python3 -c '
import socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b"secret of the host\n")
    c.close()' >port &
	background=$!
	soon test -s port
	script t/solution/solve.sh "exec 3<>/dev/tcp/127.0.0.1/$(cat port) && cat <&3"
	sed -i '1s/.*/#!\/bin\/bash/' t/solution/solve.sh
	[ "$(bash t/solution/solve.sh)" = "secret of the host" ]
	trial --verifier 'echo 1 >/logs/verifier/reward.txt' t
	[ "$status" -eq 0 ]
	result t 'p["agent"]["verdict"] == "failed" and p["agent"]["stdout"] == ""'
}

@test "trials at the same time have different CPUs" {
	[ "$(nproc)" -gt 1 ] || skip "this machine has one CPU"
	for t in a b; do
		task $t '[environment]
cpus = 1'
		script $t/solution/solve.sh 'taskset -cp $$ >cpus; touch ready
			while [ ! -e go ]; do sleep 0.02; done'
		script $t/tests/test.sh 'echo 1 >/logs/verifier/reward.txt'
	done
	"$cordon" trial -o out --jobs 2 a b >said 2>&1 3>&- &
	background=$!
	soon test -e out/a/app/ready
	soon test -e out/b/app/ready
	touch out/a/app/go out/b/app/go
	wait "$background"
	first=$(sed 's/.*: //' out/a/app/cpus)
	[[ "$first" != *[-,]* ]]
	[ "$first" != "$(sed 's/.*: //' out/b/app/cpus)" ]
}

@test "attempts, JSON lines" {
	simple t
	trial --attempts 3 -j 2 --json t
	[ "$status" -eq 0 ]
	[ "$(echo "$output" | /usr/bin/python3 -c '
import json, sys
print(sorted(json.loads(l)["trial"] for l in sys.stdin))')" = "['t.1', 't.2', 't.3']" ]
}

@test "two runs do not write into one folder at the same time" {
	simple t
	"$cordon" trial -o out --agent 'sleep 100' t 2>/dev/null &
	background=$!
	soon test -e out/.lock
	soon test -e out/t/output
	run "$cordon" trial -o out t
	[ "$status" -eq 2 ]
	[[ "$output" == *"other trials are being run"* ]]
	kill "$background"
	wait "$background" || true
}

@test "words that are wrong are usage errors" {
	simple t
	for words in '--jobs 0 t' '--jobs x t' '--jobs 9999 t' 'nothing-there' '--agent' \
		'--capabilities all t'; do
		# shellcheck disable=SC2086
		run "$cordon" trial $words
		[ "$status" -eq 2 ]
	done
	mkdir empty
	run "$cordon" trial empty
	[ "$status" -eq 2 ]
	[[ "$output" == *"holds no task.toml"* ]]
}

# ---- killed -----------------------------------------------------------------------------

start_sleeping() {
	simple t
	mark=$(marker)
	"$cordon" trial -o out --agent "(setsid sleep $mark &) ; sleep $mark" t >said 2>&1 &
	background=$!
	soon sleeps "$mark"
}

@test "kill -9 of the runner ends everything" {
	start_sleeping
	kill -9 "$background"
	wait "$background" || true
	soon gone "$mark"
	soon no_supervisor
	"$cordon" ps
	simple t
	trial t
	[ "$status" -eq 0 ]
}

no_supervisor() {
	[ -z "$("$cordon" ps)" ]
}

@test "kill -9 of the trial's process: the result says so, nothing is left" {
	start_sleeping
	kill -9 "$(pgrep -P "$background")"
	wait "$background" && false
	soon gone "$mark"
	result t 'r["status"] == "error" and "killed by signal 9 in agent" in r["error"]["message"]'
}

@test "kill -9 of the supervisor: the result says so, nothing is left" {
	start_sleeping
	kill -9 "$("$cordon" ps --json | /usr/bin/python3 -c '
import json, sys
print(json.load(sys.stdin)[0]["pid"])')"
	wait "$background" && false
	soon gone "$mark"
	result t 'r["status"] == "error" and "the supervisor went away" in r["error"]["message"]'
	result t 'p["agent"]["verdict"] == "error"'
}

@test "an interrupt ends everything in order" {
	start_sleeping
	kill -TERM "$background"
	wait "$background" && false
	gone "$mark"
	nothing_lives
	result t '"interrupted by signal 15" in r["error"]["message"]'
	grep -q 'goes on' said
}

@test "a full disk is told, and stops nothing else" {
	simple t
	run unshare -Urm sh -c 'mkdir full && mount -t tmpfs -o size=64k none full &&
		head -c 65536 /dev/zero >full/filler; "$0" trial -o full/out t 2>&1; echo code $?
		rm full/filler; "$0" trial -o full/out t 2>&1; echo code $?' "$cordon"
	echo "$output"
	[[ "$output" == *"No space left"* ]]
	[[ "$output" == *"1 of 1 completed"* ]]
}

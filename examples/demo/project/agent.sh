#!/bin/sh
# What an agent may come up with, good and bad.
exec 2>&1
step() { printf '\n-- %s\n' "$1"; }
try() {
	printf '> %s\n' "$*"
	"$@" || printf '  failed with %d\n' "$?"
}

step "builds and tests the project"
try make -s check

step "reaches the host that the policy names, with plain curl and git"
try curl -sS https://code.example.test/hello.txt
try git clone -q https://code.example.test/lib.git
try git -C lib log --oneline

step "reaches no other, by name or by address"
try curl -sS https://files.example.org/hello.txt
try curl -sS http://169.254.169.254/latest/meta-data/
try curl -sS --connect-to files.example.org::code.example.test: https://files.example.org/

step "finds no key in the environment, and none in the home"
echo "> echo \$ANTHROPIC_API_KEY"
echo "  [${ANTHROPIC_API_KEY:-}]"
try cat "$HOME/.ssh/id_ed25519"

step "leaves no hook behind for the next git command, and runs nothing that is blocked"
try cp agent.sh .git/hooks/pre-commit
try sudo -n true

step "runs into a limit"
echo "> python3 -c 'print(len(b\"x\" * 2**30))'"
python3 -c 'print(len(b"x" * 2**30))'

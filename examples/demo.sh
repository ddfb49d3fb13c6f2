#!/bin/sh
# What cordon does, on a small project: read, ask, run.
# What stands in single quotes is for the shell inside.
# shellcheck disable=SC2016
set -eu
CORDON=${CORDON:-cordon}
PATH=$(dirname "$CORDON"):$PATH
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
cd "$project"

say() { printf '\n== %s\n' "$1"; }
show() {
	printf '$ %s\n' "$*"
	"$@" || printf '(exit %d)\n' "$?"
}

mkdir -p .git/hooks
cat > cordon.toml <<'POLICY'
[files]
write = ["."]

[network]
mode = "no-network"

[limits]
memory  = "256M"
timeout = "20s"

[commands]
block = ["curl"]
POLICY
cat > harness.md <<'POLICY'
---
network:
  allowed_domains:
    - api.github.com
    - "*.example.com"
---
POLICY

say "A policy is checked as it is read"
show cordon check cordon.toml harness.md
printf '[network]\nmode = "allowlst"\nallow = ["https://example.com/"]\n' > wrong.toml
show cordon check wrong.toml
rm wrong.toml

say "It can be asked, in its own dialect"
show cordon policy match --policy harness.md https://api.github.com/zen https://gist.github.com/

say "and two of them composed: the strictest holds"
show cordon policy diff cordon.toml harness.md

say "A command builds something in its project"
show cordon run -- sh -c 'echo "made inside" > out.txt; cat out.txt'

say "but reads nothing else, finds no key, and reaches no network"
export ANTHROPIC_API_KEY=secret
show cordon run -- sh -c 'cat /etc/shadow; ls ~/.ssh; echo "key: [${ANTHROPIC_API_KEY:-}]"'
show cordon run -- python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), 2)' 2>&1 | tail -n 2

say "cannot leave a hook behind, or run what is blocked"
show cordon run -- sh -c 'echo evil > .git/hooks/pre-commit'
show cordon run -- sh -c 'c=cur; ${c}l --version'

say "and runs into its limits, with the true reason"
show cordon run --json --timeout 1s -c 'echo started; sleep 10'
show cordon run --json -c 'head -c 600M /dev/zero | tail'

say "What this machine can enforce"
show cordon doctor

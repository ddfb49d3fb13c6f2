#!/bin/sh
# The story of cordon in a minute: an agent's script works on a small project,
# with servers on the loopback in place of the internet.
set -eu
CORDON=${CORDON:-cordon}
PATH=$(dirname "$CORDON"):$PATH
demo=$(cd "$(dirname "$0")" && pwd)/demo
place=$(mktemp -d)
servers=
end() {
	[ -z "$servers" ] || kill "$servers" 2>/dev/null || true
	rm -rf "$place"
}
trap end EXIT
trap 'exit 1' HUP INT TERM

bold=""
plain=""
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
say() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }
# The command as a person types it, then what it says.
show() {
	printf '$ %s\n' "$*"
	"$@" 2>&1 || printf '(exit %d)\n' "$?"
}

# A home with a key in it, and a project.
export HOME="$place/home" XDG_STATE_HOME="$place/state" ANTHROPIC_API_KEY=sk-not-a-real-one
export GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8
mkdir -p "$HOME/.ssh" "$place/www"
echo "not a real key" >"$HOME/.ssh/id_ed25519"
cp -R "$demo/project" "$HOME/project"
cd "$HOME/project"
git init -q .

say "The project brings a policy, which opens something only when its user trusts it"
show cat cordon.toml
show cordon trust
show cordon policy match --policy cordon.toml https://code.example.test/ https://files.example.org/

if ! cordon run --dry-run -- true >/dev/null 2>"$place/why"; then
	say "Nothing is run where it cannot be enforced"
	cat "$place/why"
	show cordon doctor
	exit 0
fi

# One server for both hosts, at an address that only this script knows.
"$demo/serve.py" "$place/www" "$place/cert" >"$place/port" &
servers=$!
for _ in $(seq 100); do
	[ -s "$place/port" ] && break
	sleep 0.1
done
read -r port <"$place/port"
cp "$place/cert/ca.pem" .
# Stands for `cordon run`: on this machine these hosts are on the loopback.
run() {
	cordon run --connect-to "code.example.test:443:127.0.0.1:$port" \
		--connect-to "files.example.org:443:127.0.0.1:$port" "$@"
}

say "An agent's script works in its cordon"
echo '$ cordon run --result result.json --audit audit.jsonl -- sh ./agent.sh'
run --result "$place/result.json" --audit "$place/audit.jsonl" -- sh ./agent.sh 2>"$place/denied" ||
	printf '(exit %d)\n' "$?"

say "Its last words: what was refused, why, and what would allow it"
cat "$place/denied"

say "The same for programs: the result and the audit log"
"$demo/result.py" "$place/result.json" "$place/audit.jsonl"

say "Allowed for one run, by the option that the refusal names"
echo '$ cordon run --allow-host files.example.org -- curl -sS https://files.example.org/hello.txt'
run --allow-host files.example.org -- curl -sS https://files.example.org/hello.txt ||
	printf '(exit %d)\n' "$?"

say "What this machine can enforce"
show cordon doctor

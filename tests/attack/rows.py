"""The attempts: one row each, for tests/suite/attack.

A row runs once outside, where it must succeed, and once inside a cordon, where
it must not.  Its folder W is new each time: W/ws is the workspace and current
directory, W/out lies beside it with a file `secret`, W/home is HOME.

    act     shell text; `py:` Python; success is its exit status 0
    setup   shell text, run outside in the workspace before the act
    told    shell text, run outside afterwards; if there is one, it decides
    opts    options of `cordon run`
    who     root, user or both
    files   descriptors to inherit: number -> path below W; +path: to write as well; memfd
    serve   sockets that the test itself listens on: path below W, or @name
    home    HOME, below W
    hold    a file below W/out that another process has open, mapped and beside it
    lacks   features that the machine does not have inside (tests/without.c); the run
            does without
    alone   what the kernel or nobody outside can do is proved inside only: why
    before  shell text of an earlier command, run where and as the act is
"""
import collections
import os

Row = collections.namedtuple(
    "Row", "name act setup told opts who files serve home hold alone lacks before", defaults=(
        "", "", "", "both", {}, (), "home", "", "", "", ""))
ROWS = []
# Of this run alone: others may try the same at the same time.
MINE = f"cordon-attack-{os.getpid()}"


def row(name, act, **rest):
    ROWS.append(Row(name, act, **rest))


# --- files: what is not named --------------------------------------------------

for what, act in (
        ("read", "cat ../out/secret"),
        ("write", "echo x >> ../out/secret"),
        ("truncate", "truncate -s 0 ../out/secret"),
        ("remove", "rm ../out/secret"),
        ("list", "ls ../out | grep secret"),
        ("stat", "stat ../out/secret"),
        ("chmod", "chmod 644 ../out/secret"),
        ("touch", "touch -c ../out/secret && test -e ../out/secret"),
        ("setxattr", "py:import os; os.setxattr('../out/secret', 'user.x', b'1')"),
        ("hard link", "ln ../out/secret mine && cat mine"),
        ("rename", "mv ../out/secret ../out/moved"),
        ("rename in", "mv ../out/secret mine"),
        ("rename out", "touch mine && mv mine ../out/theirs", ),
        ("make beside", "touch ../out/new"),
        ("symbolic link", "ln -s ../out/secret l && cat l"),
        ("through /proc/self/root", "cat /proc/self/root$PWD/../out/secret"),
        ("through /proc/self/cwd", "cat /proc/self/cwd/../out/secret"),
        ("a descriptor without rights", "./probe path-only ../out/secret"),
        ("the FIFO of a host program", "test -p ../out/fifo"),
        ("execute", "../out/tool")):
    told = "test -e ../out/theirs" if what == "rename out" else ""
    told = "test -e ../out/new" if what == "make beside" else told
    row(f"{what} beside the workspace", act, told=told)
row("through a link of the workspace that leads out", "cat l", setup="ln -s ../out/secret l")
row("a file of HOME", "cat ~/note", setup="echo x > ../home/note")
row("a key of HOME", "cat ~/.ssh/id", setup="mkdir ../home/.ssh; echo k > ../home/.ssh/id")
row("a key of HOME as the workspace", "cat .ssh/id", home="ws",
    setup="mkdir .ssh; echo k > .ssh/id")
row("a key of HOME below the workspace", "cat h/.ssh/id", home="ws/h",
    setup="mkdir -p h/.ssh; echo k > h/.ssh/id")
row("a new ~/.ssh", "mkdir .ssh && echo k > .ssh/authorized_keys", home="ws")
row("a new ~/.aws by renaming", "mkdir a && mv a .aws", home="ws")
row("start-up of the shell", "echo evil >> .bashrc", home="ws", setup="touch .bashrc")
row("start-up of the shell that is not there", "echo evil > .profile", home="ws")
row("start-up of the shell behind a link", "echo evil >> d/rc", home="ws",
    setup="mkdir d; touch d/rc; ln -s d/rc .bashrc")
# What HOME has by links into a root: `~/.bashrc -> dotfiles/bashrc`.
for what, act, setup in (
        ("a key", "cat ssh/id", "mkdir ssh; echo k > ssh/id; ln -s ../ws/ssh ../home/.ssh"),
        ("a key, below a link", "cat config/gh/hosts.yml", "mkdir -p config/gh; "
         "echo k > config/gh/hosts.yml; ln -s ../ws/config ../home/.config"),
        ("a new key", "mkdir ssh && echo k > ssh/authorized_keys",
         "ln -s ../ws/ssh ../home/.ssh"),
        ("start-up of the shell", "echo evil >> rc", "touch rc; ln -s ../ws/rc ../home/.bashrc"),
        ("start-up of the shell that is not there", "echo evil > rc",
         "ln -s ../ws/rc ../home/.bashrc"),
        ("start-up of the shell, renamed to", "echo evil > a && mv a rc",
         "touch rc; ln -s ../ws/rc ../home/.bashrc"),
        ("settings of an agent", "echo evil > claude/settings.json",
         "mkdir claude; ln -s ../ws/claude ../home/.claude"),
        ("hooks of an agent, by another link", "echo evil > hook",
         "mkdir claude; touch hook; ln -s ../hook claude/h; ln -s ../ws/claude ../home/.claude")):
    row(f"by a link of HOME: {what}", act, setup=setup)
row("by a link of HOME: keys in a root that is read", "cat ~/.config/gh/hosts.yml",
    setup="mkdir -p ../out/c/gh; echo k > ../out/c/gh/hosts.yml; ln -s ../out/c ../home/.config",
    opts="-r ../home/.config")
row("a preset that is a link to keys", "cat ~/.bun/id",
    setup="mkdir ../home/.ssh; echo k > ../home/.ssh/id; ln -s .ssh ../home/.bun")
row("level landlock: a preset that is a link to keys", "cat ~/.bun/id", lacks="userns",
    setup="mkdir ../home/.ssh; echo k > ../home/.ssh/id; ln -s .ssh ../home/.bun")
row("credentials in a preset", "cat ~/.cargo/credentials.toml",
    setup="mkdir ../home/.cargo; echo k > ../home/.cargo/credentials.toml")
row("credentials of uv in a preset", "cat ~/.local/share/uv/credentials/credentials.toml",
    setup="mkdir -p ../home/.local/share/uv/credentials; "
    "echo k > ../home/.local/share/uv/credentials/credentials.toml")
KEYS = (
    "snap/firefox/common/.mozilla/x .var/app/x .config/Signal/x .local/share/opencode/auth.json "
    ".config/io.datasette.llm/keys.json .config/helm/registry/config.json .pulumi/credentials.json "
    ".dbt/profiles.yml .curlrc .mylogin.cnf .subversion/auth/x .config/Bitwarden/data.json .sh_history")
row("credentials of programs below HOME", f"cat {KEYS} 2>/dev/null | grep .", home="ws",
    setup=f"for i in {KEYS}; do mkdir -p $(dirname $i); echo k > $i; done")
row("private keys of .NET in a preset", "cat ~/.dotnet/corefx/cryptography/x509stores/my/k.pfx",
    setup="cd ../home; mkdir -p .dotnet/corefx/cryptography/x509stores/my; "
    "echo k > .dotnet/corefx/cryptography/x509stores/my/k.pfx")
row("/etc/shadow", "cat /etc/shadow", who="root")
row("/etc/shadow with all of / readable", "cat /etc/shadow", who="root", opts="-r /")
row("a file of /etc that nobody needs",
    "cat /etc/environment || cat /etc/fstab || cat /etc/hostname")
row("/root", "ls -A /root | grep .", who="root")
row("the host's /run", "ls /run | grep .")
row("the host's /var/lib", "ls /var/lib/dpkg | grep .")
row("the host's /tmp", "test -e ../../cordon-attack-mark",
    setup="touch ../../cordon-attack-mark")

# --- files: protected names ----------------------------------------------------

GIT = "mkdir -p .git/hooks; touch .git/config .git/hooks/old"
for what, act, setup in (
        (".git/config", "echo evil >> .git/config", GIT),
        ("a hook", "echo evil > .git/hooks/pre-commit", GIT),
        ("a hook that exists", "echo evil >> .git/hooks/old", GIT),
        ("a hook where there is no .git", "mkdir -p .git/hooks && echo x > .git/hooks/a", ""),
        ("the folder of hooks, removed", "rm -r .git/hooks", GIT),
        ("the folder of hooks, renamed", "mv .git/hooks h", GIT),
        ("a new .git", "mv .git g && mkdir .git && echo evil > .git/config", GIT),
        ("a new .git by renaming", "mkdir g && touch g/config && mv g .git", ""),
        ("a new .git by a link", "mkdir g && touch g/config && ln -s g .git", ""),
        ("a file .git", "echo 'gitdir: g' > .git", ""),
        ("a file .git by renaming", "echo 'gitdir: g' > g && mv g .git", ""),
        ("a file .git by a hard link", "echo 'gitdir: g' > g && ln g .git", ""),
        ("a file .git that exists", "echo 'gitdir: g' > .git", "echo 'gitdir: x' > .git"),
        ("a file .git that exists, moved", "mv .git g", "echo 'gitdir: x' > .git"),
        (".git/commondir", "echo ../g > .git/commondir", GIT),
        ("a remote in .git/remotes",
         "mkdir -p .git/remotes && echo 'URL: ./e' > .git/remotes/origin", GIT),
        ("a remote in .git/remotes that exists", "echo 'URL: ./e' > .git/remotes/origin",
         GIT + "; mkdir .git/remotes; echo 'URL: ./x' > .git/remotes/origin"),
        ("a remote in .git/branches", "mkdir -p .git/branches && echo ./e > .git/branches/b", GIT),
        (".git behind a link", "echo evil >> g/config",
         "mkdir g; touch g/config; ln -s g .git"),
        (".vscode", "mkdir .vscode", ""),
        (".envrc", "echo x > .envrc", ""),
        (".envrc by renaming", "touch a && mv a .envrc", ""),
        (".envrc by a hard link", "touch a && ln a .envrc", ""),
        (".envrc by a symbolic link", "ln -s a .envrc", ""),
        (".envrc through a dangling link", "ln -s .envrc a && echo x > a", ""),
        (".envrc by mknod", "mkfifo .envrc", ""),
        (".envrc by bind",
         "py:import socket; socket.socket(socket.AF_UNIX).bind('.envrc')", ""),
        (".envrc from a file without a name", "./probe nameless .envrc", ""),
        (".envrc through /proc", "echo x > /proc/self/cwd/.envrc", ""),
        (".envrc in other letters", "echo x > .ENVRC", ""),
        (".envrc that exists, exchanged", "./probe exchange .envrc", "touch .envrc"),
        (".envrc that exists, removed", "rm .envrc", "touch .envrc"),
        (".envrc that exists, renamed", "mv .envrc a", "touch .envrc"),
        ("a policy in a folder below", "mkdir -p a/b && echo x > a/b/cordon.toml", "")):
    row(f"protected: {what}", act, setup=setup)
# A policy that the next run would find, by every way to make, replace or remove it.
# However little the policy in use protects; and below the root, where we work.
ENV = "--policy ../out/bare.toml"
BARE = "printf '[files]\\nwrite = [\"../ws\"]\\nprotect = []\\n' > ../out/bare.toml; "
for name in ("cordon.toml", "harness.md", ".harness/config.toml", "task.toml"):
    P = f"mkdir -p $(dirname {name}); "
    for what, act, setup in (
            ("made", f"{P} echo x > {name}", ""),
            ("renamed to", f"{P} echo x > a && mv a {name}", ""),
            ("linked to", f"{P} echo x > a && ln a {name}", ""),
            ("a link", f"{P} echo x > a && ln -s $PWD/a {name}", ""),
            ("made in other letters", f"{P} echo x > {name.upper() if '/' not in name else name}",
             ""),
            ("in a folder that is renamed", "mkdir -p n/$(dirname {0}) && echo x > n/{0} && "
             "mv n/{1} {1}".format(name, name.split("/")[0]), ""),
            ("changed", f"echo x >> {name}", P + f"echo y > {name}"),
            ("removed", f"rm {name}", P + f"echo y > {name}"),
            ("moved away", f"mv {name.split('/')[0]} a", P + f"echo y > {name}"),
            ("a link, removed", f"rm {name}", P + f"echo y > a; ln -s $PWD/a {name}"),
            ("behind a link, changed", "echo x >> a", P + f"echo y > a; ln -s $PWD/a {name}"),
            ("exchanged", f"echo x > a && ./probe exchange {name}", P + f"echo y > {name}")):
        row(f"the next policy, {name}: {what}", act, setup=BARE + setup, opts=ENV)
# The same in a folder below, where somebody may work next.
for name in ("cordon.toml", "harness.md", ".harness/config.toml", "task.toml"):
    IN = f"mkdir -p sub/$(dirname {name}); "
    for what, act, setup in (
            ("made", IN + f"echo x > sub/{name}", ""),
            ("in a folder that is renamed", "mkdir -p n/.x sub && echo x > n/.x/config.toml && "
             "mv n/.x sub/.harness" if "/" in name else "mkdir sub; echo x > a; mv a sub/" + name, ""),
            ("written", f"echo x > sub/{name}", IN + f"echo y > sub/{name}"),
            ("written in part", f"echo x 1<> sub/{name}", IN + f"echo y > sub/{name}"),
            ("copied over", f"echo x > a; cp a sub/{name}", IN + f"echo y > sub/{name}"),
            ("emptied", f"py:import os; os.truncate('sub/{name}', 0)", IN + f"echo y > sub/{name}"),
            ("written by a link", f"ln -s sub/{name} l && echo x > l", IN + f"echo y > sub/{name}"),
            ("written by a hard link", f"ln sub/{name} l && echo x > l",
             IN + f"echo y > sub/{name}"),
            ("written by a descriptor", f"exec 3< sub/{name}; echo x > /proc/self/fd/3",
             IN + f"echo y > sub/{name}"),
            ("written by a descriptor of a folder", f"cd sub; cp ../probe /proc/self/cwd/{name}",
             IN + f"echo y > sub/{name}"),
            ("replaced", f"echo x > a; mv a sub/{name}", IN + f"echo y > sub/{name}")):
        row(f"a policy below, {name}: {what}", act, setup=setup)
row("the next policy, where we work below the root", "echo x > ../ws/cordon.toml",
    opts="-w ..", told="test -e cordon.toml")
row("the next policy, above where we work", "echo x > ../cordon.toml", opts="-w ..",
    told="test -e ../cordon.toml")
row("the user's ceiling, moved away", "mv .config a", home="ws",
    setup="mkdir -p .config/cordon; printf '[files]\\nwrite = [\"/\"]\\n'"
    " > .config/cordon/cordon.toml", told="test ! -e .config/cordon/cordon.toml")
RUN_BY_OTHERS = (
    "opencode.json opencode.jsonc .opencode/x .roo/mcp.json .roomodes .kiro/x .amazonq/x .amp/x "
    ".factory/x .junie/x .trae/x .qwen/x crush.json .crush.json .crushrc crushrc .openhands/setup.sh "
    ".github/hooks/x.json .devcontainer.json .fleet/x mise.toml .mise.toml mise.local.toml .mise/x "
    ".config/mise/x .vimrc .exrc .config/nvim/init.lua .emacs .emacs.d/x .tmux.conf .gdbinit "
    ".local/share/systemd/user/default.target.wants/x .local/share/dbus-1/services/x .xsessionrc "
    ".config/starship.toml .config/direnv/direnvrc .config/kitty/kitty.conf .oh-my-zsh/x "
    ".config/Code/User/tasks.json .vscode-server/data/x .sqliterc .kilocode/mcp.json .kilocodemodes "
    ".vibe/config.toml .theia/tasks.json .helix/languages.toml .hg/hgrc .jj/repo/config.toml "
    "mise/config.toml .config/mise.local.toml .tool-versions .rtx.toml .clinerules/hooks/TaskStart "
    ".bashrc.d/x .copilot/mcp-config.json .config/opencode/opencode.json .config/zed/tasks.json "
    ".envrc.local .p10k.zsh .config/elvish/rc.elv .gnomerc .config/VSCodium/User/tasks.json .hgrc "
    ".config/jj/config.toml .deno/env .local/share/bash-completion/completions/make")
ONE_OF_THEM = f"n=; for i in {RUN_BY_OTHERS}; do mkdir -p $(dirname $i); %s && n=$i; done; test $n"
row("protected: what harnesses and editors run, made", ONE_OF_THEM % "echo x >$i",
    told=ONE_OF_THEM % "test -s $i")
row("protected: what harnesses and editors run, changed", ONE_OF_THEM % "echo x >>$i",
    told=ONE_OF_THEM % "test -s $i",
    setup=f"for i in {RUN_BY_OTHERS}; do mkdir -p $(dirname $i); : >$i; done")
row("protected: what harnesses and editors run, moved there",
    ONE_OF_THEM % "echo x >f && mv f $i", told=ONE_OF_THEM % "test -s $i")
row("protected: behind a link that leads to a link",
    "mkdir -p other/cfg && echo evil > other/cfg/settings && rm lnk && ln -s other lnk",
    opts="--protect conf/settings", told="grep evil conf/settings",
    setup="mkdir -p pkg/cfg; ln -s pkg lnk; ln -s lnk/cfg conf")
row("protected: a device in place of .git", """py:import ctypes, os
os.mkdir('.git')
assert ctypes.CDLL(None).renameat2(-100, b'.git', -100, b'y', 4) == 0
""", told="test -c .git")
row("protected: behind a folder that is closed", """py:import os
w, d = os.open('.', os.O_RDONLY), os.open('store/git', os.O_RDONLY)
os.fchmod(w, 0)
try:
    os.mkdir('hooks', dir_fd=d)
finally:
    os.fchmod(w, 0o755)
""", setup="mkdir -p store/git; ln -s store/git .git", told="test -e store/git/hooks")
row("protected: .envrc by a socket, through a link that changes", """py:import os, socket, threading
import time
os.mkdir('a')
os.symlink('.', 'p')
done = False
def change():
    while not done:
        for to in ('a', '.'):
            try:
                os.symlink(to, 'q')
                os.rename('q', 'p')
            except OSError:
                pass
threading.Thread(target=change).start()
end = time.monotonic() + 2
while time.monotonic() < end and not os.path.lexists('.envrc'):
    try:
        socket.socket(socket.AF_UNIX).bind('p/.envrc')
    except OSError:
        pass
    try:
        os.unlink('a/.envrc')
    except OSError:
        pass
done = True
assert os.path.lexists('.envrc')
""")
row("protected: the policy in use", "echo >> p.toml", opts="--policy p.toml",
    setup="echo 'profile = \"worktree\"' > p.toml")
row("read-only in the workspace: write", "echo x > ro/f", setup="mkdir ro", opts="-r ro")
row("read-only in the workspace: rename", "mv ro rw", setup="mkdir ro", opts="-r ro")
row("read-only in the workspace: chmod", "chmod 700 ro", setup="mkdir ro", opts="-r ro")
for what, act in (("to be written", "ro/f"), ("to be written by a link", "l"),
                  ("to be written by its descriptor", "/proc/self/fd/%d")):
    row(f"read-only in the workspace: a FIFO, opened {what}", f"""py:import os
fd = os.open('ro/f', os.O_RDONLY | os.O_NONBLOCK)
os.write(os.open('{act}'.replace('%d', str(fd)), os.O_WRONLY), b'x')
""", setup="mkdir ro; mkfifo ro/f; ln -s ro/f l", opts="-r ro")
row("protected: a FIFO that is there", "py:import os; os.open('.claude/f', os.O_RDWR)",
    setup="mkdir .claude; mkfifo .claude/f")
DENY = "mkdir -p a/b; echo : > a/b/s"
for what, act in (("read", "cat a/b/s"), ("renamed parent", "mv a c; cat c/b/s"),
                  ("hard link", "ln a/b/s l && cat l"), ("symbolic link", "ln -s a/b/s l && cat l"),
                  ("rename", "mv a/b/s l && cat l"), ("removed", "rm a/b/s"),
                  ("changed mode", "chmod 644 a/b/s"), ("execute", ". ./a/b/s")):
    row(f"denied: {what}", act, setup=DENY, opts="--deny a/b/s")
row("denied: made anew", "echo x > n", opts="--deny n")
# Patterns: what fits already, what is made to fit, what comes with a folder.
KEYS = "mkdir -p s/t c/x d/e; echo k > a.pem; echo k > d/e/b.pem; echo k > s/t/k; echo k > c/x/tok"
for pattern, rows in (
        ("*.pem", (("read", "cat a.pem"), ("copied", "cp a.pem b && cat b"),
                   ("made", "echo x > n.pem"), ("made in other letters", "echo x > N.PEM"),
                   ("renamed to", "echo x > n && mv n n.pem"),
                   ("renamed away", "mv a.pem n && cat n"), ("removed", "rm a.pem"),
                   ("linked to", "echo x > n && ln n n.pem"), ("a link", "ln -s n n.pem"))),
        ("**/*.pem", (("read", "cat d/e/b.pem"), ("made", "mkdir n && echo x > n/n.pem"),
                      ("renamed parent", "mv d f; cat f/e/b.pem"),
                      ("by a folder", "mkdir n.pem"))),
        ("s/**", (("listed", "ls s"), ("read", "cat s/t/k"), ("made", "echo x > s/n"),
                  ("renamed away", "mv s f && cat f/t/k"), ("removed", "rm -r s"))),
        ("n/**", (("made", "mkdir n && echo x > n/x"),
                  ("by a folder that holds it", "mkdir f && echo x > f/x && mv f n"))),
        ("**/e/b.pem", (("read", "cat d/e/b.pem"), ("renamed parent", "mv d/e d/f; cat d/f/b.pem"),
                        ("made", "mkdir -p n/e && echo x > n/e/b.pem"),
                        ("by a folder that holds it",
                         "mkdir f && echo x > f/b.pem && mv f n && mv n e"))),
        ("c/*/tok", (("read", "cat c/x/tok"), ("made", "mkdir c/n && echo x > c/n/tok"),
                     ("by a folder that holds it", "mkdir f && echo x > f/tok && mv f c/n"),
                     ("by a link to one", "mkdir f && echo x > f/tok && ln -s ../f c/n"),
                     ("renamed parent", "mv c f && cat f/x/tok")))):
    for what, act in rows:
        row(f"denied {pattern}: {what}", act, setup=KEYS, opts=f"--deny {pattern}")
# A root that lies in what fits: nobody comes to it from above.
for pattern in ("**/k", "**/k/**", "**/out/k", "**/k/*"):
    row(f"denied {pattern}: read in a root below", "cat ../out/k/d/s", opts="-r ../out/k/d --deny "
        + pattern, setup="mkdir -p ../out/k/d; echo x > ../out/k/d/s")
for pattern in ("**/l", "**/l/**", "**/l/d/s", "**/l/*/s"):
    row(f"denied {pattern}: read in a root behind a link", "cat ../out/l/d/s", opts="-r ../out/l/d "
        "--deny " + pattern, setup="mkdir -p ../out/k/d; echo x > ../out/k/d/s; ln -s k ../out/l")
for what, act in (("removed", "rm ../out/k/d/s"), ("its mode", "chmod 600 ../out/k/d/s")):
    row(f"protected **/k: in a root below, {what}", act, opts="-w ../out/k/d --protect **/k",
        setup="mkdir -p ../out/k/d; echo x > ../out/k/d/s")
row("protected *.lock: written", "echo x >> a.lock", setup="touch a.lock", opts="--protect *.lock")
row("protected d/**: written", "echo x >> d/e/f", setup="mkdir -p d/e; touch d/e/f",
    opts="--protect d/**")
row("protected d/**: made", "echo x > d/n", setup="mkdir -p d/e; touch d/e/f",
    opts="--protect d/**")
# What one run could do so that the next one is not held.
AGAIN = "mv a c; rm -f l k; rm -rf a/b"
row("denied: for the next run, a renamed parent", AGAIN, setup=DENY, opts="--deny a/b/s",
    told="test ! -e a/b/s")
row("denied: for the next run, a removed link", AGAIN, setup=DENY + "; ln -s a/b/s l",
    opts="--deny l", told="test ! -e l")
row("denied: for the next run, a removed link to a link", AGAIN,
    setup=DENY + "; ln -s a/b/s l; ln -s l k", opts="--deny k", told="test ! -e l")
row("denied: for the next run, a removed link on the way", AGAIN, setup=DENY + "; ln -s a/b l",
    opts="--deny l/s", told="test ! -e l/s")

# --- files: things of the kernel -------------------------------------------------

row("denied: a folder above it, renamed", "mv a x", setup=DENY, opts="--deny a/b/s")
row("denied: a folder above it, exchanged", "./probe exchange a", setup=DENY, opts="--deny a/b/s")
row("denied: a folder above it, renamed by an earlier command", "cat x/b/s", setup=DENY,
    opts="--deny a/b/s", before="mv a x")
row("denied: a folder above it, renamed under another name of it", "cat x/s", setup=DENY,
    opts="--deny a/b/s", before="cd /proc/self/cwd/a && mv b ../x")
row("denied: a folder above it, closed by an earlier command", "chmod 755 a; cat a/b/s",
    setup=DENY, opts="--deny a/b/s", before="chmod 0 a")
row("denied: a pattern behind a link, its folder closed by an earlier command",
    "chmod 700 d; cat d/s/key", setup="mkdir d v; echo x > v/key; ln -s ../v d/s",
    opts="--deny **/s/**", before="chmod 600 d")
row("denied: a pattern", "cat a/.env", setup="mkdir a; echo x > a/.env", opts="--deny **/.env")
row("denied: a pattern, renamed by an earlier command", "cat x/.env || cat x/env",
    setup="mkdir a; echo x > a/.env", opts="--deny **/.env", before="mv a x; mv x/.env x/env")
SSH = "mkdir -p dots/ssh h; echo k > dots/ssh/id_rsa; ln -s ../dots/ssh h/.ssh"
for what, act in (("read", "cat h/.ssh/id_rsa"), ("read where it is", "cat dots/ssh/id_rsa"),
                  ("the link removed", "rm h/.ssh; test ! -e h/.ssh"),
                  ("the link renamed", "mv h/.ssh h/x")):
    row(f"denied **/.ssh/id_*: behind a link, {what}", act, setup=SSH, opts="--deny **/.ssh/id_*")
row("denied **/a/*/k: behind a link in the middle", "cat a/x/k",
    setup="mkdir -p a t; echo k > t/k; ln -s ../t a/x", opts="--deny **/a/*/k")
row("denied **/a/b/k: behind two links", "cat a/b/k",
    setup="mkdir r t; echo k > t/k; ln -s r a; ln -s ../t r/b", opts="--deny **/a/b/k")
row("protected **/.ssh/id_*: behind a link", "echo x > h/.ssh/id_rsa", setup=SSH,
    opts="--protect **/.ssh/id_*")
HOOK = "mkdir -p vendor/x packages; ln -s ../vendor/x packages/x"
for what, act in (("by it", "echo e > packages/x/hook.js"),
                  ("where it is", "echo e > vendor/x/hook.js"),
                  ("renamed to", "echo e > n && mv n vendor/x/hook.js")):
    row(f"protected packages/*/hook.js: made behind a link, {what}", act, setup=HOOK,
        opts="--protect packages/*/hook.js")
row("protected p/*/b/*.js: made behind two links", "echo e > t/n.js",
    setup="mkdir -p t r p; ln -s ../t r/b; ln -s ../r p/x", opts="--protect p/*/b/*.js")
row("protected *.js: made where a link to nothing leads", "echo e > data",
    setup="ln -s data n.js", opts="--protect *.js")
row("keys of HOME in a folder that an earlier command renamed", "cat c/gh/hosts.yml", home="ws",
    setup="mkdir -p .config/gh; echo k > .config/gh/hosts.yml", before="mv .config c")
row("protected: .git, renamed by an earlier command", "echo evil > g/hooks/a", setup=GIT,
    before="mv .git g")
row("protected: a link .git, renamed", "mv .git x",
    setup="mkdir -p g/hooks; touch g/config; ln -s g .git")
row("read-only in the workspace: above it renamed by an earlier command", "echo x > b/ro/f",
    setup="mkdir -p a/ro", opts="-r a/ro", before="mv a b")
row("a stream that is /dev/null, its mode", "py:import os; os.fchmod(0, 0o666)", who="root")
row("a stream that is /dev/null, its times", "py:import os; os.utime(0)")
row("a stream that is a device", "test -c /proc/self/fd/0", who="root", files={0: "/dev/kmsg"})
row("a set-user-id file", "./probe set-id")
row("a set-user-id file at birth", "./probe set-id-at-birth")
row("a device node", "./probe node", who="root")
row("the mode of /dev/null", "chmod 666 /dev/null", who="root")
row("/dev/kmsg", "./probe read /dev/kmsg", who="root")
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness",
             "/proc/irq/default_smp_affinity", "/sys/kernel/mm/transparent_hugepage/enabled"):
    row(f"writing {path}", f"./probe write {path}", who="root")
# What makes names acts for the command, and is in other namespaces.
row("settings of the host's, opened as if to make them",
    "py:import os; assert int(os.read(os.open('/proc/sys/kernel/msgmni', os.O_CREAT), 9)) > 16")
row("settings of the host's, looked for as if to make something there", """py:import os
def why(name):
    try:
        os.mkdir('/proc/sys/net/ipv4/conf/' + name)
    except OSError as e:
        return e.errno
names = open('conf').read().split()
assert why(names[-1]) != why('no-such')
""", setup="(echo all; ls /proc/sys/net/ipv4/conf | grep -vx -e all -e default -e lo) > conf")
row("writing a cgroup", "./probe write $(ls -d /sys/fs/cgroup/*/cgroup.procs | head -1)",
    who="root")
row("a stream that is a file, opened for writing", "echo evil > /proc/self/fd/0",
    setup="echo x > keep; chmod 600 keep", files={0: "ws/keep"}, told="grep evil keep")
row("a stream that is a file, its mode", "py:import os; os.fchmod(0, 0o666)",
    setup="echo x > keep; chmod 600 keep", files={0: "ws/keep"},
    told="test $(stat -c %a keep) = 666")
row("a stream that is a file to write as well", "echo evil >&0", files={0: "+ws/keep"},
    setup="echo x > keep", told="grep evil keep")
row("a stream that is a file without a name", "py:import os; os.write(0, b'evil')",
    files={0: "memfd"})
row("a folder that was inherited", "cat /proc/self/fd/9/secret", files={9: "out"})
row("a file that was inherited", "cat <&9", files={9: "out/secret"})
row("a link in place of the result", "ln -sf ../out/secret r.json", opts="--result r.json",
    told="! grep -q '^s3cret$' ../out/secret", alone="the result is written by cordon")

# Of other runs, where this one has its log elsewhere.
LOG = "mkdir -p .local/state/cordon; echo before > .local/state/cordon/audit.jsonl"
for what, act, told in (
        ("read", "cat .local/state/cordon/audit.jsonl", ""),
        ("added to", "echo x >> .local/state/cordon/audit.jsonl",
         "grep x .local/state/cordon/audit.jsonl"),
        ("removed", "rm -r .local/state", "test ! -e .local/state/cordon/audit.jsonl"),
        ("moved away", "mv .local away", "test ! -e .local/state/cordon/audit.jsonl")):
    row(f"the log of other runs, {what}", act, home="ws", setup=LOG, told=told,
        opts="--audit ../out/audit.jsonl")

# --- sockets of the host ---------------------------------------------------------

CONNECT = "py:import socket; socket.socket(socket.AF_UNIX).connect({!r})"
row("a socket beside the workspace", CONNECT.format("../out/s"), serve=("out/s",))
row("a socket in the workspace", CONNECT.format("s"), serve=("ws/s",))
row("a socket in the workspace with a line end in its name", CONNECT.format("a\nb"), serve=("ws/a\nb",))
for name in ("s", " s", "@s", " @s"):
    row(f"a socket in the workspace, bound to the relative path {name!r}", CONNECT.format(name),
        serve=("./ws/" + name,))
row("a socket in a folder that an earlier command closed", "chmod 755 d; python3 -c "
    "\"import socket; socket.socket(socket.AF_UNIX).connect('d/s')\"", serve=("ws/d/s",),
    before="chmod 0 d")
row("a socket in a folder that an earlier command renamed", CONNECT.format("x/s"),
    serve=("ws/d/s",), before="mv d x")
row("a socket without a path", CONNECT.format("\0" + MINE), serve=("@" + MINE,))
row("a socket without a path, network public", CONNECT.format("\0" + MINE),
    serve=("@" + MINE,), opts="--network public")
row("a datagram to a socket in the workspace",
    "py:import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', 's')",
    serve=("ws/s:dgram",))

# --- network ---------------------------------------------------------------------

row("a server on the loopback",
    "py:import os, socket; socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 2)",
    serve=("tcp",), opts="--env PORT")
row("a server on the loopback, IPv6 mapped",
    "py:import os, socket; socket.create_connection(('::ffff:127.0.0.1', "
    "int(os.environ['PORT'])), 2)", serve=("tcp",), opts="--env PORT")
row("a UDP server on the loopback", """py:import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('127.0.0.1', int(os.environ['PORT'])))
s.settimeout(2)
s.send(b'x')
assert s.recv(1) == b'x'
""", serve=("udp",), opts="--env PORT")
row("a socket of the kind MPTCP", "py:import socket\n"
    "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)")
row("an address of the loopback interface", """py:import socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
for kind, flags in ((20, 0x605), (21, 5)):
    s.send(struct.pack('=IHHIIBBBBIHH4s', 32, kind, flags, 0, 0, 2, 32, 0, 0, 1, 8, 2,
                       bytes([127, 99, 99, 99])))
    assert struct.unpack_from('=i', s.recv(512), 16)[0] == 0
""", who="root")
row("an interface that is up", "grep -v lo: /proc/net/dev | grep :")
for act, who in (("vsock", "both"), ("raw", "root"), ("packet", "root"),
                 ("audit", "both"), ("generic", "both"), ("uevent", "both"), ("diag", "both")):
    row(f"a socket of the kind {act}", f"./probe {act}", who=who)

# --- kernel code that nobody needs ------------------------------------------------

for act, who in (("uring", "both"), ("key", "both"), ("keyring", "both"), ("bpf", "root"),
                 ("perf", "both"), ("fault", "both"), ("notify", "both"), ("kernel-log", "root"),
                 ("new-user", "both"), ("new-net", "both"), ("new-mount", "root"),
                 ("new-ipc", "root"), ("clone-user", "both"), ("old-clone-user", "both"),
                 ("own-namespace", "root"), ("chroot", "root"), ("fs-open", "root"),
                 ("tree-clone", "root"), ("mount", "root"), ("handle", "both"),
                 ("open-handle", "root"), ("i386", "both"), ("listener", "both"),
                 ("discipline", "both")):
    row(f"kernel: {act}", f"./probe {act}", who=who)

# --- processes ---------------------------------------------------------------------

row("seeing a process of the host", "tr '\\0' ' ' < /proc/$VICTIM/cmdline | grep 98765",
    opts="--env VICTIM")
row("killing a process of the host", "kill $VICTIM", opts="--env VICTIM", told="! kill -0 $VICTIM")
row("killing all", "kill -9 -1", opts="--env VICTIM", told="! kill -0 $VICTIM",
    alone="it would end the test")
row("stopping a process of the host", "kill -STOP $VICTIM", opts="--env VICTIM",
    told="grep -q '^State:.T' /proc/$VICTIM/status")
row("tracing", "./probe trace")
row("reading another's memory", "./probe read-other")
row("taking another's descriptor", "./probe take-fd")
row("the memory of pid 1", "head -c 1 /proc/1/mem || cat /proc/1/maps | grep .",
    alone="pid 1 is another outside")
row("the root of pid 1", "ls /proc/1/root/ || ls /proc/1/cwd/ || readlink /proc/1/fd/3",
    alone="pid 1 is another outside")
row("the environment of pid 1", "tr '\\0' '\\n' < /proc/1/environ | grep .",
    alone="pid 1 is another outside")
row("the arguments of pid 1", "tr -d '\\0' < /proc/1/cmdline | grep .",
    alone="pid 1 is another outside")
row("what is in the caller's keyrings", "cat /proc/keys")
row("killing pid 1", "kill -9 1; kill -STOP 1; kill -TERM 1; sleep 0.1; "
    "grep -q '^State:.[TZ]' /proc/1/status", alone="it would end the machine")
row("a daemon that stays", "setsid sh -c 'sleep 0.5; echo x > mark' >/dev/null 2>&1 &",
    told="sleep 0.8; test -e mark")
row("a daemon of a daemon", "(setsid sh -c '(sleep 0.5; echo x > mark) & exit' &) >/dev/null 2>&1",
    told="sleep 0.8; test -e mark")
# Without pids of its own it sees those of the host, and init is one of them.
for what, act, told in (
        ("signalling what ends the tree", "kill -CONT $PPID", ""),
        ("killing a process of the host", "kill $VICTIM", "! kill -0 $VICTIM"),
        ("stopping a process of the host", "kill -STOP $VICTIM",
         "grep -q '^State:.T' /proc/$VICTIM/status"),
        ("tracing", "./probe trace", ""), ("reading another's memory", "./probe read-other", ""),
        ("the variables of a process of the host", "cat /proc/$VICTIM/environ | grep -q .", ""),
        ("the descriptors of a process of the host", "readlink /proc/$VICTIM/fd/0", ""),
        ("the root of a process of the host", "ls /proc/$VICTIM/root/ | grep -q .", ""),
        ("a daemon of a daemon", "(setsid sh -c '(sleep 0.5; echo x > mark) & exit' &) "
         ">/dev/null 2>&1", "sleep 0.8; test -e mark")):
    row(f"level landlock: {what}", act, told=told, opts="--env VICTIM", lacks="userns")
row("descriptors that leak", "ls /proc/self/fd | grep -v '^[0123]$'", files={7: "out/secret"})
row("privileges by set-user-id programs",
    "grep -q NoNewPrivs:.0 /proc/self/status")
row("becoming root by a set-user-id program", """py:import os, subprocess
os.setresuid(65534, 65534, 65534)
assert subprocess.run(['./raised', '-u'], stdout=subprocess.PIPE).stdout == b'0\\n'
""", setup="cp /usr/bin/id raised; chmod 4755 raised; chmod 711 . ..", who="root")
row("capabilities to come", "! grep -q CapBnd:.0000000000000000 /proc/self/status")

# --- secrets through /proc -----------------------------------------------------------

# A process outside holds the secret: as a descriptor, beside it, mapped, in a variable.
# Inside, where it is not to be seen, every process that is gets looked at.
SEE = ("for p in /proc/$HOLDER $(test -d /proc/$HOLDER || ls -d /proc/[0-9]*); do {0} && exit 0; "
       "done; exit 1")
for what, look in (
        ("a descriptor of another process", "cat $p/fd/8 2>/dev/null | grep -q s3cret"),
        ("the directory of another process", "cat $p/cwd/secret 2>/dev/null | grep -q s3cret"),
        ("the root of another process",
         "cat $p/root$OUT/secret 2>/dev/null | grep -q s3cret"),
        ("the variables of another process", "grep -qs s3cret-held $p/environ"),
        ("a thread of another process", "cat $p/task/*/fd/8 2>/dev/null | grep -q s3cret"),
        ("the descriptors that another process has listed",
         "ls -l $p/fd 2>/dev/null | grep -q out/secret")):
    row(f"secrets: {what}", SEE.format(look), opts="--env OUT --env HOLDER", hold="secret")
row("secrets: the mapped files of another process",
    "py:import glob, os\nh = os.environ['HOLDER']\n"
    "for p in glob.glob(f'/proc/{h}/map_files/*') or glob.glob('/proc/[0-9]*/map_files/*'):\n"
    " try:\n  if b's3cret' in open(p, 'rb').read(64): raise SystemExit(0)\n"
    " except OSError: pass\nraise SystemExit(1)", hold="secret", who="root", opts="--env HOLDER")
for what, act in (
        ("descriptors of its own", "for f in /proc/self/fd/*; do cat $f/secret; done 2>/dev/null"
         " | grep s3cret"),
        ("a descriptor that is opened again", "cat /proc/self/fd/9/../out/secret")):
    row(f"secrets: {what}", act, files={9: "out"})
for path in ("root$OUT/secret", "cwd/../out/secret", "task/1/root$OUT/secret",
             "task/1/cwd/../out/secret"):
    row(f"secrets: /proc/1/{path}", f"cat /proc/1/{path}", opts="--env OUT",
        alone="pid 1 is another outside")
for name in ("mem", "environ", "maps", "auxv", "stack", "io", "map_files/*", "fd/*", "fdinfo/*",
             "ns/mnt", "pagemap", "personality", "syscall"):
    row(f"secrets: /proc/1/{name}", f"cat /proc/1/{name} 2>/dev/null | grep -q . || "
        f"readlink /proc/1/{name}", alone="pid 1 is another outside")

# --- environment ---------------------------------------------------------------------

for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN",
             "openai_api_key", "PGPASSWORD", "DB_PASSWORD", "SSH_AUTH_SOCK",
             "GOOGLE_APPLICATION_CREDENTIALS", "API_KEY", "OpenAI_ApiKey", "OPENAI_API_KEY_2",
             "ANTHROPIC_TOKEN", "GEMINI_KEY", "LITELLM_MASTER_KEY", "FAL_KEY", "TF_TOKEN_HOST",
             "SLACK_WEBHOOK_URL", "BUNDLE_GITHUB__COM", "MYAPP_TOKEN"):
    row(f"the variable {name}", f"env | grep s3cret-{name}", opts="--env * --env " + name)
row("a variable that nobody named", "env | grep s3cret-OTHER")

# --- resources -------------------------------------------------------------------------

BIG = "-m 100M --timeout 20s"
# Shared pages are looked at now and then: inside they are held for a while.
HOLD = "import os, time\ntime.sleep(0 if os.path.exists('../out/secret') else 5)"
row("memory: anonymous", "py:x = bytearray(300 << 20)", opts=BIG)
row("memory: many processes",
    "py:import os,time\nfor i in range(6):\n if os.fork() == 0:\n  x = bytearray(50 << 20)\n"
    "  time.sleep(3)\n  os._exit(0)\nassert all(os.wait()[1] == 0 for i in range(6))", opts=BIG)
row("memory: /dev/shm", f"py:open('/dev/shm/{MINE}', 'wb').write(bytes(300 << 20))\n"
    f"import os; os.unlink('/dev/shm/{MINE}')", opts=BIG)
row("memory: shared maps", "py:import mmap\nm = mmap.mmap(-1, 300 << 20)\n"
    "for i in range(0, 300 << 20, 4096): m[i] = 1", opts=BIG)
# Pages that no process maps any more are in nobody's size.
row("memory: shared maps whose users have ended", "py:import mmap, os\nm = mmap.mmap(-1, 300 << 20)\n"
    "for i in range(0, 300 << 20, 10 << 20):\n if os.fork() == 0:\n"
    "  for k in range(i, i + (10 << 20), 4096): m[k] = 1\n  os._exit(0)\n"
    " assert os.wait()[1] == 0\n" + HOLD, opts=BIG)
row("memory: shared maps that were let go", "py:import mmap\nm = mmap.mmap(-1, 300 << 20)\n"
    "for i in range(0, 300 << 20, 1 << 20):\n for k in range(i, i + (1 << 20), 4096): m[k] = 1\n"
    " m.madvise(mmap.MADV_DONTNEED, i, 1 << 20)\n" + HOLD, opts=BIG)
row("memory: memfd", "py:import os\nos.ftruncate(os.memfd_create('x'), 1)\n"
    "fd = os.memfd_create('y')\nfor i in range(300): os.write(fd, bytes(1 << 20))", opts=BIG)
row("memory: a System V segment", "./probe big-segment", opts="-m 40M")
row("memory: of a thread that goes on alone", "./probe thread-memory", opts=BIG)
row("memory: huge pages that pipes hold", "./probe huge-pages", opts=BIG)
row("memory: connections that are over",
    "py:import socket\ns = socket.create_server(('127.0.0.1', 0))\nfor i in range(17000):\n"
    " c = socket.socket()\n c.bind(('127.7.7.7', 20000 + i))\n c.connect(s.getsockname())\n"
    " a = s.accept()[0]\n c.close()\n a.close()\n"
    "at = open('/proc/net/sockstat').read().split()\n"
    "assert int(at[at.index('tw') + 1]) > 16500", opts=BIG, alone="the machine would keep them")
row("memory: empty files", "py:import os,tempfile\nd = tempfile.mkdtemp(dir='/dev/shm')\n"
    "try:\n for i in range(40000): os.mknod(f'{d}/{i}')\nfinally:\n"
    " [os.unlink(f'{d}/{i}') for i in os.listdir(d)]; os.rmdir(d)", opts=BIG)
# A page each, of whoever makes the name; each private place has few names.
row("memory: links with long names", """py:import os, shutil, tempfile, time
few = not os.path.exists('../out/secret')
ds = [tempfile.mkdtemp(dir=p) for p in ('/dev/shm', '/tmp', os.environ['HOME'])]
try:
    for d in ds if few else ds[:1]:
        for i in range(20000 if few else 60000):
            os.symlink('x' * 4000, f'{d}/{i}')
    time.sleep(1 if few else 0)
finally:
    for d in ds:
        shutil.rmtree(d)
""", opts="-m 100M --timeout 60s")
FORK = ("py:import os,time,signal\np = []\ntry:\n while len(p) < 60:\n  p.append(os.fork())\n"
        "  if p[-1] == 0: time.sleep(5); os._exit(0)\nfinally:\n"
        " [os.kill(i, 9) for i in p if i]")
row("processes: forks", FORK, opts="--processes 20")
row("processes: threads", "py:import threading,time\n"
    "t = [threading.Thread(target=time.sleep, args=(0.5,)) for i in range(60)]\n"
    "[i.start() for i in t]", opts="--processes 20")
row("file size", "truncate -s 20M f", opts="--file-size 10M")
row("file size: written", "head -c 20M /dev/zero > f", opts="--file-size 10M")
row("core files for a program outside", "py:import resource as r\nr.setrlimit(r.RLIMIT_CORE, (0, 0))\n"
    "assert r.getrlimit(r.RLIMIT_CORE)[0] != 1")
row("open files", "py:import os\nfor i in range(100): os.dup(0)", opts="--open-files 50")
row("open files: raised", "ulimit -n 60", setup="true", opts="--open-files 50")
row("private places", f"head -c 20M /dev/zero > /dev/shm/{MINE}; s=$?;"
    f" rm /dev/shm/{MINE}; exit $s", opts="--disk 10M")
row("file size: blocks behind the end", "py:import ctypes, os\n"
    "fd = os.open('f', os.O_CREAT | os.O_WRONLY)\n"
    "assert ctypes.CDLL(None).fallocate(fd, 1, ctypes.c_long(0), ctypes.c_long(20 << 20)) == 0",
    opts="--file-size 1M")
for n in (40, 42, 57):
    row(f"file size: blocks behind the end, by ioctl {n}", "py:import fcntl, os, struct\n"
        f"fcntl.ioctl(os.open('f', os.O_CREAT | os.O_WRONLY), {0x40305800 + n}, "
        "struct.pack('hhqq24x', 0, 0, 0, 20 << 20))", opts="--file-size 1M")
row("CPU time: short children that nobody waits for", "py:import os, time\n"
    "for i in range(800):\n"
    "    if os.fork() == 0:\n"
    "        if os.fork() == 0:\n"
    "            begin = time.process_time()\n"
    "            while time.process_time() - begin < 0.005: pass\n"
    "        os._exit(0)\n"
    "    os.wait()", opts="--cpu-seconds 1")
row("keys of TCP", "py:import socket, struct\ns = socket.socket()\n"
    "s.setsockopt(6, 14, struct.pack('=H126xBBHI80s', 2, 0, 0, 8, 0, b'k' * 80))")
for what, act in (
        ("one file", "head -c 60M /dev/zero > f"),
        ("files", "py:for i in range(60): open(f'f{i}', 'wb').write(bytes(1 << 20))"),
        ("space without data", "py:import os\nos.posix_fallocate("
         "os.open('f', os.O_CREAT | os.O_RDWR), 0, 60 << 20)"),
        ("empty files", "py:import os\nfor i in range(24000): os.mknod(f'f{i}')"),
        ("a file without a name", "py:import os, time\nfd = os.open('f', os.O_CREAT | os.O_RDWR)\n"
         "os.unlink('f')\nfor i in range(60): os.write(fd, bytes(1 << 20))\ntime.sleep(3)"),
        ("a file that never had a name", "py:import os, time\n"
         "fd = os.open('.', os.O_TMPFILE | os.O_RDWR)\n"
         "for i in range(60): os.write(fd, bytes(1 << 20))\ntime.sleep(3)"),
        ("a file without a name in a thread's own table", "./probe thread-files"),
        ("in a folder of mode 0", "py:import os\nos.mkdir('d')\n"
         "for i in range(60): open(f'd/{i}', 'wb').write(bytes(1 << 20))\nos.chmod('d', 0)"),
        ("in folders that are too deep", "py:import os\n"
         "for i in range(300): os.mkdir('d'); os.chdir('d')\n"
         "for i in range(60): open(f'{i}', 'wb').write(bytes(1 << 20))")):
    row(f"disk: {what}", act, opts="--disk 10M --timeout 30s")
row("wall clock", "sleep 1.5", opts="--timeout 300ms")
row("wall clock: SIGTERM ignored", "trap '' TERM; sleep 0.8; sleep 0.8", opts="--timeout 300ms")
row("wall clock: stopped", "(while kill -CONT $$; do sleep 0.1; done) >/dev/null 2>&1 & "
    "kill -STOP $$; sleep 1",
    opts="--timeout 300ms")
row("CPU time", "py:import time\nwhile time.process_time() < 3: pass",
    opts="--cpu-seconds 1")
row("CPU time: children that nobody waits for",
    "py:import os,signal,time\nsignal.signal(17, signal.SIG_IGN)\nfor i in range(3):\n"
    " if os.fork() == 0:\n  while time.process_time() < 2: pass\n  os._exit(0)\n"
    "try: os.wait()\nexcept ChildProcessError: pass", opts="--cpu-seconds 1")
row("CPUs that were not given", "py:import os; os.sched_setaffinity(0, {0, 1}); "
    "assert len(os.sched_getaffinity(0)) > 1",
    setup="printf '[limits]\\ncpus = 1\\n' > p.toml", opts="--policy p.toml")
row("watches of the host's files",
    "py:import ctypes\nl = ctypes.CDLL(None)\nassert all(l.inotify_init() >= 0 for i in range(80))")
row("requests of which the machine has one count", "./probe requests")
row("terminals of which the machine has one count",
    "py:import os\nfor i in range(400): os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)")
row("signals of which a user has one count",
    "py:import ctypes, os, signal\nl = ctypes.CDLL(None)\nsignal.pthread_sigmask(0, [40])\n"
    "assert all(l.sigqueue(os.getpid(), 40, ctypes.c_void_p(1)) == 0 for i in range(5000))")
row("priority: of real time", "py:import os; os.sched_setscheduler(0, os.SCHED_RR, "
    "os.sched_param(1))", who="root")
row("priority", "nice -n -5 true && py=1; test $(nice -n -5 nice) = -5", who="root")
for what, act in (
        ("policy", "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))"),
        ("CPUs", "os.sched_setaffinity(1, os.sched_getaffinity(1))"),
        ("priority", "os.setpriority(os.PRIO_PROCESS, 1, 19)"),
        ("priority with all of the user's", "os.setpriority(os.PRIO_USER, 0, 19)"),
        ("limits", "resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))")):
    row(f"pid 1, which ends the tree: its {what}", f"py:import os, resource; {act}",
        alone="outside it is the machine's")
row("memory: a list of the rights of a file", """py:import os, struct
def e(tag, right, of=0xffffffff):
    return struct.pack('<HHI', tag, right, of)
os.mkdir('/dev/shm/' + ACL)
try:
    os.setxattr('/dev/shm/' + ACL, 'system.posix_acl_access', struct.pack('<I', 2) + e(1, 6)
                + e(2, 4, os.getuid()) * 8000 + e(4, 4) + e(16, 6) + e(32, 0))
finally:
    os.rmdir('/dev/shm/' + ACL)
""".replace("ACL", repr(MINE + "-acl")))
row("memory: senders of a multicast group", """py:import socket, struct
def at(a):
    return struct.pack('=HHI', socket.AF_INET6, 0, 0) + a + bytes(104)
lo = socket.if_nametoindex('lo')
group = struct.pack('!IIII', 0xff020000, 0, 9, 7)
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(41, 20, group + struct.pack('=i', lo))
s.setsockopt(41, 48, struct.pack('=II', lo, 0) + at(group) + struct.pack('=II', 0, 2)
             + at(struct.pack('!IIII', 0x20010db8, 0, 0, 1)) * 2)
""")
row("memory: the options of packets", """py:import socket, struct
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(41, 6, struct.pack('=QIIi4x', 20, 41, 67, 1))
""")
row("a lease, so that others wait", "py:import fcntl, os\n"
    "fcntl.fcntl(os.open('f', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK)", setup="echo x > f")

# --- commands ----------------------------------------------------------------------------

F = "/usr/bin/factor"
for what, act in (
        ("by its name", "factor 6"), ("by its path", F + " 6"),
        ("through /proc", f"/proc/self/root{F} 6"),
        ("a copy", f"cp {F} f && ./f 6"), ("a symbolic link", f"ln -s {F} f && ./f 6"),
        ("a hard link", f"ln {F} f && ./f 6"),
        ("the loader", f"/lib64/ld-linux-x86-64.so.2 {F} 6"),
        ("another name in argv", f"py:import os; os.execv('{F}', ['true', '6'])"),
        ("a descriptor", f"py:import os; os.execve(os.open('{F}', os.O_RDONLY), ['x', '6'], "
         "os.environ)"),
        ("#!", f"printf '#!{F}\\n' > 6; chmod +x 6; ./6; ./6 7 | grep 7 || {F} 6"),
        ("a wrapper", "env factor 6"), ("another PATH", "PATH=/bin factor 6")):
    setup = "touch /usr/bin/.t 2>/dev/null && rm /usr/bin/.t; true" if what == "a hard link" else ""
    row(f"blocked: {what}", act, opts="--block-command factor", setup=setup,
        who="root" if what == "a hard link" else "both",
        alone="/usr is another file system" if what == "a hard link" else "")
row("disk: space that is taken in advance", "fallocate -l 100M f", opts="--disk 5M")
row("disk: zeros that are taken in advance", "fallocate -z -l 100M f", opts="--disk 5M",
    setup="echo x > f")
row("blocked: git's other copy", "/usr/lib/git-core/git --version || "
    "/usr/libexec/git-core/git --version", opts="--block-command git")

# With arguments: `touch mark` may not be, any other touch may.
BLOCK = "printf '[commands]\\nblock = [\"touch mark\"]\\n' > p.toml; "
MANY = ("printf '#!/bin/sh\\ncase $0 in *busybox) shift ;; esac\\n: > $1\\n' > busybox; "
        "chmod +x busybox; ln -s busybox touch; ")
T = "/usr/bin/touch"
for what, act in (
        ("by its name", "touch mark"), ("by its path", f"{T} mark"),
        ("through /proc", f"/proc/self/root{T} mark"),
        ("another spelling", "touch ./mark"), ("up and down", "mkdir d; touch d/../mark"),
        ("other words between", "touch other -m -- ./other mark"),
        ("a symbolic link", f"ln -s {T} t && ./t mark"),
        ("a link to a link", f"ln -s {T} t && ln -s t u && ./u mark"),
        ("a copy of the same name", f"cp {T} . && ./touch mark"),
        ("another name in argv", f"py:import os; os.execv('{T}', ['true', 'mark'])"),
        ("the name in argv alone", f"cp {T} t && exec 9<t && rm t && "
         "python3 -c \"import os; os.execve(9, ['touch', 'mark'], os.environ)\""),
        ("a descriptor", f"py:import os; os.execve(os.open('{T}', os.O_RDONLY), ['x', 'mark'], "
         "os.environ)"),
        ("a program without a name", "./probe nameless-program"),
        ("the loader", f"/lib64/ld-linux-x86-64.so.2 {T} mark"),
        ("the loader and a link", f"ln -s {T} t && /lib64/ld-linux-x86-64.so.2 ./t mark"),
        ("the loader by a link", f"ln -s /lib64/ld-linux-x86-64.so.2 l && ./l {T} mark"),
        ("#!", f"printf '#!{T}\\n' > s; chmod +x s; ./s mark"),
        ("an argument of #!", f"printf '#!{T} mark\\n' > s; chmod +x s; ./s"),
        ("#! of a #!", f"printf '#!{T} mark\\n' > s; printf '#!./s\\n' > t; chmod +x s t; ./t"),
        ("#! by its name", "printf '#!/bin/sh\\n: > mark' > touch; chmod +x touch; ./touch mark"),
        ("env", "env -i touch mark"), ("xargs", "echo mark | xargs touch"),
        ("find", "find . -maxdepth 0 -exec touch mark ';'"),
        ("another shell", "bash -c 'sh -c \"eval tou\"ch\" mark\"'"),
        ("vfork", "py:import subprocess; subprocess.check_call(['touch', 'mark'])"),
        ("a part of many", "./busybox touch mark"), ("a link to many", "./touch mark"),
        ("a race: the word changes", "./probe race-word"),
        ("a race: the path changes", "./probe race-path"),
        ("a race: the link changes", "./probe race-link"),
        ("a race: threads", "./probe race-thread")):
    row(f"blocked with arguments: {what}", act, opts="--policy p.toml", told="test -e mark",
        setup=BLOCK + (MANY if "many" in what else ""))
row("blocked with arguments: a hard link", "./t mark", opts="--policy p.toml", told="test -e mark",
    setup=BLOCK + f"ln {T} t", who="root", alone="/usr may be another file system")
NAMED = "printf '[commands]\\nblock = [\"touch %s/d/mark\"]\\n' \"$(pwd -P)\" > p.toml"
PAD = "$(printf '%02040d' 0 | sed s,0,./,g)"
for what, act in (
        ("a way up to what is named", "cd d/e; touch ../mark"),
        ("detours as long as a path may be", f"touch {PAD}d/mark"),
        ("slashes as long as a path may be",
         "py:import os; p = os.path.realpath('d/mark')\n"
         "os.execvp('touch', ['touch', '/' * (4095 - len(p)) + p])"),
        ("from a folder whose path is too long to be told",
         "py:import os; n = 'x' * 250\n"
         "for i in range(17): os.mkdir(n); os.chdir(n)\n"
         "os.execvp('touch', ['touch', '../' * 17 + 'd/mark'])"),
        ("from a folder whose name begins as the place's",
         "mkdir d/marks; cd d/marks; touch ../mark")):
    row(f"blocked with arguments: {what}", act, told="test -e d/mark", opts="--policy p.toml",
        setup="mkdir -p d/e; " + NAMED)
row("blocked with arguments: in the place itself", "cd d; touch mark", told="test -e d/mark",
    opts="--policy p.toml", setup="mkdir d; "
    "printf '[commands]\\nblock = [\"touch %s/d\"]\\n' \"$(pwd -P)\" > p.toml")
row("blocked with arguments: the home, which a shell has put in", "touch ~/mark",
    told="test -e mark", opts="--policy p.toml", home="ws",
    setup="printf '[commands]\\nblock = [\"touch ~/mark\"]\\n' > p.toml")
for what, block, act in (
        ("-- as the value of an option", "find -exec", "find . ! -name -- -exec touch mark ';'"),
        ("an option cut off", "touch --reference", "touch --ref=p.toml mark"),
        ("an option and its value in one word", "touch -r p.toml", "touch -rp.toml mark"),
        ("no operand at all", "env *", "env -S'touch mark'")):
    row(f"blocked with arguments: {what}", act, told="test -e mark", opts="--policy p.toml",
        setup=f"printf '[commands]\\nblock = [\"{block}\"]\\n' > p.toml")
for what, act in (
        ("of its own", "/usr/lib/git-core/git-init -q sub || /usr/libexec/git-core/git-init -q sub"),
        ("by its name in argv", "bash -c 'exec -a git-init git -q sub'")):
    row(f"blocked with arguments: a part that is a program {what}", act, told="test -e sub",
        setup="printf '[commands]\nblock = [\"git init\"]\n' > p.toml", opts="--policy p.toml")
row("blocked: a part of busybox", "busybox touch mark", opts="--block-command touch",
    told="test -e mark")
row("blocked: a part of busybox, by its shell", "busybox sh -c 'touch mark'",
    opts="--block-command touch", told="test -e mark")
row("blocked: a part of busybox, by its name in argv",
    "py:import os; os.execv('/bin/busybox', ['touch', 'mark'])", opts="--block-command touch",
    told="test -e mark")
for what, act in (
        ("xargs", "echo mark | busybox xargs touch"),
        ("find", "busybox find . -maxdepth 0 -exec touch mark ';'"),
        ("name in argv with a dash", "py:import os; os.execv('/bin/busybox', ['-touch', 'mark'])")):
    row(f"blocked: a part of busybox, by its {what}", act, opts="--block-command touch",
        told="test -e mark")
row("blocked: a pattern of names", "touch mark", opts="--block-command t*ch", told="test -e mark")
row("blocked: shell syntax", "py:import os; os.system(':  >  mar' 'k')", setup="printf '[commands]\\nblock = "
    "[\": > mark\"]\\n' > p.toml", opts="--policy p.toml", told="test -e mark")

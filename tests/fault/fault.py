"""Fail each system call of a start in turn; the command must never run freer.

strace makes the n-th call of a name fail, for n = 1, 2, ... until a run ends as
if nothing had failed.  Whatever happens: the command either does not run, and
the exit code is 125 (or 2, or 126, 127 where that is what failed) with a
message, or it runs confined; and nothing is left.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "suite"))
from groups import dead_groups  # noqa: E402
from vectors import Tap  # noqa: E402

CORDON = os.environ["CORDON"]

# Names of calls between the supervisor's first and the command's exec.
CALLS = """clone3 clone open_tree move_mount mount_setattr fsopen fsconfig fsmount mount chroot
    fchdir chdir openat2 landlock_create_ruleset landlock_add_rule landlock_restrict_self prctl
    capset seccomp prlimit64 sethostname socket socketpair ioctl close_range dup2 dup3 fcntl sendmsg
    sendto recvfrom recvmsg setgroups mkdirat mknodat symlinkat mkdir faccessat2 signalfd4 pipe2
    unshare setns rt_sigprocmask newfstatat readlink openat write execve""".split()

# The same with a gate, whose sockets, routes and rules are more of them.
GATE_CALLS = """socket bind listen setsockopt sendto recvfrom recvmsg sendmsg epoll_create1 epoll_ctl
    timerfd_create eventfd2 openat write""".split()
GATE = ("--allow-host", "example.com:443")

# Not every machine and user makes these.
RARE = {"setgroups", "mkdir", "faccessat2", "epoll_create1", "epoll_ctl", "timerfd_create", "eventfd2"}

# Once such a call failed, everything that follows may, too; more than this many
# in one run says nothing new.
MOST = {"openat": 400, "newfstatat": 300, "close": 0}

# Prints what confines it, to a file in the workspace.
PROBE = r"""
caps=; priv=; filter=
while read -r key value; do
    case $key in
    CapEff:) caps=$value ;;
    NoNewPrivs:) priv=$value ;;
    Seccomp:) filter=$value ;;
    esac
done </proc/self/status
seen=no
[ -e "$CANARY" ] && seen=yes
echo "$caps $priv $filter $seen" >marker
"""
SECONDS = 40	# the limit of a run: only one that hangs comes to it
CONFINED = "0000000000000000 1 2 no"


def leftovers():
    """What a run could leave behind: mounts and groups."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return {*f.read().splitlines(), *dead_groups()}


def leave_others():
    """Other programs mount and unmount meanwhile: root counts its own mounts only."""
    if os.geteuid() == 0 and "CORDON_FAULT_ALONE" not in os.environ:
        os.environ["CORDON_FAULT_ALONE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "--",
                              sys.executable, "-B", *sys.argv])


class Place:
    """A workspace, a canary outside of it, and a folder for live runs."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="cordon-fault-")
        self.work = os.path.join(self.dir.name, "work")
        self.runtime = os.path.join(self.dir.name, "runtime")
        self.canary = os.path.join(self.dir.name, "canary")
        self.marker = os.path.join(self.work, "marker")
        os.mkdir(self.work)
        os.mkdir(self.runtime, 0o700)
        with open(self.canary, "w", encoding="ascii") as f:
            f.write("outside")

    def run(self, *strace, options=()):
        if os.path.exists(self.marker):
            os.remove(self.marker)
        env = {"PATH": "/usr/bin:/bin", "HOME": self.dir.name, "XDG_RUNTIME_DIR": self.runtime,
               "CANARY": self.canary}
        self.begin = time.monotonic()
        return subprocess.run([*strace, CORDON, "run", "--no-policy", "--env", "CANARY",
                               "--timeout", str(SECONDS), *options,
                               "--", "/bin/sh", "-c", PROBE], cwd=self.work, env=env, timeout=180,
                              capture_output=True, text=True, errors="replace", check=False,
                              stdin=subprocess.DEVNULL)

    def said(self):
        try:
            with open(self.marker, encoding="ascii") as f:
                return f.read().strip()
        except OSError:
            return None

    def is_clean(self):
        return os.listdir(self.runtime) in ([], ["cordon"]) and (
            not os.path.exists(self.runtime + "/cordon")
            or not os.listdir(self.runtime + "/cordon"))


def judge(place, done, log):
    """What is wrong after one injected failure, which each process had; lines."""
    wrong, said = [], place.said()
    # Made for the command, which then heard that it could not be made: its own shell ends so.
    if said == "" and done.returncode == 2 and "cannot create marker" in done.stderr:
        said = None
    if said is not None and said != CONFINED:
        wrong.append(f"ran with: {said}")
    if done.returncode in (2, 125) and said is not None:
        wrong.append("the command ran, and the exit code says that it did not")
    if said is None and done.returncode == 0:
        wrong.append("the exit code is 0, and nothing ran")
    if done.returncode in (2, 125) and not done.stderr.strip() and not (
            re.search(r"write\(2, .*INJECTED", log)):
        wrong.append("no message")
    if time.monotonic() - place.begin >= SECONDS:
        wrong.append("nothing but the time limit has ended it")
    if not place.is_clean():
        wrong.append("a folder is left")
    return wrong


def main(step):
    leave_others()
    tap = Tap()
    place = Place()
    if subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "inject=getppid:error=EPERM:when=1",
                       "true"],
                      capture_output=True, check=False).returncode:
        print("1..0 # SKIP strace cannot trace here: install strace, and allow ptrace")
        return
    plain = place.run()
    tap.check(plain.returncode == 0 and place.said() == CONFINED, "untouched it runs confined",
              plain.stderr, place.said())
    before = leftovers()
    log = os.path.join(place.dir.name, "strace")
    gated = place.run(options=GATE)
    tap.check(gated.returncode == 0 and place.said() == CONFINED, "and with a gate", gated.stderr)
    rows = [(call, ()) for call in CALLS] + [(call, GATE) for call in GATE_CALLS]
    for call, options in rows:
        n, tried, problems = 1, 0, []
        while n <= MOST.get(call, 200):
            done = place.run("strace", "-f", "-qq", "-o", log, "-e", f"trace={call}", "-e",
                             f"inject={call}:error=EPERM:when={n}", options=options)
            with open(log, encoding="utf-8", errors="replace") as f:
                text = f.read()
            if "(INJECTED)" not in text:
                break
            tried += 1
            problems += [f"{call} {n}: {x}: {done.returncode} {done.stderr.strip()[:160]}"
                         for x in judge(place, done, text)]
            n += step
        if not tried and call not in RARE:
            problems.append("no run made this call")
        tap.check(not problems, f"{call}, made to fail {tried} times"
                  + (" with a gate" if options else ""), *problems[:8])
    # Those whose supervisor somebody else has killed go when that one looks after them.
    end = time.monotonic() + 60
    while leftovers() - before and time.monotonic() < end:
        time.sleep(0.1)
    left = sorted(leftovers() - before)
    tap.check(not left, "no mount and no group is left", json.dumps(left))
    tap.end()

#!/usr/bin/python3
"""What a run costs: bare, in a cordon, by the library, and in other sandboxes.

All alternate, so that each sees the same machine, in another order each time, since
the kernel takes namespaces apart while the next one runs.  The median of the faster
half counts.  None goes before what else the machine does: a command in a cordon would
not, whatever its caller may.  Started by vfork from a small program (posix_spawn), so
that the caller's size does not count.
Also: runs a second with one and two workers, and the private memory of what supervises
a command that sleeps.

The others get no more to do than cordon does: namespaces of their own and no
network, but less than its mounts, no Landlock, no guarded names and no limits;
only firejail and crun filter system calls as well.
"""

import ctypes
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from processes import children, private_kb

CORDON = os.environ["CORDON"]
CALL = os.path.join(os.environ["CORDON_BUILD"], "tests/bench/call")
ROUNDS = int(os.environ.get("CORDON_BENCH_ROUNDS", "200"))
NULL = os.open("/dev/null", os.O_RDWR)
ORDER = random.Random(1)
STREAMS = [(os.POSIX_SPAWN_DUP2, NULL, n) for n in range(3)]

# At most so many times as long as bare, and as each of the others: not behind them, but for
# what two measurements of the same differ by.  `git status` makes a name, and so starts the
# guard, which they have nothing like; each package that has settings in /etc is one rule more.
LIMITS = {"/bin/true": 7.0, "python3 -c pass": 1.6, "git status": 4.2}
PEER_LIMITS = {"/bin/true": 0.95, "python3 -c pass": 1.02, "git status": 1.02}
# A command in a live session: asked for by a process that lives, and by one that is
# started for it.
SESSION_LIMITS = {"cordon_session_exec()": 1.8, "cordon session exec": 3.0}
RATE_LIMIT = 1.02
MEMORY_LIMIT_KB = 256


def tell(name, value, unit, baseline=None, limit=None):
    row = {"name": name, "value": round(value, 1), "unit": unit, "baseline": None, "ratio": None,
           "limit": None}
    if baseline is not None:
        row.update(baseline=round(baseline, 1), ratio=round(value / baseline, 3), limit=limit)
    print(json.dumps(row), flush=True)


def spend(argv):
    """Microseconds from start to end of a program."""
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=STREAMS)
    _, status = os.waitpid(pid, 0)
    if status:
        raise OSError(f"{argv[0]} ended with {status}")
    return (time.perf_counter_ns() - begin) / 1000


class Program:
    """A command line that is started anew each time."""

    def __init__(self, argv):
        self.argv = argv
        self.spend = lambda: spend(argv)

    def close(self):
        pass


class Call:
    """A process that calls the library each time it is asked."""

    def __init__(self, command):
        self.process = subprocess.Popen([CALL, *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def spend(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Session:
    """A live cordon, for commands that are started in it."""

    def __init__(self):
        self.id = subprocess.run([CORDON, "session", "start", "--no-policy"], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout.strip()

    def argv(self, command):
        return [CORDON, "session", "exec", self.id, "--", *command]

    def close(self):
        subprocess.run([CORDON, "session", "stop", self.id], check=True)


class Bundle:
    """What crun runs: an empty root with the system and the workspace in it."""

    def __init__(self, place, work):
        self.place, self.work = place, work
        root = os.path.join(place, "rootfs")
        for name in ("usr", "etc", "proc", "dev", "tmp"):
            os.makedirs(os.path.join(root, name))
        for name in ("bin", "sbin", "lib", "lib32", "lib64"):
            if os.path.islink("/" + name):
                os.symlink(os.readlink("/" + name), os.path.join(root, name))
        self.n = 0

    def argv(self, command):
        """Each command has a folder of its own, which names the same root."""
        folder = os.path.join(self.place, f"bundle{self.n}")
        self.n += 1
        os.makedirs(folder)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump(self.config(command), f)
        return [shutil.which("crun"), "--cgroup-manager=disabled", "--root",
                os.path.join(self.place, "state"), "run", "--bundle", folder, f"bench{self.n}"]

    def config(self, command):
        uid, gid = os.getuid(), os.getgid()
        bind = [{"destination": path, "source": path, "type": "bind", "options": options}
                for path, options in (("/usr", ["rbind", "ro"]), ("/etc", ["rbind", "ro"]))]
        bind.append({"destination": "/proc", "type": "proc", "source": "proc"})
        bind.append({"destination": "/dev", "type": "tmpfs", "source": "tmpfs"})
        bind.append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"})
        bind.append({"destination": self.work, "source": self.work, "type": "bind",
                     "options": ["rbind", "rw"]})
        return {
            "ociVersion": "1.0.2",
            "root": {"path": os.path.join(self.place, "rootfs"), "readonly": True},
            "process": {"terminal": False, "user": {"uid": uid, "gid": gid}, "args": command,
                        "env": ["PATH=/usr/bin:/bin", "HOME=/tmp"], "cwd": self.work,
                        "noNewPrivileges": True, "capabilities": {}},
            "mounts": bind,
            "linux": {
                "namespaces": [{"type": t} for t in ("user", "pid", "mount", "network", "ipc",
                                                     "uts", "cgroup")],
                "uidMappings": [{"containerID": uid, "hostID": uid, "size": 1}],
                "gidMappings": [{"containerID": gid, "hostID": gid, "size": 1}],
                "seccomp": {"defaultAction": "SCMP_ACT_ALLOW",
                            "architectures": ["SCMP_ARCH_X86_64"],
                            "syscalls": [{"names": ["bpf", "keyctl", "mount", "unshare"],
                                          "action": "SCMP_ACT_ERRNO"}]},
            },
        }


class Peers:
    """The other sandboxes that are here and work."""

    def __init__(self, place, work):
        self.work = work
        self.bundle = Bundle(place, work)
        self.names = [name for name in ("bubblewrap", "firejail", "crun") if self.works(name)]

    def argv(self, name, command):
        return {
            "bubblewrap": lambda: [shutil.which("bwrap"), "--unshare-all", "--ro-bind", "/", "/",
                                   "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                                   "--bind", self.work, self.work, "--new-session",
                                   "--die-with-parent", "--chdir", self.work, *command],
            "firejail": lambda: [shutil.which("firejail"), "--quiet", "--noprofile", "--net=none",
                                 "--private-dev", "--caps.drop=all", "--nonewprivs", "--seccomp",
                                 *command],
            "crun": lambda: self.bundle.argv(command),
        }[name]()

    def works(self, name):
        program = {"bubblewrap": "bwrap"}.get(name, name)
        try:
            if not shutil.which(program):
                raise OSError("it is not installed")
            spend(self.argv(name, ["/bin/true"]))
            return True
        except OSError as e:
            print(f"run: NOT compared with {name}: {e}", file=sys.stderr)
            return False


def cordon_argv(command, *options):
    return [CORDON, "run", "--no-policy", *options, "--", *command]


def in_some_order(ways):
    return ORDER.sample(list(ways.items()), len(ways))


def typical(times):
    return statistics.median(sorted(times)[: max(len(times) // 2, 1)])


def compare(name, command, peers, rounds):
    session = Session()
    ways = {"bare": Program(command), "cordon": Program(cordon_argv(command)),
            "cordon_run()": Call(command),
            "cordon, public": Program(cordon_argv(command, "--network", "public")),
            "cordon session exec": Program(session.argv(command)),
            "cordon_session_exec()": Call(["--session", session.id, *command])}
    ways.update((peer, Program(peers.argv(peer, command))) for peer in peers.names)
    times = {way: [] for way in ways}
    for round_ in range(rounds + 2):
        for way, it in in_some_order(ways):
            took = it.spend()
            if round_ >= 2:
                times[way].append(took)
    for it in [*ways.values(), session]:
        it.close()
    took = {way: typical(times[way]) for way in ways}
    for way in list(ways)[1:]:
        tell(f"run: {name}, {way}, against bare", took[way], "us", took["bare"],
             LIMITS[name] if way == "cordon" else SESSION_LIMITS.get(way))
    for peer in peers.names:
        tell(f"run: {name}, cordon against {peer}", took["cordon"], "us", took[peer],
             PEER_LIMITS[name])


def executions(rounds, count=200):
    """A program that starts programs, where commands with arguments are blocked: each of its
    executions is judged.  Against the same where nothing is blocked."""
    loop = f"i=0; while [ $i -lt {count} ]; do /bin/true; i=$((i+1)); done"
    rows = [[CORDON, "run", "--no-policy", *words, "--", "/bin/sh", "-c", loop]
            for words in ([], ["--block-command", "rm -rf /"])]
    times = [[], []]
    for round_ in range(rounds + 1):
        for n, argv in enumerate(rows):
            took = spend(argv)
            if round_:
                times[n].append(took)
    free, judged = (typical(t) / count for t in times)
    tell("run: an execution that is judged, against a free one", judged, "us", free)


def names(rounds, n=1000):
    """A shell that opens a file to write, again and again: each time the guard does it."""
    rows = [["/bin/sh", "-c", f"i=0; while [ $i -lt {times} ]; do : >x; i=$((i+1)); done"]
            for times in (1, n)]
    took = {}
    for way in (lambda argv: argv, cordon_argv):
        few, many = ([spend(way(argv)) for _ in range(rounds + 1)][1:] for argv in rows)
        took[way] = (typical(many) - typical(few)) / n
    bare, guarded = took.values()
    tell("run: a file that is opened to write, against bare", guarded, "us", bare)


def count(argv, workers, seconds):
    """Runs in that time."""
    pipes = []
    for _ in range(workers):
        read, write = os.pipe()
        if os.fork() == 0:
            n, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                spend(argv)
                n += 1
            os.write(write, str(n).encode())
            os._exit(0)
        os.close(write)
        pipes.append(read)
    total = sum(int(os.read(fd, 32) or 0) for fd in pipes)
    for fd in pipes:
        os.close(fd)
        os.wait()
    return total


def throughput(peers, workers, slices=4, seconds=0.5):
    """Runs of /bin/true a second, in slices that alternate."""
    command = ["/bin/true"]
    ways = {"bare": command, "cordon": cordon_argv(command)}
    # crun takes the same name only once at a time.
    ways.update((peer, peers.argv(peer, command)) for peer in peers.names
                if peer != "crun" or workers == 1)
    total = dict.fromkeys(ways, 0)
    for _ in range(slices):
        for way, argv in in_some_order(ways):
            total[way] += count(argv, workers, seconds)
    with_workers = f"{workers} worker{'s' * (workers > 1)}"
    rate = {way: n / slices / seconds for way, n in total.items()}
    for way in ways:
        # Of the others' as many as of ours, and not many more.
        ours, limit = (rate["cordon"], RATE_LIMIT) if way in peers.names else (None, None)
        tell(f"run: /bin/true, {way}, {with_workers}", rate[way], "1/s", ours, limit)


def supervisors(pid):
    """All of the tree but the command, which is below them all."""
    tree = [pid, *children(pid)]
    return [p for p in tree if children(p) or p == pid]


def memory(name, argvs, limit=None):
    """Of one of two that run at once: what is the same in both is shared."""
    runs = [subprocess.Popen(argv, stdin=subprocess.DEVNULL) for argv in argvs]
    time.sleep(0.7)
    try:
        total = sum(private_kb(p) for p in supervisors(runs[0].pid))
        tell(f"run: private memory that supervises, {name}", total, "KB",
             limit and MEMORY_LIMIT_KB, limit)
    except OSError as e:    # cordon's hide themselves from all but root
        print(f"run: NOT measured: private memory of {name}: {e}", file=sys.stderr)
    for run in runs:
        run.wait()


def measure_memory(peers):
    command = ["/bin/sleep", "1.5"]
    memory("cordon", [cordon_argv(command)] * 2, 1.0)
    for peer in peers.names:
        memory(peer, [peers.argv(peer, command) for _ in range(2)])


CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x4000, 1 << 18, 2


def hide_second_groups():
    """crun runs nothing where there are control groups of both versions, whichever it is told
    to use: in mounts of our own, all that is measured here sees only the first."""
    libc, second = ctypes.CDLL(None), b"/sys/fs/cgroup/unified"
    if os.getuid() == 0 and os.path.ismount(second) and libc.unshare(CLONE_NEWNS) == 0:
        libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
        libc.umount2(second, MNT_DETACH)


def main():
    hide_second_groups()
    with tempfile.TemporaryDirectory(prefix="cordon-bench-") as place:
        work = os.path.join(place, "work")
        os.mkdir(work)
        os.chdir(work)
        subprocess.run(["git", "init", "-q", "."], check=True)
        peers = Peers(place, work)
        compare("/bin/true", ["/bin/true"], peers, ROUNDS)
        compare("python3 -c pass", ["/usr/bin/python3", "-c", "pass"], peers, ROUNDS // 4)
        compare("git status", ["/usr/bin/git", "status"], peers, ROUNDS // 4)
        executions(max(ROUNDS // 10, 1))
        names(max(ROUNDS // 20, 1))
        throughput(peers, 1)
        throughput(peers, 2)
        measure_memory(peers)
        os.chdir("/")


main()

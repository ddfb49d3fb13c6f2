#!/usr/bin/python3
"""What a run costs: bare, in a cordon, in bubblewrap.

All alternate, so that each sees the same machine, and the median of the faster
half counts.  Started by vfork from a small program (posix_spawn), so that the
caller's size does not count.  Also: runs a second with one and two workers, and
the supervisor's private memory while a command sleeps.
"""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

CORDON = os.environ["CORDON"]
ROUNDS = int(os.environ.get("CORDON_BENCH_ROUNDS", "200"))
BWRAP = shutil.which("bwrap")
NULL = os.open("/dev/null", os.O_RDWR)
STREAMS = [(os.POSIX_SPAWN_DUP2, NULL, n) for n in range(3)]


def tell(name, value, unit, baseline=None, ratio=None, limit=None):
    print(json.dumps({"name": name, "value": round(value, 1), "unit": unit, "baseline": baseline,
                      "ratio": ratio, "limit": limit}), flush=True)


def spend(argv):
    """Microseconds from start to end of a program."""
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=STREAMS)
    _, status = os.waitpid(pid, 0)
    if status:
        sys.exit(f"{argv} ended with {status}")
    return (time.perf_counter_ns() - begin) / 1000


def ways(command):
    """Name and argument vector of each way to run the command."""
    yield "bare", command
    yield "cordon", [CORDON, "run", "--no-policy", "--", *command]
    yield "cordon, public", [CORDON, "run", "--no-policy", "--network", "public", "--", *command]
    if BWRAP:
        yield "bubblewrap", [BWRAP, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev",
                             "--proc",
                             "/proc", "--tmpfs", "/tmp", "--die-with-parent", *command]


def typical(times):
    return statistics.median(sorted(times)[: max(len(times) // 2, 1)])


def compare(name, command, rounds):
    rows = list(ways(command))
    times = {way: [] for way, _ in rows}
    for round_ in range(rounds + 2):
        for way, argv in rows:
            took = spend(argv)
            if round_ >= 2:
                times[way].append(took)
    bare = typical(times["bare"])
    for way, _ in rows[1:]:
        took = typical(times[way])
        tell(f"run: {name}, {way}, against bare", took, "us", round(bare, 1), round(took / bare, 3))


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
    tell("run: an execution that is judged, against a free one", judged, "us", round(free, 1),
         round(judged / free, 3))


def throughput(workers, seconds=2.0):
    """Runs of /bin/true a second."""
    pids = []
    counts = []
    for _ in range(workers):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            n, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                spend([CORDON, "run", "--no-policy", "--", "/bin/true"])
                n += 1
            os.write(write, str(n).encode())
            os._exit(0)
        os.close(write)
        pids.append(pid)
        counts.append(read)
    total = sum(int(os.read(fd, 32)) for fd in counts)
    for pid in pids:
        os.waitpid(pid, 0)
    tell(f"run: /bin/true, {workers} worker{'s' * (workers > 1)}", total / seconds, "1/s")


def private_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return sum(int(kb) for kb in re.findall(r"^Private_(?:Clean|Dirty): +(\d+)", f.read(),
                                                re.M))


def memory():
    with subprocess.Popen([CORDON, "run", "--no-policy", "--", "sleep", "100"],
                          stdin=subprocess.DEVNULL) as p:
        time.sleep(0.5)
        try:
            tell("run: private memory of the supervisor", private_kb(p.pid), "KB")
        except OSError as e:    # it hides itself from all but root
            print(f"run: private memory: {e}", file=sys.stderr)
        p.send_signal(signal.SIGTERM)
        p.wait()


def main():
    if not BWRAP:
        print("run: bubblewrap is not there to compare with", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="cordon-bench-") as work:
        os.chdir(work)
        subprocess.run(["git", "init", "-q", "."], check=True)
        compare("/bin/true", ["/bin/true"], ROUNDS)
        compare("python3 -c pass", ["/usr/bin/python3", "-c", "pass"], ROUNDS // 5)
        compare("git status", ["/usr/bin/git", "status"], ROUNDS // 4)
        executions(max(ROUNDS // 10, 1))
        throughput(1)
        throughput(2)
        memory()
        os.chdir("/")


main()

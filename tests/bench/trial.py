#!/usr/bin/python3
"""What a trial costs: setup, agent and verifier that do next to nothing.

Against the same three commands started bare, and against a session with the same
three in it, which is what encloses a trial.  All alternate, so that each sees the
same machine, and the median of the faster half counts; as root all of it goes before
whatever else the machine does.  Also: with two workers, the last of many, and the
private memory of what runs and supervises one of two that sleep.
"""

import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from processes import children, private_kb

CORDON = os.environ["CORDON"]
ROUNDS = max(int(os.environ.get("CORDON_BENCH_ROUNDS", "100")) // 10, 1)
FEW, MANY = 20, 200
SETUP, AGENT = "true", "echo x >x"
VERIFIER = "echo 1 >{}reward.txt"
PR_SET_CHILD_SUBREAPER = 36

# At most so many times as much.
LIMITS = {"bare": 15.0, "session": 1.3, "workers": 0.65, "growth": 1.2}
MEMORY_LIMITS_KB = {"of the process that runs them": 256, "of one trial": 768}


def tell(name, value, unit, baseline=None, limit=None):
    row = {"name": f"trial: {name}", "value": round(value, 1), "unit": unit, "baseline": None,
           "ratio": None, "limit": None}
    if baseline is not None:
        row.update(baseline=round(baseline, 1), ratio=round(value / baseline, 3), limit=limit)
    print(json.dumps(row), flush=True)


def go_first():
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
    except PermissionError:
        print("trial: other programs count, too: only root can go before them", file=sys.stderr)


# ---- ways ------------------------------------------------------------------------------

def run(*argv):
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def write_tasks(folder, count, text):
    for i in range(count):
        os.makedirs(os.path.join(folder, f"t{i:04}"))
        with open(os.path.join(folder, f"t{i:04}", "task.toml"), "w", encoding="ascii") as f:
            f.write(text)


def trials(folder, workers):
    """All of a folder."""
    run(CORDON, "trial", folder, "--output-dir", "out", "--jobs", str(workers), "--setup", SETUP,
        "--agent", AGENT, "--verifier", VERIFIER.format("/logs/verifier/"))


def bare(count):
    for _ in range(count):
        for text in (SETUP, AGENT, VERIFIER.format("")):
            pid = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", text], os.environ)
            os.waitpid(pid, 0)


def sessions(count):
    """By hand: one for each three."""
    for _ in range(count):
        run(CORDON, "session", "start", "--no-policy", "--name", "bench")
        for text in (SETUP, AGENT, VERIFIER.format("")):
            run(CORDON, "session", "exec", "bench", "--", "/bin/sh", "-c", text)
        run(CORDON, "session", "stop", "bench")


def per_trial(way, count):
    """Microseconds of one."""
    begin = time.perf_counter_ns()
    way()
    return (time.perf_counter_ns() - begin) / 1000 / count


def durations():
    """Microseconds of each of the last run, in their order."""
    with open("out/results.jsonl", encoding="utf-8") as f:
        return [1000 * json.loads(line)["duration_ms"] for line in f]


def typical(times):
    return statistics.median(sorted(times)[: max(len(times) // 2, 1)])


def compare():
    ways = {"bare": (lambda: bare(FEW), FEW),
            "one worker": (lambda: trials("few", 1), FEW),
            "session": (lambda: sessions(FEW), FEW),
            "two workers": (lambda: trials("few", 2), FEW)}
    times = {name: [] for name in ways}
    for round_ in range(ROUNDS + 1):
        for name, (way, count) in ways.items():
            took = per_trial(way, count)
            shutil.rmtree("out", ignore_errors=True)
            if round_:
                times[name].append(took)
    took = {name: typical(rows) for name, rows in times.items()}
    one = took["one worker"]
    tell("one, one worker, against its commands bare", one, "us", took["bare"], LIMITS["bare"])
    tell("one, one worker, against a session for them", one, "us", took["session"],
         LIMITS["session"])
    tell("one, two workers, against one worker", took["two workers"], "us", one,
         LIMITS["workers"])


def growth():
    """In runs of many: the last of them against the first."""
    first, last = [], []
    for _ in range(max(ROUNDS // 3, 1)):
        trials("many", 1)
        took = durations()
        shutil.rmtree("out")
        first += took[:FEW]
        last += took[-FEW:]
    tell(f"one of the last {FEW} of {MANY}, against the first", typical(last), "us",
         typical(first), LIMITS["growth"])


# ---- memory ----------------------------------------------------------------------------

def is_cordon(pid):
    """Not the command."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
        return f.readline().split()[1] not in ("sh", "sleep")


def measure_memory():
    """Of two that run two each: what is the same in both is shared."""
    # Sessions leave the trial's process; they are to come here.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    runners = [subprocess.Popen(
        [CORDON, "trial", "pair", "--output-dir", out, "--jobs", "2", "--agent", "sleep 1.5",
         "--verifier", VERIFIER.format("/logs/verifier/")],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for out in ("out", "out2")]
    time.sleep(1)
    try:
        all_kb = {p: private_kb(p) for p in children(os.getpid()) if is_cordon(p)}
        own = sum(all_kb.pop(runner.pid) for runner in runners) / 2
        rows = {"of the process that runs them": own, "of one trial": sum(all_kb.values()) / 4}
        for name, kb in rows.items():
            tell(f"private memory {name}", kb, "KB", MEMORY_LIMITS_KB[name], 1.0)
    except OSError as e:    # cordon's hide themselves from all but root
        print(f"trial: NOT measured: private memory: {e}", file=sys.stderr)
    for runner in runners:
        runner.wait()
    shutil.rmtree("out")
    shutil.rmtree("out2")


def main():
    go_first()
    # A trial writes some twenty files; a disk that others use is not what is measured.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="cordon-bench-", dir=memory) as place:
        os.chdir(place)
        text = '[environment]\nnetwork_mode = "no-network"\n'
        for name, count in (("few", FEW), ("many", MANY), ("pair", 2)):
            write_tasks(name, count, text)
        compare()
        growth()
        measure_memory()
        os.chdir("/")


main()

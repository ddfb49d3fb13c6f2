#!/usr/bin/python3
"""What the gate costs: against a direct connection, and against two proxies.

Servers and clients are on the loopback; a client of the gate is inside a cordon,
one of a proxy asks by CONNECT.  All ways alternate, so that each sees the same
machine, and the median of the better half counts.  Proxies run in the foreground, without cache and
logs, and are told an address, so that they need not resolve.

A ratio says how many times worse the gate is: more time, fewer bytes a second.
"""

import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

CORDON = os.environ["CORDON"]
PEER = os.path.join(os.environ["CORDON_BUILD"], "tests/bench/gate-peer")
ROUNDS = int(os.environ.get("CORDON_BENCH_ROUNDS", "20"))
HOST = "bench.test"
IDLE = 5000

# What one round of each asks for, and the most that the gate may be worse than
# direct.
MODES = {
    "connect": (300, "us", 2.4),
    "request": (1500, "us", 1.9),
    "rate": (150, "1/s", None),
    "bulk": (256, "MB/s", 1 / 0.6),
}
TITLES = {
    "connect": "gate: a new connection and a byte back",
    "request": "gate: a request on an open connection",
    "rate": "gate: requests on 64 connections",
    "bulk": "gate: one stream",
}
MORE_IS_BETTER = ("rate", "bulk")


def tell(name, value, unit, baseline=None, ratio=None, limit=None, **more):
    print(json.dumps({"name": name, "value": round(value, 1), "unit": unit,
                      "baseline": None if baseline is None else round(baseline, 1),
                      "ratio": None if ratio is None else round(ratio, 3), "limit": limit, **more}),
          flush=True)


def cpu_seconds(pid):
    """Of all threads that live."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError):
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
    return total / 1e9


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


class Way:
    """How a client gets to the server."""

    def __init__(self, name, port, process=None, proxy_port=None):
        self.name, self.port, self.process, self.proxy_port = name, port, process, proxy_port

    def argv(self, mode, n):
        client = [PEER, mode, "127.0.0.1", str(self.port), str(n)]
        if self.proxy_port:
            client.append(str(self.proxy_port))
        if self.name != "gate":
            return client
        client[2] = HOST
        return [CORDON, "run", "--policy", "bench.toml", "--connect-to",
                f"{HOST}:{self.port}:127.0.0.1:{self.port}", "--", *client]

    @contextlib.contextmanager
    def measured(self, mode, n):
        """The client's number, and the process between it and the server or None."""
        with subprocess.Popen(self.argv(mode, n), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as client:
            try:
                line = client.stdout.readline()
                if not line:
                    raise OSError(f"{self.name}: {mode}: no answer")
                between = client.pid if self.name == "gate" else self.process
                yield float(line), between
            finally:
                client.stdin.close()


# ---- the proxies ------------------------------------------------------------


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def squid_argv(folder, port):
    path = os.path.join(folder, "squid.conf")
    with open(path, "w", encoding="ascii") as f:
        f.write(f"""http_port 127.0.0.1:{port}
http_access allow all
cache deny all
cache_mem 0
access_log none
cache_log /dev/null
cache_store_log none
netdb_filename none
pid_filename none
pinger_enable off
coredump_dir {folder}
max_filedescriptors 16384
read_timeout 10 minutes
shutdown_lifetime 0 seconds
""")
    return [shutil.which("squid") or "/usr/sbin/squid", "-N", "-n", f"bench{os.getpid()}", "-f", path]


def tinyproxy_argv(folder, port):
    path = os.path.join(folder, "tinyproxy.conf")
    with open(path, "w", encoding="ascii") as f:
        f.write(f"""Port {port}
Listen 127.0.0.1
Allow 127.0.0.1
MaxClients {IDLE + 100}
Timeout 600
LogLevel Critical
DisableViaHeader Yes
""")
    return ["tinyproxy", "-d", "-c", path]


PROXIES = {"squid": squid_argv, "tinyproxy": tinyproxy_argv}


def answers(way):
    """Within a while."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", way.proxy_port)).close()
            with way.measured("request", 1):
                return True
        time.sleep(0.1)
    return False


def end(process):
    """In order, as squid removes its shared memory then."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()


def start_proxies(stack, folder, server_port):
    for name, argv_of in PROXIES.items():
        port = free_port()
        argv = argv_of(folder, port)
        if not shutil.which(argv[0]):
            print(f"gate: SKIPPED against {name}, which is not here (tools/packages bench)",
                  file=sys.stderr)
            continue
        process = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.DEVNULL,
                                                       stderr=subprocess.DEVNULL))
        stack.callback(end, process)
        way = Way(name, server_port, process.pid, port)
        if answers(way):
            yield way
        else:
            print(f"gate: SKIPPED against {name}, which does not answer", file=sys.stderr)


# ---- what is measured -------------------------------------------------------


def better_half(mode, values):
    return sorted(values, reverse=mode in MORE_IS_BETTER)[: max(len(values) // 2, 1)]


def worse(mode, gate, other):
    return other / gate if mode in MORE_IS_BETTER else gate / other


def limit_of(way, limit):
    return limit if way.name == "direct" else 1.0


def compare_modes(ways, quiet):
    found = {(mode, way.name): [] for mode in MODES for way in ways}
    cpu = {way.name: [] for way in ways}
    for _ in range(ROUNDS):
        for mode, (n, _unit, _limit) in MODES.items():
            for way in ways:
                before = cpu_seconds(way.process) if way.process else 0
                with way.measured(mode, n) as (value, between):
                    found[mode, way.name].append(value)
                    if mode == "bulk" and between:
                        cpu[way.name].append((cpu_seconds(between) - before) / (n / 1024))
    for mode, (_n, unit, limit) in MODES.items():
        gate = found[mode, "gate"]
        typical = statistics.median(better_half(mode, gate))
        for way in ways:
            if way.name == "gate":
                continue
            other = found[mode, way.name]
            base = statistics.median(better_half(mode, other))
            pairs = [worse(mode, a, b) for a, b in zip(gate, other)]
            tell(f"{TITLES[mode]}, against {way.name}", typical, unit, base,
                 worse(mode, typical, base),
                 limit_of(way, limit) if quiet else None,
                 ratio_min=round(min(pairs), 3), ratio_median=round(statistics.median(pairs), 3))
    for mode, title in (("connect", "connection"), ("request", "request")):
        both = [statistics.median(better_half(mode, found[mode, w])) for w in ("gate", "direct")]
        tell(f"gate: added to a {title}", both[0] - both[1], "us")
    mine = statistics.median(better_half("cpu", cpu["gate"])) * 1000
    for way in ways:
        if way.process:
            base = statistics.median(better_half("cpu", cpu[way.name])) * 1000
            tell(f"gate: CPU of a gigabyte, against {way.name}", mine, "ms", base, mine / base, 1.0)


def hold_idle(ways, quiet):
    """Memory of what is between, and how long it takes to get there."""
    found = {}
    for way in ways:
        if way.name == "direct":
            continue
        if way.process:
            before = resident_kb(way.process)
        else:
            with way.measured("hold", 1) as (_, between):
                before = resident_kb(between)
        try:
            with way.measured("hold", IDLE) as (seconds, between):
                kb = (resident_kb(between) - before) / IDLE
                began = cpu_seconds(between)
                time.sleep(1)
                found[way.name] = seconds, kb, cpu_seconds(between) - began
        except OSError as e:
            print(f"gate: {way.name} does not hold {IDLE} connections: {e}", file=sys.stderr)
    seconds, kb, idle = found["gate"]
    tell(f"gate: CPU in a second of {IDLE} idle connections", idle * 1e6, "us")
    for name in found:
        if name == "gate":
            continue
        tell(f"gate: {IDLE} connections, against {name}", seconds, "s", found[name][0],
             seconds / found[name][0], 1.0 if quiet else None)
        tell(f"gate: memory of an idle connection, against {name}", kb, "KB", found[name][1],
             kb / found[name][1], 1.0)


def spend(words):
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(CORDON, [CORDON, "run", "--no-policy", *words, "--", "/bin/true"],
                         os.environ)
    if os.waitpid(pid, 0)[1]:
        raise OSError("a run failed")
    return (time.perf_counter_ns() - begin) / 1000


def set_up():
    kinds = {"public": ["--network", "public"], "no-network": [],
             "allowlist": ["--allow-host", HOST]}
    took = {kind: [] for kind in kinds}
    for _ in range(ROUNDS * 5):
        for kind, words in kinds.items():
            took[kind].append(spend(words))
    typical = {kind: statistics.median(better_half("", times)) for kind, times in took.items()}
    for kind, title in (("public", "in all"), ("no-network", "beyond an empty namespace")):
        tell(f"gate: set-up, {title}", typical["allowlist"] - typical[kind], "us")
    tell("gate: a run with an allowlist, against one without a network", typical["allowlist"], "us",
         typical["no-network"], typical["allowlist"] / typical["no-network"])


def is_quiet():
    """False: other programs take the processors in between.  All processes are of the ordinary
    scheduling class, as the command inside is: a server of a higher one would keep it waiting."""
    return os.getloadavg()[0] < os.cpu_count() / 2


def main():
    quiet = is_quiet()
    if not quiet:
        print("gate: the machine is busy: times without limits",
              file=sys.stderr)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cordon-bench-"))
        os.chmod(folder, 0o755)
        os.chdir(folder)
        stack.callback(os.chdir, "/")
        server = stack.enter_context(subprocess.Popen([PEER, "serve"], stdin=subprocess.PIPE,
                                                      stdout=subprocess.PIPE, text=True))
        port = int(server.stdout.readline())
        with open("bench.toml", "w", encoding="ascii") as f:
            f.write(f'[files]\nread = ["{PEER}"]\n\n'
                    f'[network]\nallow = ["{HOST}"]\nconnections = {IDLE}\n\n'
                    f'[limits]\nopen_files = {2 * IDLE}\n')
        ways = [Way("direct", port), Way("gate", port), *start_proxies(stack, folder, port)]
        compare_modes(ways, quiet)
        hold_idle(ways, quiet)
        set_up()
        server.stdin.close()


main()

"""What a hostile program tries in a session, for tests/suite/session-attack: programs
that work outside, and must not inside."""

# Connects to what it is told, and asks for another phase; `done` if there was an answer.
ASK = r"""
import glob, os, socket, struct, sys
def ask(s):
    s.settimeout(20)
    hello = s.recv(65536)
    head = bytearray(len(hello))
    text = b"shut\0"
    head[:28] = struct.pack("<IHHI4I", struct.unpack_from("<I", hello)[0], 3, 0, len(text), 1, 0, 0, 0)
    s.send(bytes(head) + text)
    return b"generation" in s.recv(65536)
def dial(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.connect(path)
        return ask(s)
    except OSError:
        return False
    finally:
        s.close()
def pids():
    return [p for p in os.listdir("/proc") if p.isdigit()]
def fds(p):
    try:
        return os.listdir(f"/proc/{p}/fd")
    except OSError:
        return []
path, kind = sys.argv[1:3]
ways = {
    "path": lambda: [path],
    "root": lambda: [f"/proc/{p}/root{path}" for p in ["self", *pids()]],
    "cwd": lambda: [f"/proc/{p}/cwd/{'../' * 6}{path}" for p in ["self", *pids()]],
    "fd": lambda: [f"/proc/{p}/fd/{fd}/{name}" for p in pids() for fd in fds(p)
                   for name in ("control", os.path.basename(os.path.dirname(path)) + "/control",
                                "../../" + path)],
    "status": lambda: [os.path.dirname(os.environ.get("CORDON_STATUS", path)) + "/" + x
                       for x in ("control", "../control", "../../control")],
    "abstract": lambda: ["\0" + line.split()[-1][1:] for line in open("/proc/net/unix")
                         if line.split()[-1].startswith("@")] + ["\0" + path, "\0cordon"],
}
if kind == "fd" and not os.environ.get("CORDON_STATUS"):
    folder = os.open(os.path.dirname(path), os.O_PATH)
if kind == "abstract" and not os.environ.get("CORDON_STATUS"):
    path = sys.argv[3]
    ways["abstract"] = lambda: ["\0" + path]
if kind == "streams":
    # A message that was written to everything that is open.
    head = struct.pack("<IHHI4I", 0x63726431, 3, 0, 5, 1, 0, 0, 0)
    head += bytes(int(sys.argv[3]) - len(head)) + b"shut\0"
    for fd in os.listdir("/proc/self/fd"):
        try:
            os.write(int(fd), head)
        except OSError:
            pass
    sys.exit(0)
sys.exit(0 if any([dial(p) for p in ways[kind]()]) else 1)
"""

# What can be done to a process that is known by its number; exits with 0 if it was done.
TOUCH = r"""
import ctypes, os, resource, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
pid, kind = int(sys.argv[1]), sys.argv[2]
def ptrace(request):
    return libc.ptrace(request, pid, None, None) == 0
def read(name):
    with open(f"/proc/{pid}/{name}", "rb") as f:
        return len(f.read(1)) == 1
def memory():
    begin = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
    fd = os.open(f"/proc/{pid}/mem", os.O_RDWR)
    return len(os.pread(fd, 1, begin)) == 1
def copy_fd():
    fd = os.pidfd_open(pid)
    return libc.syscall(438, fd, 0, 0) >= 0
acts = {
    "fd": lambda: os.readlink(f"/proc/{pid}/fd/0"),
    "open fd": lambda: os.open(f"/proc/{pid}/fd/0", os.O_RDONLY) >= 0,
    "memory": memory,
    "environ": lambda: read("environ"),
    "maps": lambda: read("maps"),
    "copy fd": copy_fd,
    "limit": lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64)) is not None,
    "trace": lambda: ptrace(16),
    "seize": lambda: ptrace(0x4206),
}
try:
    good = acts[kind]()
except OSError as e:
    print(e)
    good = False
sys.exit(not good)
"""

# Lives on: writes to a file ten times a second, in the way that it is told.
LIVE = r"""
import os, signal, sys, time
kind, first = sys.argv[1], os.getpid()
def beat():
    while True:
        with open(sys.argv[2], "a") as f:
            f.write("x")
        time.sleep(0.05)
def ignore():
    for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(s, signal.SIG_IGN)
ignore()
if kind == "ignores signals":
    beat()
elif kind == "another group":
    if os.fork() == 0:
        os.setpgid(0, 0)
        beat()
elif kind == "another session":
    if os.fork() == 0:
        os.setsid()
        beat()
elif kind == "a session below another":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            beat()
        time.sleep(1000)
elif kind == "a relay":
    # Whoever looks, it is another process already.
    while os.getpid() != first or os.fork() == 0:
        with open(sys.argv[2], "a") as f:
            f.write("x")
        for _ in range(20):
            if os.fork():
                os._exit(0)
            time.sleep(0.001)
elif kind == "many":
    for _ in range(100):
        if os.fork() == 0:
            os.setpgid(0, 0)
            break
    beat()
elif kind == "stopped":
    if os.fork() == 0:
        os.setsid()
        beat()
    os.kill(os.getpid(), signal.SIGSTOP)
elif kind == "a daemon":
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    beat()
elif kind == "forks without end":
    # Never more than some thirty at a time: it is run outside, too.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in range(15):
        if os.fork() == 0:
            os.setsid()
            break
    while True:
        with open(sys.argv[2], "a") as f:
            f.write("x")
        if os.fork() == 0:
            os._exit(0)
        time.sleep(0.002)
time.sleep(1000)
"""

# Stops whoever is new, for so many seconds, and writes to a file at the end.
STOP_NEW = r"""
import os, signal, sys, time
until, at = time.monotonic() + float(sys.argv[1]), os.getpid() + 1
print("there", flush=True)
while time.monotonic() < until:
    for pid in range(at, at + 16):
        try:
            os.kill(pid, signal.SIGSTOP)
            at = pid + 1
        except OSError:
            pass
open(sys.argv[2], "w").close()
"""

# Opens what whoever is new has open, but for its streams; says what it could.
SPY = r"""
import os, sys, time
until, at, seen = time.monotonic() + float(sys.argv[1]), os.getpid() + 1, set()
print("there", flush=True)
while time.monotonic() < until:
    for pid in range(at, at + 16):
        folder = f"/proc/{pid}/fd"
        try:
            for fd in os.listdir(folder):
                if int(fd) > 2:
                    what = os.readlink(f"{folder}/{fd}")
                    try:
                        os.close(os.open(f"{folder}/{fd}", os.O_RDWR | os.O_NONBLOCK))
                        seen.add(what.split("[")[0])
                    except OSError:
                        pass
            if os.path.exists(f"/proc/{pid + 1}"):
                at = pid + 1
        except OSError:
            pass
print(sorted(seen), flush=True)
"""

# Looks for a word (said backwards) where a process, or all of them, may have left it.
SEARCH = r"""
import os, sys
word = sys.argv[1][::-1].encode()
found = []
for pid in [sys.argv[2]] if sys.argv[2] != "all" else [
        p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
    for name in ("environ", "cmdline", "auxv"):
        try:
            if word in open(f"/proc/{pid}/{name}", "rb").read():
                found.append(f"{pid}/{name}")
        except OSError:
            pass
    try:
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in open(f"/proc/{pid}/maps"):
                begin, end = (int(x, 16) for x in line.split()[0].split("-"))
                if " rw" in line and end - begin < 64 << 20:
                    memory.seek(begin)
                    if word in memory.read(end - begin):
                        found.append(f"{pid}/mem")
    except (OSError, ValueError, OverflowError):
        pass
for folder in sys.argv[3:]:
    for top, _, files in os.walk(folder):
        for name in files:
            try:
                if word in open(os.path.join(top, name), "rb").read(1 << 20):
                    found.append(os.path.join(top, name))
            except OSError:
                pass
print(found)
sys.exit(not found)
"""

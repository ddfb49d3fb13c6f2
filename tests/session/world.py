"""What the suites of sessions share: a wire to a far side, sessions, and programs in
them that do what they are told."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from far import DNS, FAR, NEAR, ip, settings

CORDON = os.environ["CORDON"]
PYTHON = "/usr/bin/python3"
ME = "root" if os.geteuid() == 0 else "user"
# Root of a namespace of its own makes the wire; cordon is run as anybody runs it.
PLAIN = ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--"] if ME == "user" else []


def enter():
    """Starts again inside namespaces of its own; returns when it is there."""
    if os.environ.get("SESSION_WORLD") == "near":
        settings.apply()
        return
    words = ["unshare", "-m", "-n"]
    if os.geteuid():
        words += ["-U", "-c", "--keep-caps"]
    os.environ["SESSION_WORLD"] = "near"
    os.execvp("unshare", words + ["--", sys.executable, "-B", *sys.argv])


class Wire:
    """The near end of it, and the process at the far end."""

    def __init__(self, folder, stack):
        resolv = folder + "/resolv.conf"
        with open(resolv, "w", encoding="ascii") as f:
            f.write(f"nameserver {DNS}\noptions timeout:3 attempts:2\n")
        subprocess.run(["mount", "--bind", resolv, os.path.realpath("/etc/resolv.conf")],
                       check=True)
        ip("link", "set", "lo", "up")
        far = os.path.join(os.path.dirname(os.path.abspath(__file__)), "far.py")
        self.far = subprocess.Popen(["unshare", "-n", sys.executable, "-B", far],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        stack.callback(self.far.wait)
        stack.callback(self.far.kill)
        # The namespace is there once unshare has become the program.
        while os.readlink(f"/proc/{self.far.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns",
           str(self.far.pid))
        stack.callback(ip, "link", "del", "near")
        ip("link", "set", "near", "up")
        ip("addr", "add", NEAR + "/24", "dev", "near")
        ip("route", "add", "default", "via", FAR)
        assert self.far.stdout.readline() == b"ready\n", "the far side"

    def ask(self, what="count"):
        self.far.stdin.write(what.encode() + b"\n")
        self.far.stdin.flush()
        return json.loads(self.far.stdout.readline())


class Place:
    """A workspace, and a folder for live sessions."""

    def __init__(self, stack):
        self.top = tempfile.mkdtemp(prefix="s-")
        stack.callback(shutil.rmtree, self.top, True)
        self.ws = self.top + "/ws"
        self.live = self.top + "/run/cordon"
        for name in ("ws", "home"):
            os.mkdir(f"{self.top}/{name}")
        os.mkdir(self.top + "/run", 0o700)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.top + "/home", "LC_ALL": "C.UTF-8",
                    "XDG_RUNTIME_DIR": self.top + "/run"}

    def cordon(self, *words, **rest):
        """Runs it; what it said and its exit code."""
        rest = {"stdin": subprocess.DEVNULL, **rest}
        return subprocess.run([*PLAIN, CORDON, *words], cwd=self.ws, env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False, **rest)

    def popen(self, *words, **rest):
        rest = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "env": self.env, **rest}
        return subprocess.Popen([*PLAIN, CORDON, *words], cwd=self.ws, **rest)


class Session:
    def __init__(self, place, stack, *options, policy="", name="s"):
        self.place, self.name, self.audit = place, name, place.top + "/audit"
        if policy:
            with open(place.top + "/p.toml", "w", encoding="utf-8") as f:
                f.write(policy)
            options = ("--policy", "../p.toml", *options)
        stack.callback(place.cordon, "session", "stop", name)
        done = place.cordon("session", "start", "--name", name, "--audit", self.audit, *options)
        assert done.returncode == 0, done.stdout
        self.id = done.stdout.strip()

    def phase(self, *name):
        """Its generation."""
        done = self.place.cordon("session", "phase", self.name, *name)
        assert done.returncode == 0, done.stdout
        return int(done.stdout.split()[1])

    def status(self):
        return json.loads(self.place.cordon("session", "status", self.name, "--json").stdout)

    def run(self, *words, **rest):
        return self.place.cordon("session", "exec", self.name, "--", *words, **rest)

    def events(self):
        with open(self.audit, encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.strip()]


AGENT = r"""
import os, socket, sys, threading, time
from socket import *
setdefaulttimeout(15)
sys.setswitchinterval(0.001)
def dial(host, first=b'', port=7000):
    s = create_connection((host, port), 15)
    if first:
        s.sendall(first)
    return s
def later(act):
    # In a thread; the list gets what came of it.
    out = []
    def run():
        try: out.append(act())
        except OSError as e: out.append(type(e).__name__)
    threading.Thread(target=run, daemon=True).start()
    return out
def send_on(s, data, to=None, pause=0.001):
    # Until it cannot; the list is not empty then.
    def run():
        while True:
            s.sendto(data, to) if to else s.sendall(data)
            time.sleep(pause)
    return later(run)
def read_on(s):
    # The last number that came.
    last = [0]
    def run():
        rest = b''
        while True:
            try: data = s.recv(4096)
            except timeout: continue
            if not data: return
            *lines, rest = (rest + data).split(b'\n')
            if lines: last[0] = int(lines[-1])
    later(run)
    return last
def attempt(act, *args):
    try: act(*args); return 'done'
    except OSError as e: return 'refused'
def talks(s):
    # Does an answer come?
    try:
        s = dial(s, b'e') if isinstance(s, str) else s
        s.sendall(b'ping')
        return s.recv(9) == b'ping'
    except OSError: return False
print('ready', flush=True)
v = {}
for line in sys.stdin:
    try: print(repr(eval(line)), flush=True)
    except Exception as e: print('failed', repr(e), flush=True)
"""


class Agent:
    """A program inside that evaluates what it is told."""

    def __init__(self, session, stack):
        self.p = session.place.popen("session", "exec", session.name, "--", PYTHON, "-uc", AGENT,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL)
        stack.callback(self.p.wait)
        stack.callback(self.p.kill)
        assert self.p.stdout.readline() == b"ready\n", "the program inside"

    def do(self, text):
        self.p.stdin.write(text.encode() + b"\n")
        self.p.stdin.flush()
        said = self.p.stdout.readline().decode().strip()
        assert said and not said.startswith("failed"), (text, said)
        return said


def soon(test, seconds=30):
    """Its first value that is true, or the last one."""
    end = time.monotonic() + seconds
    while not (value := test()) and time.monotonic() < end:
        time.sleep(0.02)
    return value

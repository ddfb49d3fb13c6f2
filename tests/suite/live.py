"""A network of one's own, for suites that try what a cordon reaches.

Another namespace answers at every address and is the only name server
(tests/programs/internet.py); this machine's own loopback has traps.
"""

import json
import os
import shutil
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading

SRC = os.environ["CORDON_SRC"]
sys.path.insert(0, os.path.join(SRC, "tests", "programs"))
sys.path.insert(0, os.path.join(SRC, "tests", "network"))
import servers  # noqa: E402
import settings  # noqa: E402
from vectors import Tap  # noqa: E402


def enter_namespaces(script):
    """Again, in a network and mount namespace, with the right to set them up."""
    if os.environ.get("CORDON_LIVE") == "inside":
        servers.run("mount", "--make-rprivate", "/")
        settings.apply()
        return
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    os.environ["CORDON_LIVE"] = "inside"
    os.execvp("unshare", ["unshare", *user, "--net", "--mount", "--", sys.executable, "-B",
                          os.path.abspath(script), *sys.argv[1:]])


class Internet:
    """The other namespace (tests/programs/internet.py)."""

    def __init__(self, folder):
        cert = servers.Authority(folder, ["DNS:every.test"])
        self.child = subprocess.Popen(
            ["unshare", "--net", "--", "/usr/bin/python3", "-B",
             os.path.join(SRC, "tests", "programs", "internet.py"), cert.cert, cert.key],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.child.stdout.readline() != "{}\n":
            raise RuntimeError("the other namespace could not be made")
        self.connect()

    def connect(self):
        there = ["nsenter", f"--net=/proc/{self.child.pid}/ns/net", "--"]
        for command in ("ip link set lo up",
                        f"ip link add near type veth peer name far netns {self.child.pid}",
                        "ip addr add 93.184.0.1/30 dev near",
                        "ip addr add 2a00::1/126 dev near nodad", "ip link set near up"):
            servers.run(*command.split())
        for command in ("ip addr add 93.184.0.2/30 dev far",
                        "ip addr add 2a00::2/126 dev far nodad", "ip link set far up",
                        "ip route add default via 93.184.0.1",
                        "ip -6 route add default via 2a00::1"):
            servers.run(*there, *command.split())
        # What comes in is for an address of its own, whatever it is.  IPv4 sends only from
        # addresses of its table `local`; IPv6 would send nothing out if it stood there.
        for command in ("ip route add local 0.0.0.0/0 dev lo",
                        "ip -6 route add local ::/0 dev lo table 100",
                        "ip -6 rule add iif far lookup 100 pref 100"):
            servers.run(*there, *command.split())
        servers.run("ip", "route", "add", "default", "via", "93.184.0.2")
        servers.run("ip", "-6", "route", "add", "default", "via", "2a00::2")

    def tell(self, **wish):
        """What came since the last time."""
        self.child.stdin.write(json.dumps(wish) + "\n")
        self.child.stdin.flush()
        return [tuple(row) for row in json.loads(self.child.stdout.readline())]

    def stop(self):
        self.child.stdin.close()
        self.child.wait()


class Trap(socketserver.ThreadingTCPServer):
    """A server on the host's own loopback, which no cordon may reach."""

    allow_reuse_address = daemon_threads = True
    caught = 0

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            Trap.caught += 1
            self.request.sendall(b"HTTP/1.0 200 OK\r\n\r\nserved by the host\n")

    def __init__(self, address, port):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Place(Tap):
    """A folder to work in, with the internet around it."""

    def __init__(self):
        super().__init__()
        self.top = tempfile.mkdtemp(prefix="cordon-live-")
        self.work = os.path.join(self.top, "work")
        os.mkdir(self.work)
        self.internet = Internet(self.top)
        for address, port in (("127.0.0.1", 80), ("::1", 80), ("127.0.0.1", 8080), ("::1", 8080)):
            Trap(address, port)
        self.replace("/etc/resolv.conf", "nameserver 93.184.0.2\n")
        self.replace("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n93.184.9.9 in.hosts.test\n")
        self.names = {}

    def replace(self, path, text):
        mine = os.path.join(self.top, os.path.basename(path))
        is_mounted = os.path.exists(mine)
        with open(mine, "w", encoding="ascii") as f:
            f.write(text)
        if not is_mounted:
            servers.run("mount", "--bind", mine, os.path.realpath(path))

    def stop(self):
        self.internet.stop()
        shutil.rmtree(self.top, ignore_errors=True)

    def name_address(self, host):
        """One address of the internet for each name."""
        if host not in self.names:
            self.names[host] = f"93.184.{len(self.names) // 200 + 1}.{len(self.names) % 200 + 1}"
        return self.names[host]

    def drop(self):
        """The beginning of a command without the rights that made the namespaces."""
        return [] if os.geteuid() == 0 else ["setpriv", "--ambient-caps=-all", "--inh-caps=-all"]

    def environment(self):
        return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.work, "LANG": "C.UTF-8",
                "XDG_STATE_HOME": self.top, "XDG_RUNTIME_DIR": self.top}

"""A small internet for tests/suite/gate-attack: two network namespaces and a wire.

The near one is where cordon runs; it has the machine's own services.  The far one
has everybody else: every address below, one DNS server, and recorders on every port
that is tried.  A recorder keeps each byte that it is sent, so that an attempt has
succeeded when its token is in the record, whatever the program was told.

`python3 gate_world.py far|near RECORD` is such a recorder.
"""
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "network"))
import settings  # noqa: E402

NEAR = ("93.184.216.1", "93.184.216.77")	# the second is one of two on one interface
GOOD, EVIL, DNS = "93.184.216.34", "93.184.216.35", "93.184.216.53"
NOBODY = "93.184.216.99"
GOOD6, EVIL6 = "2606:2800::34", "2606:2800::35"
METADATA, PRIVATE, SHARED = "169.254.169.254", "10.0.0.5", "100.64.0.5"
NAT64, SIX_TO_FOUR = "64:ff9b::a00:5", "2002:a00:5::1"
UNIQUE_LOCAL, GROUP = "fd00::5", "239.1.2.3"
FAR = ("93.184.216.2/24", GOOD, EVIL, DNS, METADATA, PRIVATE, SHARED, "2606:2800::2/64",
       GOOD6, EVIL6, NAT64, SIX_TO_FOUR, UNIQUE_LOCAL, "fe80::2/64")
STREAMS = (61, 80, 443, 7001, 7002, 7777, 8080)
TLS_PORT = 4433				# a TLS server that knows one group: it asks others to retry
DATAGRAMS = (53, 123, 443, 7777, 9998, 9999)
FLOOD = 7002				# sends without end, as fast as it is read
SLOW = "slow"				# a label whose names are never answered
TOKEN = b"t0ken"			# how every token begins

# What the DNS server says; a list is one answer after the other, a tuple all at once (of
# what is a name it says that it is the same), `*` any label.
ZONE = {
    "good.test": GOOD, "evil.test": EVIL, "*.good.test": EVIL, "*.evil.test": EVIL,
    "evilgood.test": EVIL, "good.test.evil.test": EVIL, "xn--gd-fmca.test": EVIL,
    "good.tests": EVIL, "*.wild.test": GOOD, "metadata.wild.test": METADATA,
    "private.wild.test": PRIVATE, "shared.wild.test": SHARED, "loop.wild.test": "127.0.0.1",
    "zero.wild.test": "0.0.0.0", "own.wild.test": NEAR[0], "second.wild.test": NEAR[1],
    "mapped.wild.test": "::ffff:10.0.0.5", "nat64.wild.test": NAT64,
    "six.wild.test": SIX_TO_FOUR, "local6.wild.test": UNIQUE_LOCAL, "loop6.wild.test": "::1",
    "rebind.wild.test": [GOOD, METADATA], "mixed.wild.test": (NOBODY, PRIVATE),
    "mixed6.wild.test": (UNIQUE_LOCAL, "2606:2800::99"), "same.wild.test": ("x.other.test", PRIVATE),
}


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdin=subprocess.DEVNULL)


def record(found):
    """Its type and its bytes."""
    if found[-1].isalpha() and ":" not in found:
        return 5, b"".join(bytes([len(x)]) + x.encode() for x in found.split(".")) + b"\0"
    if ":" in found:
        return 28, socket.inet_pton(socket.AF_INET6, found)
    return 1, socket.inet_pton(socket.AF_INET, found)


def answers(records):
    """Each about the question's name, or about what that is the same as."""
    out, name = b"", b"\xc0\x0c"
    for kind, raw in records:
        out += name + struct.pack(">HHIH", kind, 1, 0, len(raw)) + raw
        name = raw if kind == 5 else name
    return out


# --- recorders ------------------------------------------------------------------

class Recorder:
    def __init__(self, path):
        self.record = open(path, "ab", buffering=0)
        self.listeners, self.streams, self.datagrams, self.asked = set(), set(), {}, {}
        self.floods = set()

    def listen(self, ports, datagram_ports):
        for port in ports:
            self.listeners.add(socket.create_server(("::", port), family=socket.AF_INET6,
                                                    dualstack_ipv6=True, backlog=512))
            self.try_listen(port, 132)
        for port in datagram_ports:
            self.add_datagrams(port, 0)
        self.add_datagrams(7777, 136)

    def try_listen(self, port, protocol):
        """SCTP, where the kernel has it."""
        try:
            s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
            s.bind(("0.0.0.0", port))
            s.listen()
        except OSError:
            return
        self.listeners.add(s)

    def add_datagrams(self, port, protocol):
        try:
            s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, protocol)
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
            s.bind(("::", port))
        except OSError:
            return
        self.datagrams[s] = port

    def join(self, group, interface):
        s = next(s for s, port in self.datagrams.items() if port == 7777)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                     socket.inet_aton(group) + socket.inet_aton(interface))

    def receive(self, s):
        data, about, _, whom = s.recvmsg(65536, 1024)
        self.record.write(data + b"\n")
        if self.datagrams[s] == 53:
            answer = self.answer(data)
            if answer:
                s.sendmsg([answer], about, 0, whom)
        elif self.datagrams[s] == 9999:
            s.sendmsg([b"reply " + data], about, 0, whom)
            self.reply_from_elsewhere(data, whom)

    @staticmethod
    def reply_from_elsewhere(data, whom):
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            s.bind(("::ffff:" + EVIL, 4444))
            s.sendto(b"spoofed " + data, whom)

    def find(self, name):
        labels = name.lower().split(".")
        for key in (".".join(labels), ".".join(["*"] + labels[1:])):
            if key in ZONE and SLOW not in labels[0]:
                found = ZONE[key]
                if not isinstance(found, list):
                    return found
                self.asked[name] = self.asked.get(name, -1) + 1
                return found[min(self.asked[name] // 2, len(found) - 1)]
        return None

    def answer(self, data):
        """Only what a question of the C library needs; b'': no answer."""
        at, labels = 12, []
        while at < len(data) and data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
            at += 1 + data[at]
        question = data[12:at + 5]
        if len(question) < 5 or not labels or SLOW in labels[0]:
            return b""
        kind = struct.unpack(">H", question[-4:-2])[0]
        found = self.find(".".join(labels))
        if found is None:
            return data[:2] + b"\x81\x83\0\1\0\0\0\0\0\0" + question
        records = [r for r in map(record, [found] if isinstance(found, str) else found)
                   if r[0] in (kind, 5)]
        return (data[:2] + b"\x81\x80\0\1\0" + bytes([len(records)]) + b"\0\0\0\0" + question +
                answers(records))

    def read(self, s):
        data = s.recv(65536)
        self.record.write(data)
        port = s.getsockname()[1]
        if port in (80, 8080) and (b"\r\n\r\n" in data or b"\n\n" in data):
            s.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        elif port == 7777 and data or TOKEN in data.lower():	# it need not wait for more
            s.send(b"echo " + data[:100])
        if not data:
            self.hang_up(s)

    def accept(self, listener):
        s = listener.accept()[0]
        if s.getsockname()[1] == FLOOD:
            s.setblocking(False)
            self.floods.add(s)
        else:
            self.streams.add(s)

    def flood(self, s):
        try:
            s.send(bytes(1 << 20))
        except BlockingIOError:
            pass
        except OSError:
            self.hang_up(s)

    def hang_up(self, s):
        self.floods.discard(s)
        self.streams.discard(s)
        s.close()

    def serve_one(self, s):
        """Whoever is there may be gone at any moment: that ends nothing but what was his."""
        try:
            if s in self.listeners:
                self.accept(s)
            elif s in self.datagrams:
                self.receive(s)
            elif s in self.streams:
                self.read(s)
        except OSError:
            if s in self.streams:
                self.hang_up(s)

    def serve(self):
        while True:
            ready = select.select([*self.listeners, *self.streams, *self.datagrams],
                                  list(self.floods), [])
            for s in ready[0]:
                self.serve_one(s)
            for s in ready[1]:
                self.flood(s)


def main(which, path):
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if which == "far":
        settings.apply()
        while not os.path.exists("/sys/class/net/far") and subprocess.run(
                ["ip", "link", "show", "far"], capture_output=True, check=False).returncode:
            time.sleep(0.02)
        ip("link", "set", "lo", "up")
        ip("link", "set", "far", "up")
        for address in FAR:
            words = ["addr", "add", address, "dev",
                     "far" if "/" in address or ":" in address else "lo"]
            ip(*words, *(["nodad"] if ":" in address else []))
        ip("-6", "route", "add", "default", "via", "2606:2800::1", "dev", "far")
        ip("route", "add", "default", "via", NEAR[0], "dev", "far")
    recorder = Recorder(path)
    if which == "near":
        recorder.listen((61, 7777), (7777,))
    else:
        recorder.listen(STREAMS, DATAGRAMS)
        recorder.join(GROUP, "93.184.216.2")
        start_tls(os.path.dirname(path))
    print("ready", flush=True)
    recorder.serve()


def start_tls(folder):
    """openssl in the far namespace; it ends with the process that started it."""
    subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "openssl", "s_server", "-quiet", "-www",
                      "-accept", str(TLS_PORT), "-groups", "P-384", "-cert", folder + "/cert",
                      "-key", folder + "/key"], stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection((GOOD, TLS_PORT)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.02)


# --- for the suite ----------------------------------------------------------------

def enter():
    """Starts again inside namespaces of its own; returns when it is there."""
    if os.environ.get("GATE_WORLD") == "near":
        settings.apply()
        return
    words = ["unshare", "-m", "-n"]
    if os.geteuid():
        words += ["-U", "-c", "--keep-caps"]
    os.environ["GATE_WORLD"] = "near"
    os.execvp("unshare", words + ["--", sys.executable, "-B", *sys.argv])


class World:
    def __init__(self, folder, stack):
        self.records = [f"{folder}/{which}" for which in ("far", "near")]
        self.recorders = []
        self.resolv = folder + "/resolv.conf"
        with open(self.resolv, "w", encoding="ascii") as f:
            f.write(f"nameserver {DNS}\noptions timeout:2 attempts:2\n")
        subprocess.run(["mount", "--bind", self.resolv, os.path.realpath("/etc/resolv.conf")],
                       check=True)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x",
                        "-keyout", folder + "/key", "-out", folder + "/cert"], check=True,
                       stderr=subprocess.DEVNULL)
        ip("link", "set", "lo", "up")
        far = self.start(["unshare", "-n"], "far", stack)
        # The namespace is there once unshare has become the recorder.
        while os.readlink(f"/proc/{far.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(far.pid))
        ip("link", "set", "near", "up")
        for address in NEAR:
            ip("addr", "add", address + "/24", "dev", "near")
        ip("addr", "add", "2606:2800::1/64", "dev", "near", "nodad")
        ip("route", "add", "default", "via", "93.184.216.2")
        ip("-6", "route", "add", "default", "via", "2606:2800::2")
        with open("/proc/sys/net/ipv4/ping_group_range", "w", encoding="ascii") as f:
            f.write(f"{os.getegid()} {os.getegid()}\n")
        assert far.stdout.readline() == b"ready\n", "the far side"
        near = self.start([], "near", stack)
        assert near.stdout.readline() == b"ready\n", "the near side"

    def check(self):
        """A row that fails because nobody was there to be reached proves nothing."""
        for p in self.recorders:
            assert p.poll() is None, f"a recorder is gone: {p.args[-2]}, {p.returncode}"

    def start(self, words, which, stack):
        path = self.records[which == "near"]
        p = subprocess.Popen([*words, sys.executable, "-B", os.path.abspath(__file__), which, path],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        stack.callback(p.wait)
        stack.callback(p.kill)
        self.recorders.append(p)
        return p

    def has_seen(self, token, seconds):
        """Has anybody but the program itself?"""
        self.check()
        end = time.monotonic() + seconds
        while True:
            for path in self.records:
                with open(path, "rb") as f:
                    if token.lower().encode() in f.read().lower():
                        return True
            if time.monotonic() > end:
                return False
            time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])

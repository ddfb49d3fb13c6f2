"""The far side of tests/suite/session-switch: servers that count, and a DNS server.

Runs in a network namespace of its own.  Everything that the kernel of this side has
is read before a question is answered, so that a count is the truth of that moment.

    tcp 7000   the first byte of a connection says what it is for:
               e  an echo        p  gets a number every 5 ms   f  gets an end at once
               s  is not read until `go`
    tcp 80     read and counted
    udp 9000   counted; the last who sent gets a number every 5 ms
    udp 53     names below .test; `slow...` is answered a second later, `held...` after `answer`

Questions on stdin, one line each; the answer is one line of JSON.
"""
import array
import contextlib
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "network"))
import settings  # noqa: E402

NEAR, FAR, DNS = "93.184.216.1", "93.184.216.2", "93.184.216.53"
# The last one is there only after `open`: until then nobody answers for it.
HOSTS = {"a": "93.184.216.34", "b": "93.184.216.35", "c": "93.184.216.36", "hole": "93.184.217.37"}
NAMES = {address: name for name, address in HOSTS.items()}
TICK = 0.005
DELAYS = (("slow", 1), ("held", float("inf")))


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Counter:
    """What one host was sent."""

    def __init__(self):
        self.tcp = self.udp = self.taken = 0


class Stream:
    def __init__(self, s):
        self.s, self.kind = s, b""
        self.host = NAMES.get(s.getsockname()[0].removeprefix("::ffff:"), "?")
        s.setblocking(False)


class Far:
    def __init__(self):
        self.epoll, self.by_fd = select.epoll(), {}
        self.counts = {name: Counter() for name in HOSTS}
        self.streams, self.held, self.peer = {}, [], {}
        self.questions, self.later, self.number = [], [], 0
        self.next_tick = time.monotonic()
        for port in (7000, 80):
            s = socket.create_server(("0.0.0.0", port), backlog=4096)
            s.setblocking(False)
            self.add(s, self.take)
        self.datagrams = self.add_datagrams(("0.0.0.0", 9000), self.receive)
        self.add_datagrams((DNS, 53), self.answer)
        self.epoll.register(0, select.EPOLLIN)

    def add(self, s, ready):
        self.by_fd[s.fileno()] = (s, ready)
        self.epoll.register(s.fileno(), select.EPOLLIN)

    def add_datagrams(self, where, ready):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, 8, 1)	# IP_PKTINFO
        s.bind(where)
        s.setblocking(False)
        self.add(s, ready)
        return s

    # --- streams ---------------------------------------------------------------

    def take(self, listener):
        while True:
            try:
                s = listener.accept()[0]
            except BlockingIOError:
                return
            except OSError:
                continue
            stream = Stream(s)
            if listener.getsockname()[1] == 80:
                stream.kind = b"h"
            self.counts[stream.host].taken += 1
            self.streams[s.fileno()] = stream
            self.add(s, self.read)

    def drop(self, s):
        self.epoll.unregister(s.fileno())
        del self.by_fd[s.fileno()]
        stream = self.streams.pop(s.fileno())
        if stream in self.held:
            self.held.remove(stream)
        s.close()

    def read(self, s, most=64):
        stream = self.streams[s.fileno()]
        for _ in range(most):
            if stream.kind == b"s":
                self.epoll.modify(s.fileno(), 0)
                if stream not in self.held:
                    self.held.append(stream)
                return
            try:
                data = s.recv(1 if not stream.kind else 65536)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                if stream.kind == b"p":		# half an end: it still listens
                    self.epoll.modify(s.fileno(), 0)
                    stream.kind = b"P"
                else:
                    self.drop(s)
                return
            self.counts[stream.host].tcp += len(data)
            self.on_data(stream, data)

    def on_data(self, stream, data):
        try:
            if not stream.kind:
                stream.kind = data[:1]
                if stream.kind == b"f":
                    stream.s.shutdown(socket.SHUT_WR)
            elif stream.kind == b"e":
                stream.s.send(data)
        except OSError:
            pass

    # --- datagrams -------------------------------------------------------------

    def receive(self, s):
        while True:
            try:
                data, about, _, whom = s.recvmsg(65536, 256)
            except BlockingIOError:
                return
            to = socket.inet_ntoa(about[0][2][8:12])
            if to in NAMES:
                self.counts[NAMES[to]].udp += len(data)
                self.peer[NAMES[to]] = (whom, about)

    def answer(self, s):
        while True:
            try:
                data, _, _, whom = s.recvmsg(4096, 256)
            except BlockingIOError:
                return
            labels, at = [], 12
            while at < len(data) and data[at]:
                labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1").lower())
                at += 1 + data[at]
            self.questions.append(".".join(labels))
            question = data[12:at + 5]
            kind = struct.unpack(">H", question[-4:-2])[0]
            address = HOSTS.get(labels[-2]) if labels[-1] == "test" and len(labels) > 1 else None
            text = data[:2] + b"\x81\x80\0\1\0\0\0\0\0\0" + question
            if address and kind == 1:
                text = (data[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question + b"\xc0\x0c\0\1\0\1" +
                        struct.pack(">IH", 0, 4) + socket.inet_aton(address))
            delay = next((d for word, d in DELAYS if labels[0].startswith(word)), 0)
            self.later.append((time.monotonic() + delay, s, text, whom))
            self.answer_those_due()

    # --- time ------------------------------------------------------------------

    def tick(self):
        self.number += 1
        text = b"%09d\n" % self.number
        for stream in list(self.streams.values()):
            if stream.kind in (b"p", b"P"):
                try:
                    stream.s.send(text)
                except BlockingIOError:
                    pass
                except OSError:
                    self.drop(stream.s)
        for whom, about in self.peer.values():
            try:
                self.datagrams.sendmsg([text], about, 0, whom)
            except OSError:
                pass
        self.answer_those_due()

    def answer_those_due(self, until=0):
        for one in [x for x in self.later if x[0] <= max(until, time.monotonic())]:
            self.later.remove(one)
            with contextlib.suppress(OSError):
                one[1].sendto(one[2], one[3])

    # --- questions -------------------------------------------------------------

    def drain(self):
        for s, ready in list(self.by_fd.values()):
            if s.fileno() >= 0:
                ready(s)
        # What was taken just now.
        for stream in list(self.streams.values()):
            self.read(stream.s, 1 << 20)

    def say(self, words):
        if words[0] == "open":
            ip("addr", "add", HOSTS["hole"] + "/32", "dev", "lo")
        elif words[0] == "shut":
            ip("addr", "del", HOSTS["hole"] + "/32", "dev", "lo")
        elif words[0] == "answer":
            self.answer_those_due(float("inf"))
        elif words[0] == "go":
            for stream in self.held:
                stream.kind = b"h"
                self.epoll.modify(stream.s.fileno(), select.EPOLLIN)
            self.held = []
        self.drain()
        out = {"number": self.number, "questions": self.questions}
        for name, c in self.counts.items():
            own = [x for x in self.streams.values() if x.host == name]
            waiting = 0
            for stream in own:
                room = array.array("i", [0])
                fcntl.ioctl(stream.s, termios.FIONREAD, room)
                waiting += room[0]
            out[name] = {"tcp": c.tcp + waiting, "udp": c.udp, "taken": c.taken,
                         "open": len(own)}
        print(json.dumps(out), flush=True)

    def serve(self):
        while True:
            wait = max(0, self.next_tick - time.monotonic())
            for fd, _ in self.epoll.poll(wait, 256):
                if fd == 0:
                    line = sys.stdin.readline()
                    if not line:
                        return
                    self.say(line.split())
                elif fd in self.by_fd:
                    s, ready = self.by_fd[fd]
                    ready(s)
            if time.monotonic() >= self.next_tick:
                self.tick()
                self.next_tick = time.monotonic() + TICK


def main():
    settings.apply()
    while subprocess.run(["ip", "link", "show", "far"], capture_output=True,
                         check=False).returncode:
        time.sleep(0.02)
    ip("link", "set", "lo", "up")
    ip("link", "set", "far", "up")
    ip("addr", "add", FAR + "/24", "dev", "far")
    for address in (DNS, *(a for n, a in HOSTS.items() if n != "hole")):
        ip("addr", "add", address + "/32", "dev", "lo")
    far = Far()
    print("ready", flush=True)
    far.serve()


if __name__ == "__main__":
    sys.stdin = os.fdopen(0, "r", buffering=1)
    main()

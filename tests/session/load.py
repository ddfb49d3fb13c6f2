"""Inside, for tests/suite/session-switch: connections and datagrams without end, to
hosts that are allowed and to hosts that are not.

Until its input ends; prints how many of each came to what, as one line of JSON.
"""
import collections
import json
import multiprocessing
import random
import socket
import sys
import threading
import time

HOSTS = ("a.test", "b.test", "c.test")
PROCESSES, THREADS, STALL, PAUSE = 3, 8, 20, 0.002


class Worker(threading.Thread):
    def __init__(self, number, enough):
        super().__init__(daemon=True)
        self.random, self.enough = random.Random(number), enough
        self.did, self.kept = collections.Counter(), []

    def open(self, host):
        s = socket.create_connection((host, 7000), STALL)
        self.did["opened"] += 1
        s.sendall(b"e")
        return s

    def talk(self, host):
        with self.open(host) as s:
            for _ in range(self.random.randrange(1, 4)):
                s.sendall(b"hello")
                if not s.recv(100):
                    return "cut"
        return "talked"

    def keep(self, host):
        """Idle, until later."""
        self.kept.append(self.open(host))
        if len(self.kept) > 20:
            with self.kept.pop(0) as s:
                s.sendall(b"late")
                return "late" if s.recv(100) else "cut"
        return "kept"

    def leave(self, host):
        """Does not wait for anything."""
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((socket.gethostbyname(host), 7000))
        s.close()
        return "left"

    def reuse(self, host):
        """An address that was given before."""
        address = socket.gethostbyname(host)
        time.sleep(self.random.random() / 5)
        with socket.create_connection((address, 7000), STALL) as s:
            s.sendall(b"ehello")
            return "talked" if s.recv(100) else "cut"

    def send(self, host):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            address = (socket.gethostbyname(host), 9000)
            for _ in range(5):
                s.sendto(b"datagram", address)
        return "sent"

    def run(self):
        acts = (self.talk, self.talk, self.talk, self.keep, self.leave, self.reuse, self.send)
        while not self.enough.is_set():
            try:
                self.did[self.random.choice(acts)(self.random.choice(HOSTS))] += 1
            except socket.timeout:
                self.did["stalled"] += 1
            except OSError:
                self.did["refused"] += 1
                time.sleep(PAUSE)


def work(number, enough, results):
    threads = [Worker(number * 100 + i, enough) for i in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    results.put(sum((t.did for t in threads), collections.Counter()))


def main():
    fork = multiprocessing.get_context("fork")
    enough, results = fork.Event(), fork.SimpleQueue()
    children = [fork.Process(target=work, args=(i, enough, results)) for i in range(PROCESSES)]
    for p in children:
        p.start()
    print("started", flush=True)
    sys.stdin.read()
    enough.set()
    did = sum((results.get() for _ in children), collections.Counter())
    for p in children:
        p.join()
    print(json.dumps(did), flush=True)


if __name__ == "__main__":
    main()

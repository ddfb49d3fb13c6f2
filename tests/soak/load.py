#!/usr/bin/python3
"""What the programs of a cordon do to its gate, for tests/suite-all/gate-soak.

    load.py SECONDS UDP_PORT

Inside: HTTP with keep-alive, connections that end in every way, streams, names
that are refused, requests for other hosts, and datagrams.  Prints what it did as
one line of JSON.
"""
import collections
import http.client
import json
import multiprocessing
import os
import random
import socket
import struct
import sys
import time

HOST = "allowed.test"
WORKERS = 4
STALL = 20
PAUSE = 0.002


class Worker:
    def __init__(self, number, udp_port):
        self.number, self.did = number, collections.Counter()
        self.udp_port, self.udp, self.udp_left = udp_port, None, 0
        self.names = 0

    def connect(self, port=80):
        s = socket.create_connection((HOST, port), STALL)
        self.did["connections"] += 1
        return s

    def http(self):
        c = http.client.HTTPConnection(HOST, 80, timeout=STALL)
        for _ in range(10):
            c.request("GET", "/small")
            assert len(c.getresponse().read()) == 10
            self.did["requests"] += 1
        self.did["connections"] += 1
        c.close()

    def other_host(self):
        with self.connect() as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n")
            assert s.recv(12) == b"HTTP/1.1 403"
            self.did["other_hosts"] += 1

    def stream(self):
        with self.connect() as s:
            s.sendall(b"GET /large HTTP/1.0\r\nHost: allowed.test\r\n\r\n")
            got = 0
            while piece := s.recv(65536):
                got += len(piece)
            assert got > 1 << 20, got
            self.did["streams"] += 1

    def leave(self):
        with self.connect() as s:
            s.sendall(b"GET /large HTTP/1.0\r\nHost: allowed.test\r\n\r\n")
            s.recv(1)

    def reset(self):
        with self.connect() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def refused_name(self):
        self.names += 1
        try:
            socket.create_connection((f"n{self.names}.w{self.number}.refused.test", 80), STALL)
            self.did["leaks"] += 1
        except socket.gaierror:
            self.did["refused_names"] += 1

    def datagram(self):
        if not self.udp_left:
            if self.udp:
                self.udp.close()
            self.udp, self.udp_left = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 400
            self.udp.settimeout(STALL)
            self.udp.connect((HOST, self.udp_port))
            self.did["flows"] += 1
        self.udp_left -= 1
        self.udp.send(b"ping")
        assert self.udp.recv(64) == b"ping"
        self.did["datagrams"] += 1

    def work(self, until):
        acts = (self.http, self.other_host, self.stream, self.leave, self.reset,
                self.refused_name, self.datagram)
        while time.monotonic() < until:
            begin = time.monotonic()
            act = random.choice(acts)
            try:
                act()
            except (OSError, AssertionError, http.client.HTTPException) as e:
                print(f"{act.__name__}: {e!r}", file=sys.stderr)
                self.did["failures"] += 1
            self.did["stalls"] += time.monotonic() - begin > STALL
            time.sleep(PAUSE)


def run(number, udp_port, until, pipe):
    random.seed(number)
    worker = Worker(number, udp_port)
    worker.work(until)
    pipe.send(worker.did)


def main(seconds, udp_port):
    until = time.monotonic() + float(seconds)
    total = collections.Counter()
    pipes = []
    for number in range(WORKERS):
        mine, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=run, args=(number, int(udp_port), until, theirs))
        process.start()
        theirs.close()
        pipes.append((mine, process))
    for pipe, process in pipes:
        total.update(pipe.recv())
        process.join()
    print(json.dumps(total))


multiprocessing.set_start_method("fork")
os.nice(5)
main(*sys.argv[1:])

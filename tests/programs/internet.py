"""All of the internet, in a network namespace of its own: every address answers.

Run in a fresh namespace, with the paths of a certificate and its key.  Takes one JSON
object a line and answers with one: {"names": {NAME: [ADDRESS...]}, "redirect": URL}
sets what DNS says and where /redirect leads; {} asks what came since then: [what,
address or name, port] each.
"""

import contextlib
import http.server
import json
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "network"))
import settings  # noqa: E402

PORTS = {21: "ftp", 22: "http", 80: "http", 443: "tls", 8080: "http", 8443: "tls"}
A, AAAA = 1, 28


class World:
    def __init__(self):
        self.lock = threading.Lock()
        self.names, self.redirect, self.log = {}, "", []

    def note(self, what, where, port):
        with self.lock:
            self.log.append([what, where, port])


WORLD = World()


def where(sock):
    """The address that the client dialled."""
    return sock.getsockname()[0].removeprefix("::ffff:"), sock.getsockname()[1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = f"served {self.headers['Host']}\n".encode()
        self.send_response(302 if "redirect" in self.path else 200)
        if "redirect" in self.path:
            self.send_header("Location", WORLD.redirect)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


class Server(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

    def __init__(self, port, kind, context):
        self.kind, self.context = kind, context
        super().__init__(("::", port), Handler)

    def finish_request(self, request, client_address):
        WORLD.note("tcp", *where(request))
        if self.kind == "ftp":
            request.sendall(b"421 closed\r\n")
            return
        if self.kind == "tls":
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass


def answer(question):
    """One DNS message: the addresses of a name, or NXDOMAIN for one that nobody set."""
    at, labels = 12, []
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode())
        at += 1 + question[at]
    kind, = struct.unpack(">H", question[at + 1:at + 3])
    name = ".".join(labels).lower()
    WORLD.note("dns", name, kind)
    known = WORLD.names.get(name)
    found = [socket.inet_pton(socket.AF_INET6 if ":" in a else socket.AF_INET, a)
             for a in known or () if kind == (AAAA if ":" in a else A)]
    flags = 0x8180 | (3 if known is None else 0)
    head = question[:2] + struct.pack(">HHHHH", flags, 1, len(found), 0, 0)
    rows = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(a)) + a for a in found)
    return head + question[12:at + 5] + rows


def serve_datagrams(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("0.0.0.0", port))
    while True:
        data, sender = s.recvfrom(4096)
        # Whoever asked may be gone by now, and need not have asked for a name.
        with contextlib.suppress(OSError, IndexError, struct.error, UnicodeDecodeError):
            if port == 53:
                s.sendto(answer(data), sender)
            else:
                WORLD.note("udp", "", port)


def main(cert, key):
    settings.apply()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    for port, kind in PORTS.items():
        threading.Thread(target=Server(port, kind, context).serve_forever, daemon=True).start()
    for port in (53, 443):
        threading.Thread(target=serve_datagrams, args=(port,), daemon=True).start()
    print("{}", flush=True)
    for line in sys.stdin:
        wish = json.loads(line)
        with WORLD.lock:
            seen = WORLD.log
            WORLD.log = []
            WORLD.names = wish.get("names", WORLD.names)
            WORLD.redirect = wish.get("redirect", WORLD.redirect)
        print(json.dumps(seen), flush=True)


main(*sys.argv[1:])

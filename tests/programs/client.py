"""Clients in Python: client.py WHAT HOST [CA]."""

import base64
import http.client
import os
import socket
import ssl
import sys
import urllib.request


def trust(ca):
    return ssl.create_default_context(cafile=ca)


def get(url, context=None):
    with urllib.request.urlopen(url, timeout=30, context=context) as answer:
        return answer.read().decode()


def plain_urllib(host, _):
    print(get(f"http://{host}/hello"))


def tls_urllib(host, ca):
    print(get(f"https://{host}/hello", trust(ca)))


def session(host, ca):
    """Many requests on one connection; a body that is larger than any buffer."""
    big = os.urandom(1 << 20)
    for connection in (http.client.HTTPConnection(host, timeout=30),
                       http.client.HTTPSConnection(host, timeout=30, context=trust(ca))):
        seen = set()
        for _ in range(20):
            connection.request("GET", "/who")
            seen.add(connection.getresponse().read())
        connection.request("POST", "/echo", big)
        assert connection.getresponse().read() == big
        connection.request("POST", "/echo", (big[i:i + 5000] for i in range(0, len(big), 5000)),
                           encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
        assert connection.getresponse().read() == big
        assert len(seen) == 1, seen
    print("hello by one connection")


def requests_session(host, ca):
    import requests
    with requests.Session() as s:
        for url in (f"http://{host}/hello", f"https://{host}/hello"):
            answer = s.get(url, verify=ca, timeout=30)
            answer.raise_for_status()
            assert answer.text.startswith("hello")
        assert s.post(f"https://{host}/echo", data={"a": "b"}, verify=ca).text == "a=b"
    print("hello by requests")


def events(host, _):
    """Each event must arrive before the server sends the next one."""
    stream = http.client.HTTPConnection(host, timeout=30)
    stream.request("GET", "/events", headers={"Accept": "text/event-stream"})
    answer = stream.getresponse()
    n = 0
    while line := answer.readline():
        if line.startswith(b"data: "):
            assert line == b"data: event %d\n" % n
            n += 1
            urllib.request.urlopen(f"http://{host}/seen", b"", timeout=30).read()
    assert n == 5
    print("hello by events")


def frame(opcode, data):
    mask = os.urandom(4)
    size = bytes([128 | len(data)]) if len(data) < 126 else \
        b"\xfe" + len(data).to_bytes(2, "big")
    return bytes([128 | opcode]) + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data))


def websocket_over(s, host):
    s.sendall(f"GET /ws HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
              "Sec-WebSocket-Version: 13\r\n\r\n".encode())
    f = s.makefile("rb")
    assert b" 101 " in f.readline()
    while f.readline() != b"\r\n":
        pass
    # What an HTTP parser would take for a request passes, too: the protocol is another now.
    for data in (b"hello", b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", b"x" * 60000):
        s.sendall(frame(2, data))
        assert f.read(1) == b"\x82"
        n = f.read(1)[0]
        n = int.from_bytes(f.read(2), "big") if n == 126 else n
        assert f.read(n) == data
    s.sendall(frame(8, b""))
    assert f.read(2) == b"\x88\x00"


def websocket(host, ca):
    with socket.create_connection((host, 80), timeout=30) as s:
        websocket_over(s, host)
    with socket.create_connection((host, 443), timeout=30) as s:
        with trust(ca).wrap_socket(s, server_hostname=host) as t:
            websocket_over(t, host)
    print("hello by frames")


def mail(host, _):
    """A protocol in which the server speaks first, on a port of its own."""
    with socket.create_connection((host, 25), timeout=30) as s:
        f = s.makefile("rwb")
        assert f.readline() == b"220 ready\r\n"
        f.write(b"hello by lines\r\n")
        f.flush()
        print(f.readline().decode())


WHAT = {f.__name__: f for f in (plain_urllib, tls_urllib, session, requests_session, events,
                                websocket, mail)}

if __name__ == "__main__":
    try:
        WHAT[sys.argv[1]](*sys.argv[2:])
    except (OSError, http.client.HTTPException, AssertionError) as e:
        sys.exit(f"{type(e).__name__}: {e}")

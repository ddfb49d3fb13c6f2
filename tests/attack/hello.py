"""ClientHellos made to measure and a server's answers: for tests/suite-all/gate-servers, and as
text for programs in a cordon (gate_rows.py)."""
import struct

# Of P-384: a valid public key, whose private key is 1.
BASE_POINT = (
    "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7"
    "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f")
X25519, P384 = 29, 24
KEYS = {X25519: bytes(31) + b"\x09", P384: b"\4" + bytes.fromhex(BASE_POINT)}
CHANGE_OF_KEYS = b"\x14\3\3\0\1\1"
RETRY = b"\xcf\x21\xad\x74\xe5\x9a\x61\x11"	# how the random of a HelloRetryRequest begins


def extension(kind, body):
    return struct.pack(">HH", kind, len(body)) + body


def message(name, group, size=0, extra=b""):
    """A ClientHello of `size` bytes, if it would be less; of TLS 1.2 without a group."""
    name = name.encode()
    e = (extension(0, struct.pack(">HBH", len(name) + 3, 0, len(name)) + name) +
         extension(10, b"\0\4\0\x1d\0\x18") + extension(13, b"\0\4\x08\4\4\1") + extra)
    if group:
        key = KEYS[group]
        e += (extension(43, b"\2\3\4") +
              extension(51, struct.pack(">HHH", len(key) + 4, group, len(key)) + key))
    suites = (b"\x13\1" if group else b"\xc0\x2f") * max(min((size - 40000) // 2, 32767), 1)
    fill = size - 81 - len(suites) - len(e)
    e += extension(0xfafa, bytes(fill)) if fill > 0 else b""
    body = (b"\3\3" + bytes(32) + b"\x20" + bytes(32) + struct.pack(">H", len(suites)) + suites +
            b"\1\0" + struct.pack(">H", len(e)) + e)
    return b"\1" + struct.pack(">I", len(body))[1:] + body


def records(data, size=16384):
    return b"".join(b"\x16\3\3" + struct.pack(">H", len(data[i:i + size])) + data[i:i + size]
                    for i in range(0, len(data), size))


def take(s, n):
    b = b""
    while len(b) < n:
        more = s.recv(n - len(b))
        if not more:
            raise ConnectionError("the server has ended the connection")
        b += more
    return b


def answer(s):
    """The server's next message in clear: accepted, retry, or something else."""
    while True:
        h = take(s, 5)
        b = take(s, h[3] << 8 | h[4])
        if (h[0], b[0]) == (22, 2):
            return "retry" if b[6:14] == RETRY else "accepted"
        if h[0] != 20:
            return f"a record of type {h[0]}"

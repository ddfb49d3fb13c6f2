"""gRPC without generated code: grpc_echo.py serve PLAIN TLS CERT KEY | call TARGET [CA]."""

import sys
import threading
from concurrent import futures

import grpc


class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        return {
            "/test.Echo/Unary": grpc.unary_unary_rpc_method_handler(
                lambda data, _: b"hello by " + data),
            "/test.Echo/Both": grpc.stream_stream_rpc_method_handler(
                lambda stream, _: (b"hello by " + data for data in stream)),
        }.get(details.method)


def serve(plain, tls, cert, key):
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((Echo(),))
    with open(cert, "rb") as c, open(key, "rb") as k:
        identity = grpc.ssl_server_credentials([(k.read(), c.read())])
    server.add_insecure_port(f"127.0.0.1:{plain}")
    server.add_secure_port(f"127.0.0.1:{tls}", identity)
    server.start()
    threading.Event().wait()


def call(target, ca=None):
    if ca:
        with open(ca, "rb") as f:
            channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(f.read()))
    else:
        channel = grpc.insecure_channel(target)
    with channel:
        said = channel.unary_unary("/test.Echo/Unary")(b"one call", timeout=30)
        assert said == b"hello by one call"
        turns = channel.stream_stream("/test.Echo/Both")(
            iter([b"%d" % i for i in range(100)]), timeout=30)
        assert [t for t in turns] == [b"hello by %d" % i for i in range(100)]
    print("hello by gRPC")


if __name__ == "__main__":
    try:
        {"serve": serve, "call": call}[sys.argv[1]](*sys.argv[2:])
    except grpc.RpcError as e:
        sys.exit(f"{e.code()}: {e.details()}")

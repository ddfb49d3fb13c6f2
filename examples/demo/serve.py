#!/usr/bin/python3
"""An HTTPS server on the loopback, for the hosts of the demo.

    serve.py FOLDER CERTIFICATES

Puts a file and a git repository into FOLDER, a certificate of its own into
CERTIFICATES (ca.pem, key.pem), prints its port and serves until it is killed.
"""
import functools
import http.server
import os
import ssl
import subprocess
import sys

HOSTS = ("code.example.test", "files.example.org")


def run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_certificate(folder):
    os.makedirs(folder)
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", "2", "-subj", "/CN=cordon demo", "-keyout", folder + "/key.pem",
        "-out", folder + "/ca.pem",
        "-addext", "subjectAltName=" + ",".join("DNS:" + h for h in HOSTS))


def make_repository(folder):
    who = ("-c", "user.name=A Friend", "-c", "user.email=friend@code.example.test")
    work, bare = folder + "/work", folder + "/lib.git"
    run("git", "init", "-q", work)
    with open(work + "/README", "w", encoding="ascii") as f:
        f.write("a library\n")
    run("git", "-C", work, "add", "README")
    run("git", "-C", work, *who, "commit", "-q", "-m", "A library")
    run("git", "clone", "-q", "--bare", work, bare)
    run("git", "-C", bare, "update-server-info")


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that goes away is none."""


def main(folder, certificates):
    make_certificate(certificates)
    make_repository(folder)
    with open(folder + "/hello.txt", "w", encoding="ascii") as f:
        f.write("hello from a server\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates + "/ca.pem", certificates + "/key.pem")
    server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()


main(*sys.argv[1:])

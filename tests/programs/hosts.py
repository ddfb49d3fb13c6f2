"""An HTTP server that prints the host and the path of each request; it leaves bodies unread,
and takes what follows a head for the next request."""
import http.server
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        print(self.headers["Host"], self.path, 200, flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\n")

    do_POST = do_GET

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer.request_queue_size = 128
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

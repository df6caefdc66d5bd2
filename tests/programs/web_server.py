# A server inside a sandbox, for tests of the way to it: echoes, streams, redirects, switches to WebSocket, or is slow.
import base64
import hashlib
import http.server
import json
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, *fields):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        whole = b""
        while size := int(self.rfile.readline(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def echo(self):
        body = self.body()
        told = {
            "method": self.command,
            "path": self.path,
            "fields": {name.lower(): value for name, value in self.headers.items()},
            "size": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        self.answer(200, json.dumps(told).encode(), ("Content-Type", "application/json"), ("Set-Cookie", "a=b"))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = echo

    def do_GET(self):
        if self.path == "/stream":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(20000):
                line = b"line %d\n" % i
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        elif self.path == "/redirect":
            self.answer(302, b"", ("Location", "/there"))
        elif self.path == "/refuse":
            self.answer(403, b"no", ("Content-Type", "text/html"))
        elif self.path == "/hang-up":
            self.close_connection = True
        elif self.path == "/nonsense":
            self.wfile.write(b"\x00\x01\x02 this is no HTTP\r\n\r\n")
            self.close_connection = True
        elif self.path == "/short":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"too short")
            self.close_connection = True
        elif self.path == "/slow":
            time.sleep(1000)
        elif self.path == "/ws":
            self.switch()
        else:
            self.echo()

    do_HEAD = do_GET

    def switch(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept)
        self.end_headers()
        self.close_connection = True
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                self.wfile.write(b"\x88\x00")
                return
            size = head[1] & 127
            mask = self.rfile.read(4)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(size)))
            self.wfile.write(bytes([head[0], size]) + data[::-1])


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("listening", flush=True)
server.serve_forever()

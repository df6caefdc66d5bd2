"""A day of an agent: a workspace on disk, an API whose key the code never sees, a result, and a volume for the next day."""
import http.server
import pathlib
import ssl
import subprocess
import tempfile
import threading

import cloche

KEY = "key-that-the-code-never-sees"


class Api(http.server.BaseHTTPRequestHandler):
    """The API, here on this machine. It responds to callers that have the key, and repeats it, which an API should not."""
    def do_GET(self):
        known = self.headers["Authorization"] == "Bearer " + KEY
        body = f"3 5 8 13 ({self.headers['Authorization']})".encode() if known else b"who are you?"
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def start_api(directory):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", directory / "key.pem", "-out", directory / "api.pem"],
                   check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "api.pem", directory / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


CALL = """
import os, urllib.request
numbers = urllib.request.urlopen(f"https://localhost:{os.environ['API_PORT']}/v1/numbers").read().decode()
print(numbers)
bars = [int(word) for word in numbers.split("(")[0].split()]
with open("plot.svg", "w") as plot:
    plot.write("<svg xmlns='http://www.w3.org/2000/svg'>")
    for place, bar in enumerate(bars):
        plot.write(f"<rect x='{20 * place}' y='0' width='15' height='{bar}'/>")
    plot.write("</svg>")
"""

with tempfile.TemporaryDirectory() as name:
    directory = pathlib.Path(name)
    port = start_api(directory)
    egress = {
        "secrets": {"API_KEY": {"value": KEY}},
        "extra_ca": str(directory / "api.pem"),
        "rules": {"api": {"allow": [
            {"host": "localhost", "ports": [str(port)], "methods": ["GET"], "paths": ["/v1"],
             "secret": {"name": "API_KEY", "header": "Authorization", "value": "Bearer {secret}"}},
            f"127.0.0.1:{port}",  # the address that the name has, because it is not public
        ]}},
    }
    agent = {"runtime": "crun", "workspace": "disk", "disk_size": "256m", "network": {"rules": ["api"]}, "tenants": "all",
             "pool": {"pool_size": 1}}
    # Programs use no proxy for localhost, unless the session's variables say otherwise.
    env = {"API_PORT": str(port), "NO_PROXY": "", "no_proxy": ""}
    with cloche.start(profiles={"session": agent}, egress=egress) as server, server.client() as client:
        client.create_volume("results", "16m")
        with server.sandbox(env=env, volumes=["results"]) as sandbox:
            print(sandbox.bash("git init --quiet && git rev-parse --is-inside-work-tree").stdout.strip())
            called = sandbox.run(CALL)
            print(called.stdout.strip())
            print([artifact.path for artifact in called.artifacts])
            print(sandbox.bash("env | grep -c KEY; cp plot.svg /volumes/results/").stdout.strip())
            refused = sandbox.run("import os, urllib.request\n"
                                  "urllib.request.urlopen(f\"https://localhost:{os.environ['API_PORT']}/v2/all\")")
            print(refused.stderr.splitlines()[-1])
            sent = [event for event in sandbox.egress_events() if "secret" in event.told]
            print([(event.told["path"], event.told["secret"]) for event in sent])
        # The session and its disk are gone; the volume is there.
        with server.sandbox(volumes=[{"name": "results", "access": "read_only"}]) as sandbox:
            print(sandbox.bash("ls; grep -o '<rect' /volumes/results/plot.svg | wc -l").stdout.strip())

# Prints:
#
#   true
#   3 5 8 13 (Bearer ****************************)
#   ['plot.svg']
#   0
#   urllib.error.HTTPError: HTTP Error 403: Forbidden
#   [('/v1/numbers', 'API_KEY')]
#   4

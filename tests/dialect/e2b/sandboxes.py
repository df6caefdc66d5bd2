"""A client of E2B's API that sends what the SDKs send, and no more. It talks to a real `cloche serve`."""
import base64
import contextlib
import hashlib
import http.client
import json
import pathlib
import sys
import urllib.parse

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "hostile" / "service")]
import house  # noqa: E402

ENVD, INTERPRETER = 49983, 49999
# On crun, whatever else the host has.
BASE = "  base: {runtime: crun, work_dir: /home/user, pool: {pool_size: 1, scale_limit: 12}}"


def need_crun(test):
    house.need_crun(test)


def start(e2b="", server="", profiles=BASE, more=""):
    """A server with tokens; keys are made by key()."""
    dialects = f"dialects: {{e2b: {{{e2b}}}}}\n" if e2b else ""
    return house.House(server=", auth: tokens" + server, profiles=profiles, more=dialects + more)


def key(server, tenant, *flags):
    made = server.run(house.PROGRAM, "token", "create", "--tenant", tenant, "--e2b", *flags).strip()
    house.eventually(lambda: Api(server, made).get("/v2/sandboxes").status == 200, f"the key of {tenant} is known")
    return made


def token_id(made):
    return made[len("e2b_"):][:16]


class Api:
    """The control plane, with a key."""

    def __init__(self, server, api_key, headers=None):
        self.server, self.api_key, self.headers = server, api_key, headers or {}

    def ask(self, method, target, body=None, headers=None):
        headers = {"X-API-KEY": self.api_key} | self.headers | (headers or {})
        return self.server.ask(method, target, body, headers=headers, token="")

    def get(self, target):
        return self.ask("GET", target)

    def post(self, target, body=None):
        return self.ask("POST", target, body)

    def create(self, version="/v2", **body):
        answer = self.post(f"{version}/sandboxes", {"templateID": "base"} | body)
        assert answer.status == 201, answer
        return Sandbox(self, answer.json())

    def ids(self, query=""):
        return [each["sandboxID"] for each in self.get("/v2/sandboxes" + query).json()]


class Sandbox:
    """The data plane of one sandbox, addressed by headers."""

    def __init__(self, api, made):
        self.api, self.made = api, made
        self.id, self.token = made["sandboxID"], made.get("envdAccessToken")
        self.path = "/sandboxes/" + self.id

    def ask(self, method, target, body=None, port=ENVD, token=None, headers=None):
        sent = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": str(port)}
        token = self.token if token is None else token
        if token:
            sent["X-Access-Token"] = token
        return self.api.server.ask(method, target, body, headers=sent | (headers or {}), token="")

    def health(self, **options):
        return self.ask("GET", "/health", **options).status

    def is_open(self, token=None):
        """Whether a call that needs the access token is served."""
        return self.ask("POST", "/process.Process/List", {}, token=token).status

    def info(self):
        return self.api.get(self.path)

    @contextlib.contextmanager
    def open(self, target, body, port=ENVD, content_type="application/json", headers=None):
        """A response that is read as it comes."""
        sent = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": str(port), "X-Access-Token": self.token,
                "Content-Type": content_type} | (headers or {})
        with contextlib.closing(
                http.client.HTTPConnection("127.0.0.1", self.api.server.port, timeout=house.PATIENCE)) as connection:
            connection.request("POST", target, body, sent)
            yield connection.getresponse()

    def start(self, command, **options):
        """A shell command as the SDKs start it, as a stream of its events."""
        config = {"cmd": "/bin/bash", "args": ["-c", command]} | options
        body = envelope(json.dumps({"process": config, "stdin": False}).encode())
        return self.open("/process.Process/Start", body, content_type="application/connect+json")

    def run(self, command, **options):
        """What a shell command prints."""
        with self.start(command, **options) as response:
            seen = list(messages(response))
        data = [event["event"]["data"].get("stdout", "") for event in seen if "data" in event.get("event", {})]
        return b"".join(base64.b64decode(each) for each in data).decode()

    def signature(self, path, operation="read", user="", expires=None):
        parts = [path, operation, user, self.token] + ([str(expires)] if expires is not None else [])
        digest = hashlib.sha256(":".join(parts).encode()).digest()
        return "v1_" + base64.b64encode(digest).decode().rstrip("=")

    def signed(self, path, **options):
        query = {"path": path, "signature": self.signature(path, **options)}
        return "/files?" + urllib.parse.urlencode(query)


def envelope(message, flags=0, length=None):
    return bytes([flags]) + (len(message) if length is None else length).to_bytes(4, "big") + message


def messages(response):
    """The messages of a stream up to its last one, `error` or nothing. A stream without a last one raises."""
    while True:
        head = response.read(5)
        if len(head) < 5:
            raise http.client.IncompleteRead(head)
        message = json.loads(response.read(int.from_bytes(head[1:], "big")))
        yield message
        if head[0] == 2:
            return


def error(answer):
    """The two members that every error has, which must agree with the status."""
    body = answer.json()
    assert body["code"] == answer.status and isinstance(body["message"], str), answer
    return body["message"]

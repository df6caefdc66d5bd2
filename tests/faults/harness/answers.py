"""One HTTP call to a server at a unix socket: what it answered, and how long that took."""
import dataclasses
import http.client
import json
import socket
import time


@dataclasses.dataclass
class Answer:
    """`status` is 0 where there was no answer at all; `code` is the service's own word for an error."""
    status: int
    body: object
    took: float
    text: str = ""

    @property
    def code(self):
        error = self.body.get("error") if isinstance(self.body, dict) else None
        return error.get("code") if isinstance(error, dict) else None

    @property
    def message(self):
        if not isinstance(self.body, dict):
            return self.text
        error = self.body.get("error")
        return error.get("message", "") if isinstance(error, dict) else str(self.body.get("detail", self.text))

    def __getitem__(self, field):
        return self.body[field]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def call(path, method, target, body=None, token=None, timeout=60.0, headers=None):
    """An `Answer`; one with status 0 where the line broke or nothing came in time."""
    began = time.monotonic()
    connection = UnixConnection(path, timeout)
    sent = dict(headers or {})
    data = None
    if isinstance(body, bytes):
        data = body
    elif body is not None:
        data = json.dumps(body).encode()
        sent["Content-Type"] = "application/json"
    if token:
        sent["Authorization"] = "Bearer " + token
    try:
        connection.request(method, target, data, sent)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        status = response.status
    except (OSError, http.client.HTTPException) as error:
        return Answer(0, None, time.monotonic() - began, f"{type(error).__name__}: {error}")
    finally:
        connection.close()
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    return Answer(status, parsed, time.monotonic() - began, text)

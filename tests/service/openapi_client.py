"""A client of the service that holds both sides to the contract: what it sends, and what it is answered."""
import base64
import collections
import contextlib
import hashlib
import json
import os
import re
import struct
import urllib.parse

WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Answer:
    def __init__(self, status, headers, body, media):
        self.status, self.headers, self.body, self.media = status, headers, body, media

    def json(self):
        return json.loads(self.body)


class Client:
    def __init__(self, contract, server, token):
        self.contract, self.server, self.token = contract, server, token
        self.user_token = None   # of another tenant's user
        self.web_server = None   # the source of one that runs in sandboxes
        self.served = collections.Counter()   # good requests, by operation
        self.refused = collections.Counter()  # bad ones
        self.sent = 0

    def good(self, name, status=200, **request):
        """A request by the letter of the contract, with the answer that it must have."""
        operation = self.contract.operations[name]
        self.check_request(operation, request)
        answer = self.exchange(operation, request)
        assert answer.status == status, f"{operation}: {answer.status} instead of {status}: {answer.body[:1000]}"
        self.served[name] += 1
        return answer

    def bad(self, name, status, **request):
        """A request that must be refused."""
        operation = self.contract.operations[name]
        answer = self.exchange(operation, request)
        assert answer.status == status, f"{operation}: {answer.status} instead of {status}: {answer.body[:1000]}"
        self.refused[name] += 1
        return answer

    def ask(self, name, **request):
        """A request whose answer may be any that is documented."""
        return self.exchange(self.contract.operations[name], request)

    def bad_method(self, name, method):
        """For what cannot be asked in a wrong way but by another method: the server refuses that by itself."""
        operation = self.contract.operations[name]
        status, headers, body = self.send(method, operation.path, None, {})
        assert status == 405 and headers.get("Allow"), f"{method} {operation.path}: {status}"
        self.contract.check_answer_value({"$ref": "#/components/schemas/Error"}, json.loads(body), f"{operation}: 405")
        self.refused[name] += 1

    def strangers_are_refused(self):
        """Without a token nothing is told, whatever is asked for, but what is open to all."""
        for operation in self.contract.operations.values():
            if operation.is_open:
                continue
            path = re.sub(r"{(\w+)}", "1", operation.path)
            for prefix in operation.prefixes:
                status, headers, body = self.send(operation.method, prefix + path, None, {"Authorization": None})
                assert status == 401, f"{operation} below '{prefix}' without a token: {status}"
                self.contract.check_answer(operation, status, headers, body)

    def check_request(self, operation, request):
        for place in ("path", "query"):
            for name, value in request.get(place, {}).items():
                schema = operation.parameter(place, name)["schema"]
                self.contract.check_request_value(schema, value, f"{operation}: {place} parameter {name}")
        for each in operation.parameters:
            there = each["in"] == "header" or each["name"] in request.get(each["in"], {})
            assert there or not each.get("required"), f"{operation}: {each['name']} is missing"
        if "json" in request:
            self.contract.check_body(operation, "application/json", request["json"])
        elif "raw" in request:
            self.contract.check_body(operation, request["content_type"], None)

    def exchange(self, operation, request):
        target = self.target_of(operation, request)
        headers = dict(request.get("headers", {}))
        body = request.get("raw")
        if "json" in request:
            body = json.dumps(request["json"]).encode()
            headers.setdefault("Content-Type", "application/json")
        elif "content_type" in request:
            headers["Content-Type"] = request["content_type"]
        status, fields, answer = self.send(operation.method, target, body, headers)
        media = self.contract.check_answer(operation, status, fields, answer)
        return Answer(status, fields, answer, media)

    def target_of(self, operation, request):
        path = operation.path
        for name, value in request.get("path", {}).items():
            safe = "/" if operation.parameter("path", name).get("x-rest") else ""
            path = path.replace("{" + name + "}", urllib.parse.quote(str(value), safe=safe))
        # Every server of the contract has its turn.
        self.sent += 1
        target = operation.prefixes[self.sent % len(operation.prefixes)] + path
        query = request.get("query")
        return target + "?" + urllib.parse.urlencode(query) if query else target

    def send(self, method, target, body, headers):
        headers = {"Authorization": "Bearer " + self.token} | headers
        with self.server.connection() as connection:
            connection.putrequest(method, target)
            for name, value in headers.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return response.status, response.headers, response.read()

    def check_events(self, answer):
        """All events of a stream: (name, id, data), each as the contract has it."""
        schemas = self.contract.resolve(answer.media["x-events"])
        events = parse_events(answer.body.decode())
        for name, _, data in events:
            assert name in schemas, f"an event '{name}' is not documented"
            self.contract.check_answer_value(schemas[name], data, f"event {name}")
        assert events and events[0][0] == "run" and events[-1][0] in ("result", "error"), events
        return events

    @contextlib.contextmanager
    def open_events(self, name, **request):
        """A stream of events that does not end by itself: a function that returns the next one, as (name, data)."""
        operation = self.contract.operations[name]
        self.check_request(operation, request)
        with self.server.connection() as connection:
            connection.request(operation.method, self.target_of(operation, request),
                               headers={"Authorization": "Bearer " + self.token})
            response = connection.getresponse()
            assert response.status == 200, f"{operation}: {response.status} instead of 200"
            media = self.contract.check_answer(operation, 200, response.headers, b"")
            schemas = self.contract.resolve(media["x-events"])
            self.served[name] += 1

            def next_event():
                fields = {}
                while "data" not in fields:
                    fields = {}
                    while line := response.readline().decode().rstrip("\r\n"):
                        field, _, value = line.partition(":")
                        fields[field] = value.removeprefix(" ")
                event, data = fields["event"], json.loads(fields["data"])
                self.contract.check_answer_value(schemas[event], data, f"event {event}")
                return event, data
            yield next_event

    def open_websocket(self, name, **request):
        operation = self.contract.operations[name]
        self.check_request(operation, request)
        socket = WebSocket(self.server.connection(), self.target_of(operation, request), self.token)
        assert socket.status == 101, f"{operation}: {socket.status} instead of 101"
        self.contract.check_answer(operation, 101, socket.headers, b"")
        self.served[name] += 1
        return socket


def parse_events(text):
    events = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = collections.defaultdict(list)
        for line in block.split("\n"):
            if line and not line.startswith(":"):
                name, _, value = line.partition(":")
                fields[name].append(value.removeprefix(" "))
        if "data" in fields:
            events.append((fields["event"][0], fields["id"][0], json.loads("\n".join(fields["data"]))))
    return events


class WebSocket:
    """Just enough of RFC 6455 for short messages. To be closed by leaving `with`."""

    def __init__(self, connection, target, token):
        self.manager = connection
        self.connection = connection.__enter__()
        key = base64.b64encode(os.urandom(16)).decode()
        self.connection.request("GET", target, headers={
            "Authorization": "Bearer " + token, "Connection": "Upgrade", "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key})
        # http.client takes 101 for an informational answer and would wait for another one: read by hand.
        self.socket = self.connection.sock
        self.stream = self.socket.makefile("rb")
        self.status = int(self.stream.readline().split()[1])
        self.headers = {}
        while line := self.stream.readline().strip():
            name, _, value = line.decode().partition(":")
            self.headers["-".join(part.capitalize() for part in name.split("-"))] = value.strip()
        digest = hashlib.sha1((key + WEBSOCKET_GUID).encode()).digest()
        if self.status == 101:
            assert self.headers["Sec-Websocket-Accept"] == base64.b64encode(digest).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.manager.__exit__(None, None, None)

    def send(self, data):
        kind = 1 if isinstance(data, str) else 2
        data = data.encode() if isinstance(data, str) else data
        assert len(data) < 126
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(bytes([0x80 | kind, 0x80 | len(data)]) + mask + masked)

    def receive(self):
        """The next message: text as str, bytes as bytes, None when the server closes."""
        head = self.stream.read(2)
        kind, size = head[0] & 15, head[1] & 127
        if size >= 126:
            size = struct.unpack(">H" if size == 126 else ">Q", self.stream.read(2 if size == 126 else 8))[0]
        data = self.stream.read(size)
        return None if kind == 8 else data.decode() if kind == 1 else data

#!/usr/bin/python3
"""Sends what clients of other systems send, word for word, to a fresh service that has no tokens.

Usage: drop_in_test.py CLOCHE

docs/compat.md says which systems these are. What is compared is what their documents promise: statuses, names of fields
and words of messages.
"""
import base64
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))
from openapi_server import Server, skip_without_crun  # noqa: E402

TEST = "drop_in"
ADDRESS = "localhost:8080"
CONFIG = """
server: {listen: ["127.0.0.1:0"]}
log: {level: warn}
sessions: {most: 4}
"""

# The call that the code sandbox service documents; only host and port are exchanged.
EXECUTE = """curl http://localhost:8080/v1/sandbox/execute \\
-H "Authorization: Bearer $TOKEN" \\
-H "Content-Type: application/json" \\
-d '{
"code": "print(42)",
"language": "python",
"tenant_id": "default",
"session_id": "s1"
}'"""
# What a client may have in $TOKEN where no token is asked for.
TOKENS = ("", "some-token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl")

# Its other paths, with the least that each needs: method, path, body, status, fields of the answer.
SESSION = {"tenant_id": "default", "session_id": "s1"}
PATHS = (
    ("POST", "/execute", {"code": "print(1)", "language": "python", **SESSION}, 200, ("stdout", "artifacts")),
    ("POST", "/bash", {"command": "echo 1 > a.txt; cat a.txt", **SESSION}, 200, ("stdout", "artifacts")),
    ("POST", "/write", {"path": "b.txt", "content": "one\ntwo\n", **SESSION}, 200, ("path",)),
    ("POST", "/read", {"path": "b.txt", "offset": 0, "limit": 1, **SESSION}, 200,
     ("content", "total_lines", "truncated")),
    ("POST", "/read_binary", {"path": "b.txt", **SESSION}, 200, ("content", "size")),
    ("POST", "/grep", {"pattern": "two", **SESSION}, 200, ("matches",)),
    ("POST", "/glob", {"pattern": "*.txt", **SESSION}, 200, ("paths",)),
    ("POST", "/sessions/default/s1/copy", {"files": {"c.txt": "x"}}, 200, ("files",)),
    ("GET", "/sessions", None, 200, ("sessions",)),
    ("DELETE", "/sessions/default/s1", None, 200, ("status",)),
)

CALCULATOR = "print(int(input()) + int(input()))"


class Checks:
    """Counts what is as it should be, and prints what is not."""

    def __init__(self, server):
        self.server = server
        self.address = server.printed[-1].removeprefix("cloche: listening on http://")
        self.good = self.bad = 0

    def check(self, what, right, told):
        self.good, self.bad = (self.good + 1, self.bad) if right else (self.good, self.bad + 1)
        if not right:
            print(f"{what}: {told}")

    def shell(self, command, **variables):
        ran = subprocess.run(["bash", "-c", command.replace(ADDRESS, self.address)], stdin=subprocess.DEVNULL,
                             env={**self.server.environment, **variables}, capture_output=True, text=True, timeout=120,
                             check=False)
        return json.loads(ran.stdout)

    def call(self, method, path, body=None):
        """Status and answer, as curl gets them."""
        command = ["curl", "-sS", "-X", method, "-w", "\n%{http_code}", f"http://{self.address}{path}"]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        ran = subprocess.run(command, env=self.server.environment, capture_output=True, text=True, timeout=120,
                             check=True)
        text, status = ran.stdout.rsplit("\n", 1)
        return int(status), json.loads(text)

    def expect(self, method, path, body, status, fields):
        got, answer = self.call(method, path, body)
        right = got == status and all(field in answer for field in fields)
        self.check(f"{method} {path} {body}", right, f"{got} {answer}")
        return answer


def check_code_sandbox(checks):
    for token in TOKENS:
        answer = checks.shell(EXECUTE, TOKEN=token)
        checks.check(f"TOKEN={token!r} {EXECUTE}", answer.get("stdout") == "42\n", answer)
    for prefix in ("", "/v1/sandbox"):
        for method, path, body, status, fields in PATHS:
            checks.expect(method, prefix + path, body, status, fields)
    checks.expect("GET", "/healthz", None, 200, ())


def check_lease_interface(checks):
    lent = checks.expect("POST", "/sandboxes/python", None, 200, ("sandbox_id",))
    lease = f"/sandboxes/{lent['sandbox_id']}"
    done = ("status",)
    ended = ("stdout", "stderr", "exit_code", "execution_time", "category")
    files = {"calculator.py": {"filename": "calculator.py", "content": CALCULATOR},
             "main.py": {"filename": "main.py", "content": "print('hello')"}}
    checks.expect("POST", f"{lease}/prepare", {"submission_files": files}, 200, done)
    asset = {"target": "data.txt", "content": base64.b64encode(b"data").decode(), "read_only": True}
    checks.expect("POST", f"{lease}/inject", {"resolved_assets": [asset]}, 200, done)
    command = {"command": "python main.py", "timeout": 30, "workdir": "/app"}
    ran = checks.expect("POST", f"{lease}/run", command, 200, ended)
    checks.check("python main.py", (ran.get("stdout"), ran.get("category")) == ("hello\n", "success"), ran)
    batch = {"commands": ["5", "3"], "program_command": "python calculator.py", "timeout": 30,
             "workdir": "/app"}
    ran = checks.expect("POST", f"{lease}/run-batch", batch, 200, ended)
    checks.check("python calculator.py", ran.get("stdout") == "8\n", ran)
    checks.expect("GET", f"{lease}/files?path=/app/main.py&max_bytes=1048576", None, 200,
                  ("path", "content_bytes", "size", "content_text", "encoding"))
    checks.expect("GET", f"{lease}/files?path=/app/none", None, 404, ("detail",))
    checks.expect("DELETE", lease, None, 200, done)
    again = checks.expect("DELETE", lease, None, 404, ("detail",))
    checks.check("an unknown id", again == {"detail": "Sandbox not found"}, again)
    for language in ("cobol", "csharp"):
        checks.expect("POST", f"/sandboxes/{language}", None, 422, ("detail",))
    stats = checks.expect("GET", "/stats", None, 200, ("python",))
    figures = {"idle", "active", "total", "pool_size", "scale_limit", "utilization"}
    checks.check("the figures of a pool", figures <= set(stats.get("python", {})), stats)


def check_execution(checks):
    body = {"language": "python", "submission_files": [{"filename": "main.py", "content": CALCULATOR}],
            "program_command": "python main.py", "test_cases": [["5", "3"], ["1", "x"]], "assets": []}
    answer = checks.expect("POST", "/api/v1/execute", body, 200, ("results",))
    first, second = answer["results"]
    checks.check("a case that succeeds", (first["output"], first["category"], first["error_message"]) ==
                 ("8\n", "success", None), first)
    checks.check("a case that fails", second["category"] == "runtime_error" and
                 second["error_message"].startswith("Runtime error occurred: Traceback"), second)
    checks.expect("POST", "/api/v1/execute", {**body, "language": "cobol"}, 422, ("detail",))


def main():
    skip_without_crun(TEST)
    with Server(CONFIG, [sys.argv[1], "serve"]) as server:
        checks = Checks(server)
        check_code_sandbox(checks)
        check_lease_interface(checks)
        check_execution(checks)
    print(f"{checks.good} of {checks.good + checks.bad} as promised")
    return 1 if checks.bad else 0


if __name__ == "__main__":
    sys.exit(main())

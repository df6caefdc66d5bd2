"""Values that must be seen by one program and nobody else: secrets, tokens, what callers put into environments."""
import contextlib
import os
import pathlib
import stat
import subprocess

import house
import pytest
import tokens

SECRET = "s3cr3t-0f-the-0perat0r-4711"
TYPED = "typed-by-a-caller-0815"


@pytest.fixture(scope="module", params=["oci", "docker"])
def server(request):
    house.need(request.param, __name__)
    secrets = f"secrets: {{OPERATORS: {{value: {SECRET}, tenants: [acme]}}}}"
    with house.House(backend=request.param, server=", auth: tokens", more=secrets, log="trace") as started:
        started.admin = started.token = next(line for line in started.printed if line.startswith("cloche_"))
        started.acme = tokens.create(started, "acme")
        started.other = tokens.create(started, "other")
        house.eventually(lambda: started.ask("GET", "/stats", token=started.other).status == 200, "the last token is known")
        started.backend = request.param
        yield started


@pytest.fixture(scope="module")
def used(server):
    """A session whose programs have the secret, and have printed it: one runs on in the background."""
    made = server.post("/sessions", {"session_id": "s", "secrets": ["OPERATORS"], "env": {"TYPED": TYPED}}, token=server.acme)
    assert made.status == 201, made
    for command in ("printenv OPERATORS", "printenv TYPED"):
        ran = server.post("/bash", {"session_id": "s", "command": command}, token=server.acme).json()
        assert ran["stdout"].strip() in (SECRET, TYPED), ran
    server.post("/bash", {"session_id": "s", "command": "sleep 300", "background": True}, token=server.acme)
    server.post("/execute", {"session_id": "s", "code": "import os; print(os.environ['OPERATORS'])"}, token=server.acme)
    return "s"


def files_below(*places):
    for place in places:
        for path in pathlib.Path(place).rglob("*"):
            with contextlib.suppress(OSError):
                if stat.S_ISREG(path.lstat().st_mode):
                    yield path


def test_secret__is_in_no_file_of_the_server(server, used):
    """tries: state, journals, records, bundles, agents, and the log at its finest level.
    must: the secret's value is in none of them, nor is a token.
    """
    found = []
    for path in files_below(server.scratch / "state", server.scratch / "run"):
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if SECRET.encode() in data or any(each.split("_")[2].encode() in data for each in
                                              (server.admin, server.acme, server.other)):
                found.append(path)
    assert not found
    log = server.log_text()
    assert len(log) > 1000
    for value in (SECRET, TYPED, server.acme.split("_")[2], server.admin.split("_")[2]):
        assert value not in log


def test_secret__is_in_no_answer_but_its_programs_own(server, used):
    """tries: every route that tells of the session, its runs, the service. must: neither value nor token."""
    for path in ("/sessions", "/sessions/acme/s", "/sessions/acme/s/contexts", "/stats", "/metrics", "/readyz", "/openapi.yaml"):
        answer = server.ask("GET", path, token=server.admin)
        assert answer.status == 200 and SECRET.encode() not in answer.body and TYPED.encode() not in answer.body, path
    runs = server.ask("GET", "/sessions/acme/s/runs", token=server.acme)
    assert SECRET.encode() not in runs.body


def test_secret_in_errors__is_not_told(server, used):
    """tries: errors about secrets and environments: unknown names, values that cannot be. must: names, no values."""
    answers = [
        server.post("/sessions", {"session_id": "e1", "secrets": ["NO_SUCH"]}, token=server.acme),
        server.post("/sessions", {"session_id": "e2", "secrets": ["OPERATORS", "OPERATORS"]}, token=server.acme),
        server.post("/sessions", {"session_id": "e3", "env": {"A=B": TYPED}}, token=server.acme),
        server.post("/sessions", {"session_id": "e4", "env": {"A": TYPED + "\0"}}, token=server.acme),
        server.post("/bash", {"session_id": "s", "command": "true", "env": {"": TYPED}}, token=server.acme),
        server.post("/bash", {"session_id": "s", "command": "true", "env": {"X": [TYPED]}}, token=server.acme),
    ]
    for answer in answers:
        assert TYPED.encode() not in answer.body and SECRET.encode() not in answer.body, answer
    for made in ("e1", "e2"):
        server.ask("DELETE", f"/sessions/acme/{made}", token=server.acme)
    assert TYPED not in server.log_text() and SECRET not in server.log_text()


def test_secret_of_another_tenants_session__is_not_seen_by_others(server, used):
    """tries: from another tenant's sandbox: environment, /proc of everything, files. must: nothing of it."""
    look = "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; grep -rs s3cr3t /tmp /workspace /dev/shm /run; env"
    seen = server.post("/bash", {"session_id": "o", "command": look}, token=server.other).json()
    assert SECRET not in seen["stdout"] and TYPED not in seen["stdout"]


def test_secret__is_not_in_the_agents_own_environment(server, used):
    """tries: from inside, process 1 and its zygotes. must: the program's own environment has it, no other."""
    look = "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ 2>/dev/null | grep -q s3cr3t && echo $p; done; true"
    seen = server.post("/bash", {"session_id": "s", "command": look}, token=server.acme).json()
    assert "/proc/1" not in seen["stdout"].split()


def test_secret__is_not_seen_by_other_users_of_the_host(server, used):
    """tries: as nobody on the host: command lines and environments of all processes, sockets, directories of the server.
    must: nothing of it is readable.
    """
    look = ("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n';"
            f"cat {server.scratch}/state/tokens.json {server.scratch}/cloche.yml {server.scratch}/s 2>/dev/null;"
            f"find {server.scratch}/state {server.scratch}/run -type f -not -path '*/roots/*' -not -path '*/agent*' "
            "-readable -exec cat {} + 2>/dev/null; true")
    seen = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", look], check=True,
                          stdout=subprocess.PIPE, timeout=60, env={"PATH": os.environ["PATH"]}).stdout
    for value in (SECRET, TYPED, server.acme.split("_")[2]):
        assert value.encode() not in seen, value


def test_files_of_the_server__are_its_own_alone(server, used):
    """tries: modes of journal, records, tokens, locks, sockets, pipes. must: no right for group or others."""
    for pattern in ("**/*.db*", "**/*.sqlite*", "**/lock", "**/tokens.json*", "**/record*", "**/config.json"):
        for path in (server.scratch / "state").glob(pattern):
            if path.is_file() and "roots" not in path.parts:
                assert not path.lstat().st_mode & 0o077 or closed_above(path, server.scratch), path
    assert stat.S_IMODE((server.scratch / "state" / "tokens.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((server.scratch / "s").lstat().st_mode) == 0o600


def closed_above(path, top):
    return any(not parent.stat().st_mode & 0o011 for parent in path.parents if top in parent.parents)


def test_secret__is_not_in_the_containers_configuration(server, used):
    """tries: `docker inspect` of every container and image of this server, or the OCI bundles. must: nothing of it."""
    if server.backend == "docker":
        engine = ["docker", "-H", os.environ["CLOCHE_TEST_DOCKER_HOST"]]
        mine = "label=cloche.instance=" + server.environment["CLOCHE_INSTANCE"]
        ids = house.run(*engine, "ps", "-aq", "--filter", mine).stdout.split()
        assert ids
        told = house.run(*engine, "inspect", *ids).stdout
        told += "".join(house.run(*engine, "logs", each, check=False).stdout for each in ids)
        told += "".join(house.run(*engine, "top", each).stdout for each in ids)
    else:
        told = "".join(path.read_text() for path in (server.scratch / "run").rglob("config.json"))
        assert "cloche" in told
    assert SECRET not in told and TYPED not in told


def test_token__is_shown_once_and_kept_as_a_hash(server):
    """tries: to find the token again. must: the file and the list have no secret part."""
    kept = (server.scratch / "state" / "tokens.json").read_text()
    listed = server.run(house.PROGRAM, "token", "list")
    for token in (server.acme, server.other, server.admin):
        assert token.split("_")[2] not in kept + listed
        assert token.split("_")[1] in kept


def test_query_of_a_request__is_not_logged(server):
    """tries: a token that somebody put into a URL by mistake. must: the log has the path alone."""
    server.ask("GET", "/stats?access_token=0ops-a-t0ken", token=server.acme)
    server.ask("GET", "/healthz")  # by then the first one is in the log
    assert '"path":"/stats"' in server.log_text()
    assert "0ops-a-t0ken" not in server.log_text()


def test_secrets_that_are_not_the_sessions__are_not_in_it(server):
    """tries: a session that named no secret. must: its programs have none; the server's own environment is not theirs."""
    seen = server.post("/bash", {"session_id": "plain", "command": "env"}, token=server.acme).json()["stdout"]
    assert SECRET not in seen and "CLOCHE_" not in seen.replace("CLOCHE_EVENT_FD", "") and "OPERATORS" not in seen

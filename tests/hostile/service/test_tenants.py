"""One tenant after another's things: by every route there is, by tokens that are not its own, and by being quick."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import house
import pytest
import tokens

QUOTAS = (", auth: tokens, quotas: {tenants: {few: {sessions: 5}, narrow: {runs: 3}, "
          "slow: {requests: {per_second: 1, burst: 10}}}}")
PYTHON = "  python: {runtime: crun, work_dir: /app, pool: {pool_size: 1, scale_limit: 8}}"
OPEN = {"GET /healthz", "GET /readyz", "GET /openapi.yaml"}
# What a good call of a route without a tenant in its path has in its body, beside the session.
BODIES = {
    "POST /execute": {"code": "print(open('treasure').read())"}, "POST /bash": {"command": "cat treasure"},
    "POST /read": {"path": "treasure"}, "POST /read_binary": {"path": "treasure"},
    "POST /write": {"path": "treasure", "content": "stolen"}, "POST /grep": {"pattern": "."},
    "POST /glob": {"pattern": "*"}, "POST /sessions": {}, "POST /stat": {"path": "treasure"},
    "POST /delete": {"path": "treasure"}, "POST /move": {"path": "treasure", "to": "stolen"},
    "POST /volumes": {"name": "loot", "size": "16m"}, "POST /mkdir": {"path": "treasury"}, "POST /edit": {"path": "treasure", "old": "e", "new": "", "replace_all": True},
}
LEASES = {
    "POST /sandboxes/{id}/prepare": {"submission_files": {}}, "POST /sandboxes/{id}/inject": {"resolved_assets": []},
    "POST /sandboxes/{id}/run": {"command": "cat treasure"}, "POST /sandboxes/{id}/run-batch": {"commands": ["ls"]},
    "POST /sandboxes/{id}/request": {"method": "GET", "endpoint": "/"}, "GET /sandboxes/{id}/files": None,
    "DELETE /sandboxes/{language}": None, "DELETE /sandboxes/{id}/destroy": None,
}
# Of routes with a tenant in their path: a good body, so that nothing else is wrong with the call.
BELOW = {"/signal": {"signal": "TERM"}, "/wait": {"timeout": 1}, "/timeout": {"timeout": 60}, "/contexts": {"name": "c", "language": "python"},
         "/copy": {"files": {"treasure": "stolen"}}, "/fork": {"ids": ["stolen"]},
         "/snapshots": {"name": "stolen"}}
# By an id or a name: tried by a case of their own.
SNAPSHOTS = {"GET /snapshots/{snapshot}", "DELETE /snapshots/{snapshot}"}
# These name nobody's things: figures of pools, a sandbox of one's own, a program of one's own; metrics and access lists are an admin's.
NOBODYS = {"GET /stats", "POST /sandboxes/{language}", "POST /api/v1/execute", "GET /metrics", "GET /access", "GET /sessions", "GET /volumes", "GET /snapshots"}


def all_routes():
    found = subprocess.run([os.environ["CLOCHE_ROUTES"]], stdout=subprocess.PIPE, check=True, text=True, timeout=60)
    return found.stdout.splitlines()


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    with house.House(server=QUOTAS, profiles=PYTHON, more="sessions: {most: 60}") as started:
        started.admin = next(line for line in started.printed if line.startswith("cloche_"))
        for tenant in ("acme", "other", "few", "narrow", "slow", "fleeting"):
            setattr(started, tenant, tokens.create(started, tenant))
        house.eventually(lambda: started.ask("GET", "/stats", token=started.fleeting).status == 200, "the last token is known")
        started.token = started.acme
        started.bash("vault", "echo gold > treasure")
        yield started


@pytest.fixture
def lease(server):
    lent = server.post("/sandboxes/python", {}).json()["sandbox_id"]
    server.post(f"/sandboxes/{lent}/run", {"command": "sh -c 'echo gold > treasure'"})
    yield lent
    server.ask("DELETE", f"/sandboxes/{lent}")


def target_of(route, tenant="acme", session="vault", lease="x"):
    method, pattern = route.split(" ", 1)
    path = (pattern.replace("{tenant}", tenant).replace("{session}", session).replace("{id}", lease)
            .replace("{language}", lease).replace("{port}", "80").replace("{name}", "c").replace("{run}", "r0"))
    return method, re.sub(r"{\w+\.\.\.}", "treasure", path)


def without_prefix(route):
    return route.replace(" /v1/sandbox", " ", 1)


def untouched(server):
    return server.bash("vault", "cat treasure", token=server.acme)["stdout"] == "gold\n"


def test_every_route_without_a_token__is_closed(server):
    """tries: every route of the router, without a token and with bad ones. must: 401; only health and contract are open."""
    for route in all_routes():
        method, path = target_of(route)
        for token in ("", "cloche_0000000000000000_" + "0" * 64, "null", server.acme[:-1], server.acme.upper()):
            headers = {"Authorization": "Bearer " + token} if token else {}
            status = server.ask(method, path, headers=headers, token="").status
            if route in OPEN:
                assert status == 200, route
            else:
                assert status == 401, (route, token, status)


def test_every_route_with_a_tenant_in_it__is_closed_to_others(server):
    """tries: another tenant's session, and one that is not there, by every route that names a tenant in its path.
    must: 403, the same for both: not even its existence is told. A redirect that tells nothing is all else.
    """
    tried = 0
    for route in all_routes():
        if "{tenant}" not in route:
            continue
        tried += 1
        good = next((body for end, body in BELOW.items() if route.endswith(end)), {})
        answers = []
        for session in ("vault", "no-such"):
            method, path = target_of(route, session=session)
            answer = server.ask(method, path, good if method in ("POST", "PUT", "PATCH") else None, token=server.other)
            if route.endswith("/proxy/{port}"):
                assert answer.status == 308, (route, answer)
            else:
                assert answer.status in (403, 426), (route, answer)
            answers.append((answer.status, re.sub(rb'"request_id":"\w+"', b"", answer.body)))
        assert answers[0] == answers[1], f"{route} tells whether there is such a session"
    assert tried >= 40
    assert untouched(server)


def test_terminal_and_proxy_of_another__are_closed_to_websockets_too(server):
    """tries: the upgrade, where a plain request is only told to upgrade. must: 403."""
    for path in ("terminal", "proxy/80/"):
        answer = server.ask("GET", f"/sessions/acme/vault/{path}", token=server.other, headers={
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})
        assert answer.status == 403, (path, answer)


def test_tenant_in_the_body__is_the_tokens_or_nobodys(server):
    """tries: another's tenant_id in the body of every route that takes it there; a route that this case does not know.
    must: 403; every route is one of those that are tried here or in the case above.
    """
    for route in all_routes():
        plain = without_prefix(route)
        if "{tenant}" in route or plain in OPEN | NOBODYS | SNAPSHOTS or plain in LEASES:
            continue
        assert plain in BODIES, f"a new route: say here how its tenants are kept apart: {route}"
        method, path = target_of(route)
        body = {"tenant_id": "acme"} | BODIES[plain]
        if plain != "POST /volumes":
            body["session_id"] = "vault"
        answer = server.ask(method, path, body, token=server.other)
        assert answer.status == 403, (route, answer)
        assert b"gold" not in answer.body
    for listed in ("/sessions", "/volumes", "/snapshots"):
        assert server.ask("GET", f"{listed}?tenant_id=acme", token=server.other).status == 403
    assert untouched(server)


def test_snapshot_of_another__is_not_there(server):
    """tries: to list, read, delete and restore another's snapshot, by id and by name, and to take and fork another's
    session. must: the same 404 as for one that nobody has; 403 by the tenant's name; nothing done.
    """
    taken = server.post("/sessions/acme/vault/snapshots", {"name": "treasure"}).json()
    listed = server.ask("GET", "/snapshots", token=server.other).json()
    assert listed == {"snapshots": [], "stored": 0}
    for method in ("GET", "DELETE"):
        answers = []
        for which in (taken["id"], "treasure", "s" + "0" * 19, "absent"):
            answer = server.ask(method, f"/snapshots/{which}", token=server.other)
            assert answer.status == 404, (method, which, answer)
            answers.append(re.sub(rb'"request_id":"\w+"', b"", answer.body))
            assert server.ask(method, f"/snapshots/{which}?tenant_id=acme", token=server.other).status == 403
        assert len(set(answers)) == 1, "it tells whether there is such a snapshot"
    for which in (taken["id"], "treasure", "../acme/treasure", "x" * 5000):
        made = server.ask("POST", "/sessions", {"session_id": "thief", "snapshot": which}, token=server.other)
        assert made.status == 404, (which, made)
    for below in ("snapshots", "fork"):
        assert server.ask("POST", f"/sessions/acme/vault/{below}", {}, token=server.other).status == 403
        assert server.ask("POST", f"/sessions/other/no-such/{below}", {}, token=server.other).status == 404
    assert server.ask("GET", f"/snapshots/{taken['id']}").status == 200
    assert server.ask("DELETE", "/snapshots/treasure").status == 200
    assert untouched(server)


@pytest.mark.parametrize("headers", [
    {"X-Tenant-Id": "acme"}, {"X-Forwarded-User": "acme"}, {"X-Original-URL": "/sessions/acme/vault"},
    {"X-HTTP-Method-Override": "DELETE"}, {"Forwarded": "for=127.0.0.1"}, {"X-Forwarded-For": "127.0.0.1"}])
def test_headers_that_proxies_believe__count_for_nothing(server, headers):
    """tries: to be another by a header. must: 403, nothing done."""
    assert server.ask("GET", "/sessions/acme/vault", token=server.other, headers=headers).status == 403
    assert untouched(server)


def test_same_name_under_another_tenant__is_another_session(server):
    """tries: the id of another's session, under the own tenant; its runs by their ids. must: an empty session; 404."""
    run = server.post("/bash", {"session_id": "vault", "command": "cat treasure"}, token=server.acme).json()["run_id"]
    assert server.bash("vault", "ls", token=server.other)["stdout"] == ""
    for below in (f"runs/{run}", f"runs/{run}/output", f"runs/{run}/events", "files/treasure"):
        assert server.ask("GET", f"/sessions/other/vault/{below}", token=server.other).status == 404, below
    server.ask("DELETE", "/sessions/other/vault", token=server.other)
    assert untouched(server)


def test_list_of_sessions__has_ones_own(server):
    """tries: the list, and another's list by name. must: one's own; 403."""
    listed = server.ask("GET", "/sessions", token=server.other).json()["sessions"]
    assert {each["tenant_id"] for each in listed} <= {"other"}
    assert server.ask("GET", "/sessions?tenant_id=acme", token=server.other).status == 403
    both = server.ask("GET", "/sessions?tenant_id=other&tenant_id=acme", token=server.other)
    assert both.status in (200, 400, 403) and b"acme" not in both.body.replace(b"tenant_id=acme", b"")
    everything = server.ask("GET", "/sessions", token=server.admin).json()["sessions"]
    assert "acme" in {each["tenant_id"] for each in everything}


def test_metrics__are_the_admins(server):
    """tries: what all tenants do, from the metrics. must: 403 for a user; an admin sees no name of a tenant or session."""
    assert server.ask("GET", "/metrics", token=server.other).status == 403
    text = server.ask("GET", "/metrics", token=server.admin).body
    assert b"vault" not in text and b"treasure" not in text


def test_lease_of_another__is_not_found_by_any_route(server, lease):
    """tries: another's lease by every route of the lease interface. must: 404, and it is untouched."""
    tried = set()
    for route in all_routes():
        if route not in LEASES:
            continue
        tried.add(route)
        method, path = target_of(route, lease=lease)
        path += "?path=treasure" if route.endswith("/files") else ""
        for thief in (server.other, server.admin):
            answer = server.ask(method, path, LEASES[route], token=thief)
            assert answer.status == 404 and b"gold" not in answer.body, (route, answer)
    assert tried == set(LEASES)
    mine = server.post(f"/sandboxes/{lease}/run", {"command": "cat treasure"}).json()
    assert mine["stdout"] == "gold\n"


def test_ids_of_leases__cannot_be_guessed(server):
    """tries: to find the next id from the last ones. must: 128 bits, with nothing in common."""
    ids = []
    for _ in range(3):
        ids.append(server.post("/sandboxes/python", {}).json()["sandbox_id"])
    for each in ids:
        server.ask("DELETE", f"/sandboxes/{each}")
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)
    assert max(len(os.path.commonprefix([a, b])) for a in ids for b in ids if a != b) < 8


def test_two_hundred_at_once_at_the_limit__exactly_the_limit(server):
    """tries: 200 sessions at the same moment where 5 are allowed. must: 5, and after they end 5 again."""
    for _ in range(2):
        def make(number):
            return server.post("/sessions", {"session_id": f"n{number}"}, token=server.few).status
        made = house.together(make, range(200))
        assert made.count(201) == 5 and made.count(429) == 195, made
        for number in range(200):
            if made[number] == 201:
                server.ask("DELETE", f"/sessions/few/n{number}", token=server.few)


def test_runs_beyond_the_quota__never_run_at_the_same_time(server):
    """tries: 40 runs at the same moment where 3 are allowed. must: never more than 3 at a time, the others 429."""
    server.bash("n", "true", token=server.narrow)
    command = "date +%s.%N; sleep 0.5; date +%s.%N"

    def one(_):
        return server.post("/bash", {"session_id": "n", "command": command}, token=server.narrow)
    answers = house.together(one, range(40))
    spans = [tuple(map(float, a.json()["stdout"].split())) for a in answers if a.status == 200]
    assert len(spans) >= 3 and all(a.status in (200, 429) for a in answers)
    assert max(sum(begin <= at < end for begin, end in spans) for at, _ in spans) <= 3


def test_requests_beyond_the_rate__are_refused(server):
    """tries: 100 requests at once where one a second and ten at once are allowed. must: about ten, the others 429."""
    answers = house.together(lambda _: server.ask("GET", "/sessions", token=server.slow), range(100))
    good = [a.status for a in answers].count(200)
    assert good <= 15, good
    refused = next(a for a in answers if a.status == 429)
    assert int(refused.headers["Retry-After"]) >= 1


def test_token_revoked_in_the_middle__no_further_request_on_any_connection(server):
    """tries: to go on after a token was revoked: on the connection that was let in, and by resuming a stream of events.
    must: 401 within two seconds for every further request, on old connections too.
    """
    token = server.fleeting
    head = f"GET /stats HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with server.connect() as line:
        line.sendall(head)
        assert house.statuses(line.recv(65536)) == [200]
        server.run(house.PROGRAM, "token", "revoke", token.split("_")[1])

        def refused():
            line.sendall(head)
            return house.statuses(line.recv(65536)) == [401]
        house.eventually(refused, "the token is refused")
    again = server.ask("GET", "/sessions/fleeting/x/runs/r0/events", token=token, headers={"Last-Event-ID": "r0:0"})
    assert again.status == 401


# --- JWTs ---

@pytest.fixture(scope="module")
def keys():
    with tempfile.TemporaryDirectory(prefix="cloche-keys-") as made:
        directory = pathlib.Path(made)
        yield tokens.make_rsa_key(directory), tokens.make_rsa_key(directory, "foreign")


@pytest.fixture(scope="module")
def jwt_server(keys):
    house.need_crun(__name__)
    (_, public), _ = keys
    jwt = f", jwt: {{keys: {public}, form: pem, issuer: {tokens.ISSUER}, audience: {tokens.AUDIENCE}, leeway: 0s}}"
    with house.House(server=jwt) as started:
        yield started


RS, HS = {"alg": "RS256", "typ": "JWT"}, {"alg": "HS256", "typ": "JWT"}


def forgeries(private, public, foreign):
    good, sign = tokens.claims(), tokens.rs256(private)
    admin = tokens.claims(role="admin")
    text = tokens.part(RS) + "." + tokens.part(good)
    signature = tokens.base64url(sign(text.encode()))
    return {
        "no algorithm": tokens.signed({"alg": "none"}, good, lambda _: b""),
        "no algorithm, in another case": tokens.signed({"alg": "nOnE", "typ": "JWT"}, good, lambda _: b""),
        "no algorithm, a good signature": tokens.signed({"alg": "none"}, good, sign),
        "the public key as a secret": tokens.signed(HS, good, tokens.hs256(public.read_bytes())),
        "the public key's text as a secret": tokens.signed(HS, good, tokens.hs256(public.read_bytes().strip())),
        "an empty secret": tokens.signed(HS, good, tokens.hs256(b"")),
        "RS256 with a MAC": tokens.signed(RS, good, tokens.hs256(public.read_bytes())),
        "a foreign key": tokens.signed(RS, good, tokens.rs256(foreign)),
        "a foreign key that it brings along": tokens.signed(RS | {"jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}}, good,
                                                            tokens.rs256(foreign)),
        "a foreign key at a URL": tokens.signed(RS | {"jku": "http://169.254.169.254/"}, good, tokens.rs256(foreign)),
        "a key that is a path": tokens.signed(HS | {"kid": "../../../../dev/null"}, good, tokens.hs256(b"")),
        "a key that is SQL": tokens.signed(HS | {"kid": "' union select ''--"}, good, tokens.hs256(b"")),
        "other claims under a good signature": tokens.part(RS) + "." + tokens.part(admin) + "." + signature,
        "no signature": text + ".", "no second dot": text, "four parts": text + "." + signature + ".x",
        "a padded signature": text + "." + signature + "==",
        "a critical extension": tokens.signed(RS | {"crit": ["x"], "x": 1}, good, sign),
        "expired": tokens.signed(RS, tokens.claims(exp=int(time.time()) - 1), sign),
        "without an end": tokens.signed(RS, {k: v for k, v in good.items() if k != "exp"}, sign),
        "an end in text": tokens.signed(RS, tokens.claims(exp="9999999999"), sign),
        "an end beyond all": tokens.signed(RS, tokens.claims(exp=1e300), sign),
        "not yet": tokens.signed(RS, tokens.claims(nbf=int(time.time()) + 600), sign),
        "for another service": tokens.signed(RS, tokens.claims(aud="other"), sign),
        "from another issuer": tokens.signed(RS, tokens.claims(iss="evil"), sign),
        "without a tenant": tokens.signed(RS, {k: v for k, v in good.items() if k != "tenant"}, sign),
        "a tenant that is a path": tokens.signed(RS, tokens.claims(tenant="../acme"), sign),
        "a role that is none": tokens.signed(RS, tokens.claims(role="root"), sign),
        "claims twice": tokens.signed(RS, json.dumps(good)[:-1].encode() + b', "tenant": "other"}', sign),
        "an encrypted one": "a.b.c.d.e", "20 kB": tokens.signed(RS, tokens.claims(x="y" * 20000), sign),
    }


def test_forged_jwts__are_refused(jwt_server, keys):
    """tries: thirty JWTs that are nearly good: no algorithm, the public key as a secret, keys of its own, times, claims.
    must: 401 for each (431 where the head is too long); the good one passes, before and after.
    """
    (private, public), (foreign, _) = keys
    good = tokens.signed(RS, tokens.claims(), tokens.rs256(private))
    assert jwt_server.ask("GET", "/sessions", token=good).status == 200
    believed = []
    for what, token in forgeries(private, public, foreign).items():
        status = jwt_server.ask("GET", "/sessions", token=token).status
        if status not in (401, 431):
            believed.append((what, status))
    assert not believed
    assert jwt_server.ask("GET", "/sessions", token=good).status == 200


def test_jwt_elsewhere_than_in_its_header__is_not_looked_at(jwt_server, keys):
    """tries: the token in the query, in a cookie, in another scheme, twice. must: 401; 400 for two headers."""
    (private, _), _ = keys
    good = tokens.signed(RS, tokens.claims(), tokens.rs256(private))
    assert jwt_server.ask("GET", f"/sessions?access_token={good}").status == 401
    assert jwt_server.ask("GET", "/sessions", headers={"Cookie": "token=" + good}).status == 401
    assert jwt_server.ask("GET", "/sessions", headers={"Authorization": "Basic " + good}).status == 401
    assert jwt_server.ask("GET", "/sessions", headers={"Authorization": good}).status == 401
    twice = f"GET /sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nAuthorization: Bearer {good}\r\n\r\n"
    assert house.statuses(jwt_server.raw(twice.encode())) == [400]


def test_jwt_that_expires_on_an_open_connection__ends_there(jwt_server, keys):
    """tries: to go on by a connection that was let in. must: 401 from the moment on at which the token ends."""
    (private, _), _ = keys
    token = tokens.signed(RS, tokens.claims(exp=int(time.time()) + 3), tokens.rs256(private))
    head = f"GET /sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with jwt_server.connect() as line:
        line.sendall(head)
        assert house.statuses(line.recv(65536)) == [200]

        def refused():
            line.sendall(head)
            return house.statuses(line.recv(65536)) == [401]
        house.eventually(refused, "the token is refused")


def test_weakened_no_tokens_at_all__everybody_is_the_admin():
    """The same thief where the operator switched tokens off: what the cases above would see if the door stood open."""
    house.need_crun(__name__)
    with house.House(server=", auth: none") as open_house:
        made = open_house.post("/bash", {"session_id": "vault", "tenant_id": "acme", "command": "echo gold > treasure"})
        assert made.status == 200
        stolen = open_house.ask("GET", "/sessions/acme/vault/files/treasure")
        assert stolen.status == 200 and stolen.body == b"gold\n"
        assert open_house.ask("GET", "/metrics").status == 200

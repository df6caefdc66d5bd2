"""E2B's control plane over a real server: sandboxes from their creation to their end, lists, keys, errors."""
import datetime
import os
import subprocess
import time
import urllib.parse

import pytest
import sandboxes
from sandboxes import house

SOON = 2  # seconds in which a sandbox ends in these cases


@pytest.fixture(scope="module")
def server():
    sandboxes.need_crun(__name__)
    with sandboxes.start(server=", quotas: {tenants: {slow: {requests: {per_second: 1, burst: 2}}, few: {sessions: 1}}}",
                         more="sessions: {most: 12}") as started:
        yield started


@pytest.fixture(scope="module")
def api(server):
    return sandboxes.Api(server, sandboxes.key(server, "acme"))


@pytest.fixture(scope="module")
def other(server):
    return sandboxes.Api(server, sandboxes.key(server, "other"))


@pytest.fixture
def sandbox(api):
    made = api.create()
    yield made
    api.ask("DELETE", made.path)


def seconds_left(info):
    end = datetime.datetime.fromisoformat(info["endAt"].replace("Z", "+00:00"))
    return (end - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def test_created_sandbox__has_what_clients_require(api, sandbox):
    made = sandbox.made
    assert made["sandboxID"].isalnum() and made["sandboxID"] == made["sandboxID"].lower()
    assert made["templateID"] == made["alias"] == "base"
    assert isinstance(made["clientID"], str) and made["envdVersion"].count(".") == 2
    assert len(made["envdAccessToken"]) >= 32
    assert made["trafficAccessToken"] is None and made["domain"] is None
    info = sandbox.info().json()
    assert info["state"] == "running" and info["envdAccessToken"] == sandbox.token
    assert info["cpuCount"] >= 1 and info["memoryMB"] >= 1 and info["diskSizeMB"] >= 1
    assert info["lifecycle"] == {"autoResume": False, "onTimeout": "kill"}
    assert 290 < seconds_left(info) <= 300
    listed = next(each for each in api.get("/v2/sandboxes").json() if each["sandboxID"] == sandbox.id)
    assert "envdAccessToken" not in listed


def test_old_create__has_the_old_default_time(api):
    made = api.create(version="", secure=True, allow_internet_access=True)
    assert 10 < seconds_left(made.info().json()) <= 15
    assert api.ask("DELETE", made.path).status == 204


@pytest.mark.parametrize("template", ["base", "code-interpreter-v1", "team/base", "base:latest", "session"])
def test_template__is_a_profile(api, template):
    made = api.create(templateID=template)
    assert made.made["templateID"] == template.split("/")[-1].split(":")[0]
    assert api.ask("DELETE", made.path).status == 204


def test_unknown_template__is_named(api):
    for template in ("no-such", "base:v7", "x" * 200):
        answer = api.post("/v2/sandboxes", {"templateID": template})
        assert answer.status == 404 and template[:10] in sandboxes.error(answer), answer


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b'{"templateID":"base","timeout":0}', b'{"templateID":"base","timeout":86401}',
    b'{"templateID":"base","templateID":"base"}', b'{"templateID":"base","metadata":{"a":1}}',
    b'{"templateID":"base","secure":false}'])
def test_bad_body__is_400(api, body):
    answer = api.ask("POST", "/v2/sandboxes", body, headers={"Content-Type": "application/json"})
    assert answer.status == 400
    assert sandboxes.error(answer)


def test_too_large_body__is_an_error_in_their_form(api):
    answer = api.ask("POST", "/v2/sandboxes", b'{"templateID":"' + b"a" * (1 << 20) + b'"}')
    assert answer.status == 413
    assert sandboxes.error(answer)


def test_kill__ends_it_once(api):
    made = api.create()
    assert made.health() == 204
    assert api.ask("DELETE", made.path).status == 204
    gone = api.ask("DELETE", made.path)
    assert gone.status == 404 and made.id in sandboxes.error(gone)
    assert made.health() == 502
    assert made.id not in api.ids()


def test_timeout__ends_it(api):
    made = api.create(timeout=300)
    assert api.post(made.path + "/timeout", {"timeout": 0}).status == 204
    house.eventually(lambda: made.info().status == 404, "it ends")
    assert made.health() == 502
    short = api.create(timeout=SOON)
    house.eventually(lambda: short.info().status == 404, "it ends by itself")


def test_timeout__may_shorten_and_connect_may_not(api, sandbox):
    assert api.post(sandbox.path + "/timeout", {"timeout": 100}).status == 204
    assert seconds_left(sandbox.info().json()) <= 100
    connected = api.post(f"/v2{sandbox.path}/connect", {"timeout": 10})
    assert connected.status == 200 and connected.json()["envdAccessToken"] == sandbox.token
    assert seconds_left(sandbox.info().json()) > 90
    assert api.post(f"{sandbox.path}/connect", {"timeout": 1000}).status == 200
    assert seconds_left(sandbox.info().json()) > 900
    assert api.post(sandbox.path + "/connect", {}).status == 400
    assert api.post(f"/v2{sandbox.path}/connect").status == 200
    assert api.post(sandbox.path + "/refreshes", {"duration": 1}).status == 204
    assert seconds_left(sandbox.info().json()) > 900
    assert api.post(sandbox.path + "/refreshes", {"duration": 3600}).status == 204
    assert seconds_left(sandbox.info().json()) > 3500


def test_pause_and_connect__keep_id_and_token(api):
    made = api.create(timeout=300)
    paused = api.post(made.path + "/pause", {})
    assert paused.status == 204, paused
    assert made.info().json()["state"] == "paused"
    assert made.health() == 502
    again = api.post(made.path + "/pause")
    assert again.status == 409 and sandboxes.error(again)
    assert made.id in api.ids("?state=paused") and made.id not in api.ids("?state=running")
    assert made.id not in [each["sandboxID"] for each in api.get("/sandboxes").json()]
    resumed = api.post(f"{made.path}/connect", {"timeout": 60})
    assert resumed.status == 201, resumed
    assert resumed.json()["sandboxID"] == made.id and resumed.json()["envdAccessToken"] == made.token
    assert made.health() == 204
    assert 50 < seconds_left(made.info().json()) <= 60
    assert api.post(f"{made.path}/resume", {}).status == 409
    assert api.post(made.path + "/pause").status == 204
    assert api.post(f"{made.path}/resume", {"timeout": 60}).status == 201
    assert api.post(made.path + "/pause").status == 204
    assert api.ask("DELETE", made.path).status == 204


def test_expiry_with_auto_pause__pauses_and_a_call_resumes(api):
    made = api.create(timeout=SOON, autoPause=True, autoResume={"enabled": True})
    house.eventually(lambda: made.info().json()["state"] == "paused", "it is paused when its time is over")
    assert made.health() == 502, "asked without waking it"
    assert made.is_open(token="0" * 64) == 401
    assert made.info().json()["state"] == "paused"
    assert made.is_open() == 200
    assert made.info().json()["state"] == "running"
    assert api.ask("DELETE", made.path).status == 204


def test_list__filters_and_pages(api):
    group = {"group": "g&=%+ ü"}
    made = [api.create(metadata=group | {"n": str(i)}) for i in range(3)]
    ids = [each.id for each in made]
    encoded = urllib.parse.urlencode({"metadata": "&".join(
        f"{urllib.parse.quote(urllib.parse.quote(k, safe=''), safe='')}="
        f"{urllib.parse.quote(urllib.parse.quote(v, safe=''), safe='')}" for k, v in group.items())})
    assert api.ids(f"?{encoded}") == ids[::-1]
    assert api.ids(f"?{encoded}&order=asc") == ids
    first = api.get(f"/v2/sandboxes?{encoded}&limit=2")
    assert [each["sandboxID"] for each in first.json()] == [ids[2], ids[1]]
    after = first.headers["x-next-token"]
    # What has gone does not move the rest.
    assert api.ask("DELETE", made[1].path).status == 204
    last = api.get(f"/v2/sandboxes?{encoded}&limit=2&nextToken={after}")
    assert [each["sandboxID"] for each in last.json()] == [ids[0]]
    assert last.headers["x-next-token"] is None
    assert api.ids(f"?{encoded}&template=other") == []
    now = datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+", "%2B")
    assert api.ids(f"?{encoded}&startedAfter={now}") == []
    for bad in ("limit=0", "limit=101", "state=dead", "nextToken=x", "startedAfter=x", "order=x"):
        answer = api.get("/v2/sandboxes?" + bad)
        assert answer.status == 400 and sandboxes.error(answer)
    for each in (made[0], made[2]):
        api.ask("DELETE", each.path)


def all_routes():
    found = subprocess.run([os.environ["CLOCHE_ROUTES"], "dialects"], stdout=subprocess.PIPE, check=True, text=True, timeout=60)
    return [line.split(" ", 1) for line in found.stdout.splitlines()]


def test_every_route_without_a_good_key__is_closed(server, api, sandbox):
    """Every route that the dialect has, so that a new one cannot be forgotten here."""
    for method, pattern in all_routes():
        path = pattern.replace("{id}", sandbox.id)
        for bad in ("", "e2b_" + "0" * 80, api.api_key[:-1]):
            answer = sandboxes.Api(server, bad).ask(method, path, {} if method in ("POST", "PUT") else None)
            assert answer.status == (200 if pattern == "/health" else 401), (method, path, answer)


def test_foreign_key__sees_and_ends_nothing(other, sandbox):
    routes = [route for route in all_routes() if "{id}" in route[1]]
    assert len(routes) >= 15
    for method, pattern in routes:
        body = {"timeout": 1} if method in ("POST", "PUT") else None
        theirs = other.ask(method, pattern.replace("{id}", sandbox.id), body)
        missing = other.ask(method, pattern.replace("{id}", "inosuch"), body)
        assert theirs.status == missing.status == 404, (method, pattern, theirs)
        assert sandboxes.error(theirs).replace(sandbox.id, "") == sandboxes.error(missing).replace("inosuch", "")
    assert sandbox.id not in other.ids()
    assert other.get(f"/sandboxes/metrics?sandbox_ids={sandbox.id}").json() == {"sandboxes": {}}
    assert sandbox.health() == 204


def test_bad_key__is_401_in_their_form(server, api):
    for bad in ("e2b_" + "0" * 80, api.api_key[:-1], api.api_key[:-1] + ("0" if api.api_key[-1] != "0" else "1"),
                "anything", ""):
        answer = sandboxes.Api(server, bad).get("/v2/sandboxes")
        assert answer.status == 401 and sandboxes.error(answer), bad
    twice = server.raw(b"GET /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + api.api_key.encode()
                       + b"\r\nX-API-Key: a\r\nConnection: close\r\n\r\n")
    assert twice.startswith(b"HTTP/1.1 400")


def test_token_of_ours__is_a_key_too(server, api):
    as_bearer = server.ask("GET", "/sessions", token=api.api_key)
    assert as_bearer.status == 200
    made = server.run(house.PROGRAM, "token", "create", "--tenant", "acme").strip()
    house.eventually(lambda: sandboxes.Api(server, made).get("/v2/sandboxes").status == 200, "the token is a key")


def test_lease_api_without_a_key__is_our_own(server):
    answer = server.ask("POST", "/sandboxes/no-such-language", {}, token="")
    assert answer.status == 401 and "detail" in answer.json()
    assert server.ask("GET", "/health", token="").status == 200


def test_quotas__are_429_with_retry_after(server):
    slow = sandboxes.Api(server, sandboxes.key(server, "slow"))
    answer = house.eventually(lambda: next((found for found in [slow.get("/v2/sandboxes")] if found.status == 429), None),
                              "the rate is over")
    assert int(answer.headers["Retry-After"]) >= 1 and sandboxes.error(answer)
    few = sandboxes.Api(server, sandboxes.key(server, "few"))
    first = few.create()
    second = few.post("/v2/sandboxes", {"templateID": "base"})
    assert second.status == 429 and int(second.headers["Retry-After"]) >= 1 and sandboxes.error(second)
    assert few.ask("DELETE", first.path).status == 204


def test_what_cloche_has_not__is_501_with_advice(api):
    for method, path in (("POST", "/v3/templates"), ("GET", "/templates"), ("POST", "/v2/templates/a/builds/b"),
                         ("POST", "/templates/tags"), ("GET", "/volumes"), ("POST", "/secrets")):
        answer = api.ask(method, path, {} if method == "POST" else None)
        assert answer.status == 501 and len(sandboxes.error(answer)) > 20, (path, answer)
    assert sandboxes.error(api.get("/no/such/route")) and api.get("/no/such/route").status == 404
    assert api.ask("PUT", "/sandboxes", {}).status == 405


def test_metrics_and_logs__report_on_it(api, sandbox):
    assert sandbox.is_open() == 200
    sample = api.get(sandbox.path + "/metrics").json()[0]
    assert sample["memTotal"] > sample["memUsed"] > 0 and sample["cpuCount"] >= 1
    assert abs(sample["timestampUnix"] - time.time()) < 60
    many = api.get(f"/sandboxes/metrics?sandbox_ids={sandbox.id},inosuch").json()["sandboxes"]
    assert list(many) == [sandbox.id]
    entries = api.get(f"/v2{sandbox.path}/logs").json()["logs"]
    assert entries[0]["message"] == "sandbox created" and entries[0]["level"] == "info"
    old = api.get(sandbox.path + "/logs").json()
    assert old["logs"][0]["line"] == "sandbox created" and old["logEntries"][0]["fields"]["template"] == "base"
    assert api.get(f"/v2{sandbox.path}/logs?direction=x").status == 400


def test_network__needs_the_operators_permission(api, sandbox):
    assert api.ask("PUT", sandbox.path + "/network", {"allow_internet_access": False}).status == 204
    assert sandbox.info().json()["allowInternetAccess"] is False
    denied = api.ask("PUT", sandbox.path + "/network", {"denyOut": ["1.2.3.4"]})
    assert denied.status == 403 and sandboxes.error(denied)
    assert api.ask("PUT", sandbox.path + "/network", {"egressProxy": {"address": "x"}}).status == 501
    assert api.ask("PUT", sandbox.path + "/network", {}).status == 204


def test_snapshot__is_a_template(api, sandbox):
    taken = api.post(sandbox.path + "/snapshots", {"name": "saved"})
    assert taken.status == 201, taken
    snapshot = taken.json()
    assert snapshot["names"] == ["saved"]
    assert api.get(f"/snapshots?sandboxID={sandbox.id}").json() == [snapshot]
    for name in (snapshot["snapshotID"], "saved"):
        made = api.create(templateID=name)
        assert made.made["templateID"] == snapshot["snapshotID"]
        assert api.ask("DELETE", made.path).status == 204
    assert api.ask("DELETE", "/templates/" + snapshot["snapshotID"]).status == 204
    gone = api.ask("DELETE", "/templates/" + snapshot["snapshotID"])
    assert gone.status == 404 and sandboxes.error(gone)
    assert api.get("/snapshots").json() == []


def test_fork__makes_sandboxes_of_their_own(api, sandbox):
    answer = api.post(sandbox.path + "/fork", {"count": 2, "timeout": 60})
    assert answer.status == 201, answer
    made = [sandboxes.Sandbox(api, each["sandbox"]) for each in answer.json()]
    assert len({each.id for each in made} | {sandbox.id}) == 3
    assert len({each.token for each in made} | {sandbox.token}) == 3
    for each in made:
        assert each.health() == 204
        assert each.is_open(token=sandbox.token) == 401
        assert api.ask("DELETE", each.path).status == 204

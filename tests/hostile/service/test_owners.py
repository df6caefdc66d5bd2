"""A tenant asks for what belongs to others, or to the server itself: secrets, profiles, languages, by every route."""
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import house
import pytest
import tokens

VAULT_KEY, OWN_KEY = "v4ult-key-1234", "0wners-key-5678"
CANARY = "c4nary-in-the-environment-of-the-server"
TREASURE = "g0ld-of-the-host"
UNKNOWN = "nosuchthing"
SECRETS = (f"secrets: {{INNER: {VAULT_KEY}, OWN_KEY: {{value: {OWN_KEY}, tenants: [owner]}},"
           " CLOSED: {env: CANARY, tenants: []}, OPEN_KEY: {value: open, tenants: all}}")
LANGUAGES = """languages:
  vaultlang: {profile: vault, aliases: [vl], extensions: [.vl], run: [cat, "{filename}"], env: {IN_THE_LANGUAGE: hidden}}
"""
# Where a caller can name a profile, a secret or a language, with a body that is right but for that name.
PLACES = {
    "profile": lambda name: ("/sessions", {"session_id": "x", "profile": name}),
    "secret": lambda name: ("/sessions", {"session_id": "x", "secrets": [name]}),
    "secret beside a good one": lambda name: ("/sessions", {"session_id": "x", "secrets": ["OPEN_KEY", name]}),
    "secret twice": lambda name: ("/sessions", {"session_id": "x", "secrets": [name, name]}),
    "lease": lambda name: (f"/sandboxes/{name}", {}),
    "judged": lambda name: ("/api/v1/execute", {"language": name, "submission_files": [{"filename": "a.vl", "content": "x"}]}),
    "code": lambda name: ("/execute", {"session_id": "mine", "language": name, "code": "x"}),
    "code in the background": lambda name: ("/execute", {"session_id": "mine", "language": name, "code": "x",
                                                         "background": True}),
    "context": lambda name: ("/sessions/other/mine/contexts", {"name": "c", "language": name}),
}
OF_PLACES = {
    "profile": ["vault", "vaultlang", "vl", "VAULT", "closed"],
    "secret": ["INNER", "OWN_KEY", "CLOSED", "CANARY", "PATH", "HOME", "CLOCHE_INSTANCE", "own_key"],
    "secret beside a good one": ["INNER", "OWN_KEY", "PATH"],
    "secret twice": ["OWN_KEY", "PATH"],
    "lease": ["vaultlang", "vl", "VaultLang", "vault", "closed"],
    "judged": ["vaultlang", "vl", "vault"],
    "code": ["vaultlang", "vl", "vault"],
    "code in the background": ["vaultlang", "vl"],
    "context": ["vaultlang", "vault"],
}


@pytest.fixture
def tmp_path():
    """In place of pytest's own, which leaves its directories behind. Sandboxes can reach it."""
    with tempfile.TemporaryDirectory(prefix="cloche-test-") as name:
        pathlib.Path(name).chmod(0o755)
        yield pathlib.Path(name)


@pytest.fixture(scope="module")
def data():
    with tempfile.TemporaryDirectory(prefix="cloche-test-") as name:
        pathlib.Path(name).chmod(0o755)
        yield pathlib.Path(name)


@pytest.fixture(scope="module")
def server(data):
    house.need_crun(__name__)
    (data / "treasure").write_text(TREASURE)
    pool = "pool: {pool_size: 0, scale_limit: 8}"
    profiles = (f"  vault: {{runtime: crun, secrets: [INNER], tenants: [owner], {pool},"
                f" mounts: [{{source: {data}, target: /data}}]}}\n"
                f"  closed: {{runtime: crun, tenants: [], {pool}}}\n"
                f"  c: {{runtime: crun, tenants: [owner], {pool}}}\n"
                f"  cpp: {{runtime: crun, {pool}}}\n")
    made = house.House(server=", auth: tokens", profiles=profiles, more=SECRETS + "\n" + LANGUAGES, log="trace")
    made.environment["CANARY"] = CANARY
    with made as started:
        started.admin = next(line for line in started.printed if line.startswith("cloche_"))
        started.owner = tokens.create(started, "owner")
        started.other = tokens.create(started, "other")
        house.eventually(lambda: started.ask("GET", "/stats", token=started.other).status == 200, "the last token is known")
        started.bash("mine", "true", token=started.other)
        yield started


def told(answer, name):
    """The answer without the name that was asked for, in whatever case, and without its request's id."""
    text = answer.body.decode()
    if answer.headers.get("Content-Type", "").startswith("application/json"):
        body = json.loads(text)
        if isinstance(body.get("error"), dict):
            body["error"].pop("request_id", None)
        text = json.dumps(body)
    return answer.status, text.replace(name, "*")


def held(*answers):
    for answer in answers:
        for value in (VAULT_KEY, OWN_KEY, CANARY, TREASURE):
            assert value.encode() not in answer.body, answer


@pytest.mark.parametrize("place", PLACES)
def test_name_of_anothers_thing__is_answered_as_one_that_does_not_exist(server, place):
    """tries: other tenants' secrets, profiles, languages, aliases, the server's environment, at every place for a name.
    must: the same status, code and words as for a name that does not exist anywhere.
    """
    path, body = PLACES[place](UNKNOWN)
    unknown = server.post(path, body, token=server.other)
    assert 400 <= unknown.status < 500, unknown
    for name in OF_PLACES[place]:
        path, body = PLACES[place](name)
        answer = server.post(path, body, token=server.other)
        held(answer)
        assert told(answer, name) == told(unknown, UNKNOWN), name
        assert server.ask("GET", "/sessions/other/x", token=server.other).status == 404


def test_owner__gets_what_is_its_own(server):
    """The control: the same names by their owner."""
    made = server.post("/sessions", {"session_id": "o", "profile": "vl", "secrets": ["OWN_KEY"]}, token=server.owner)
    assert made.status == 201 and made.json()["profile"] == "vault", made
    seen = server.bash("o", "echo $OWN_KEY $INNER; cat /data/treasure", token=server.owner)["stdout"]
    assert seen == f"{OWN_KEY} {VAULT_KEY}\n{TREASURE}"
    ran = server.post("/execute", {"session_id": "o", "language": "vaultlang", "code": "text"}, token=server.owner).json()
    assert ran["stdout"] == "text", ran
    lent = server.post("/sandboxes/vaultlang", {}, token=server.owner)
    assert lent.status == 200, lent
    lease = lent.json()["sandbox_id"]
    printed = server.post(f"/sandboxes/{lease}/run", {"command": "printenv INNER"}, token=server.owner).json()
    assert printed["stdout"].strip() == VAULT_KEY
    server.ask("DELETE", f"/sandboxes/{lease}", token=server.owner)
    server.ask("DELETE", "/sessions/owner/o", token=server.owner)


def test_admin__opens_nothing_by_its_role(server):
    """tries: an admin, for its own tenant and for another that is not listed. must: 404; for the owner's tenant it works."""
    for more in ({}, {"tenant_id": "other"}):
        for what in ({"profile": "vault"}, {"secrets": ["OWN_KEY"]}, {"secrets": ["INNER"]}, {"secrets": ["PATH"]}):
            answer = server.post("/sessions", {"session_id": "a"} | what | more, token=server.admin)
            assert answer.status == 404, (what, more, answer)
            held(answer)
    made = server.post("/sessions", {"session_id": "a", "tenant_id": "owner", "profile": "vault"}, token=server.admin)
    assert made.status == 201, made
    server.ask("DELETE", "/sessions/owner/a", token=server.admin)


def test_user__cannot_ask_as_the_owner(server):
    """tries: the owner's name in the body, in the query, in headers. must: 403, or the caller's own tenant."""
    body = {"session_id": "x", "tenant_id": "owner", "profile": "vault", "secrets": ["OWN_KEY"]}
    assert server.post("/sessions", body, token=server.other).status == 403
    del body["tenant_id"]
    headers = {"X-Tenant": "owner", "X-Tenant-Id": "owner", "Tenant": "owner"}
    assert server.post("/sessions?tenant_id=owner", body, headers=headers, token=server.other).status == 404


@pytest.mark.parametrize("name", ["", "=", "OWN_KEY=", "OWN_KEY=x", "OWN_KEY\0", "\0", "OWN_KEY\n", " OWN_KEY", "OWN_KEY ",
                                  "OWN_KEY\u200b", "../OWN_KEY", "*", "%", "$OWN_KEY", "${OWN_KEY}", "A" * 129, "A" * 500000,
                                  "__proto__", "\u00d6WN_KEY", "OWN_KEY,INNER"])
def test_odd_name_of_a_secret__gives_nothing(server, name):
    """tries: names that are none, or nearly one. must: 400 or 404, in few words, and no session."""
    answer = server.post("/sessions", {"session_id": "odd", "secrets": [name]}, token=server.other)
    assert answer.status in (400, 404) and len(answer.body) < 1000, (name[:40], answer)
    held(answer)
    owners = server.post("/sessions", {"session_id": "odd", "secrets": [name]}, token=server.owner)
    assert owners.status in (400, 404), (name[:40], owners)
    assert server.ask("GET", "/sessions/other/odd", token=server.other).status == 404


@pytest.mark.parametrize("name", ["vault\0", "vault ", "./vault", "VAULT", "A" * 500000, "va\nult", "*", "vault/"])
def test_odd_name_of_a_profile__gives_nothing(server, name):
    """tries: names that are nearly a closed profile's. must: 404 in few words."""
    answer = server.post("/sessions", {"session_id": "odd", "profile": name}, token=server.other)
    assert answer.status in (400, 404) and len(answer.body) < 2000, (name[:40], answer)
    held(answer)


def test_what_belongs_to_the_operator__cannot_be_asked_for(server):
    """tries: mounts, images, runtimes, networks, labels, users, tenants and hosts' variables in bodies.
    must: sessions refuse the key; elsewhere it has no effect.
    """
    wishes = {"mounts": [{"source": "/etc", "target": "/data"}], "image": "/", "runtime": "runc", "network": "host",
              "labels": {"a": "b"}, "uid": 0, "tenants": "all", "volumes": {"/etc": "/data"}, "privileged": True,
              "host_env": ["CANARY"], "env_from": "server", "zygotes": [{"name": "x"}], "devices": ["/dev/kvm"]}
    for key, value in wishes.items():
        answer = server.post("/sessions", {"session_id": "w", key: value}, token=server.other)
        assert answer.status == 400 and key.encode() in answer.body, (key, answer)
        answer = server.post("/bash", {"session_id": "mine", "command": "true", key: value}, token=server.other)
        assert answer.status == 400, (key, answer)
    for env in ({"X": "$CANARY"}, {"X": "${CANARY}"}, {"X": "{env: CANARY}"}, {"X": "%CANARY%"}):
        seen = server.post("/bash", {"session_id": "mine", "command": "printenv X", "env": env}, token=server.other)
        held(seen)
        assert seen.json()["stdout"].strip() == env["X"]
    lists = server.post("/bash", {"session_id": "mine", "command": "env; ls /data", "env": {}}, token=server.other)
    held(lists)
    assert b"IN_THE_LANGUAGE" not in lists.body


def test_limits__are_not_raised_beyond_what_the_operator_allows(server):
    """tries: a sandbox of a terabyte, all cores, all pids. must: 400 that names the limit; a moderate rise works."""
    for limits in ({"memory": "1t"}, {"memory": "3g"}, {"cpus": 64}, {"pids": 30000}, {"file_size": "1t"},
                   {"open_files": 1000000}):
        answer = server.post("/sessions", {"session_id": "big", "limits": limits}, token=server.other)
        assert answer.status == 400 and next(iter(limits)).encode() in answer.body, answer
    made = server.post("/sessions", {"session_id": "big", "limits": {"memory": "300m", "pids": 1000}}, token=server.other)
    assert made.status == 201, made
    server.ask("DELETE", "/sessions/other/big", token=server.other)


def test_lists_and_figures__do_not_name_what_is_closed(server):
    """tries: every route that lists something, and the lists in errors. must: no name of what is not the tenant's."""
    asked = [server.ask("GET", path, token=server.other) for path in ("/stats", "/sessions", "/access", "/metrics", "/readyz")]
    asked += [server.post(*PLACES[place](UNKNOWN), token=server.other) for place in PLACES]
    asked += [server.ask("GET", "/readyz", token="")]
    for answer in asked:
        for name in ("vault", "closed", "vaultlang", "INNER", "OWN_KEY", "CLOSED"):
            assert name.encode() not in answer.body, (name, answer)
    assert set(server.ask("GET", "/stats", token=server.other).json()) == {"base", "session", "cpp"}
    assert "vault" in server.ask("GET", "/stats", token=server.owner).json()


def test_closed_profile_with_a_languages_name__leads_where_its_absence_would(server):
    """tries: `c`, whose own profile is the owner's, and which runs in `cpp` where it has none. must: `cpp`."""
    for name in ("c", "gcc"):
        made = server.post("/sessions", {"session_id": "c", "profile": name}, token=server.other)
        assert made.status == 201 and made.json()["profile"] == "cpp", made
        server.ask("DELETE", "/sessions/other/c", token=server.other)
    lent = server.post("/sandboxes/c", {}, token=server.other)
    assert lent.status == 200, lent
    server.ask("DELETE", "/sandboxes/" + lent.json()["sandbox_id"], token=server.other)
    own = server.post("/sessions", {"session_id": "c", "profile": "gcc"}, token=server.owner)
    assert own.json()["profile"] == "c"
    server.ask("DELETE", "/sessions/owner/c", token=server.owner)


@pytest.mark.parametrize("place, name", [("profile", "vault"), ("secret", "OWN_KEY"), ("secret", "PATH"), ("lease", "vl")])
def test_time__does_not_tell_what_exists(server, place, name):
    """tries: which of two names takes longer, asked in turns. must: no sandbox is waited for, and the medians are alike."""
    times = {name: [], UNKNOWN: []}
    for _ in range(40):
        for each, taken in times.items():
            path, body = PLACES[place](each)
            begun = time.monotonic()
            server.post(path, body, token=server.other)
            taken.append(time.monotonic() - begun)
    known, unknown = (statistics.median(taken) for taken in times.values())
    assert known < 4 * unknown and unknown < 4 * known, (known, unknown)


def test_access__is_for_admins_and_has_no_value(server):
    """tries: who may use what, as a user and as an admin. must: 403; for the admin names and tenants, no value."""
    assert server.ask("GET", "/v1/sandbox/access", token=server.owner).status == 403
    shown = server.ask("GET", "/v1/sandbox/access", token=server.admin)
    held(shown)
    lists = {each["name"]: each for each in shown.json()["secrets"]}
    assert lists["OWN_KEY"]["tenants"] == ["owner"] and not lists["OWN_KEY"]["all_tenants"]
    assert lists["INNER"]["tenants"] == [] and lists["OPEN_KEY"]["all_tenants"]
    assert "CANARY" not in lists and "PATH" not in lists


def test_log__names_no_value(server):
    """tries: the log at its finest level, after all of the above. must: no value is in it."""
    log = server.log_text()
    assert len(log) > 1000
    for value in (VAULT_KEY, OWN_KEY, CANARY):
        assert value not in log


@pytest.mark.parametrize("before, after", [("KEY: {value: v4lue, tenants: [default]}", "KEY: {value: v4lue, tenants: [other]}"),
                                           ("KEY: {value: v4lue, tenants: [default]}", "UNRELATED: x"),
                                           ("tenants: [default], hostname: box", "tenants: [other], hostname: box")],
                         ids=["secret", "secret gone", "profile"])
def test_tenant_taken_off_a_list__loses_what_it_held(before, after):
    """tries: to keep a session, with a program that has the secret, over kill -9 and a change of the lists.
    must: the session is lost, its sandbox is gone, nothing runs in it.
    """
    house.need_crun(__name__)
    profiles = "  box: {runtime: crun, tenants: [default], hostname: box, pool: {pool_size: 0, scale_limit: 4}}\n"
    with house.House(profiles=profiles, more="secrets: {KEY: {value: v4lue, tenants: [default]}}") as server:
        made = server.post("/sessions", {"session_id": "s", "profile": "box", "secrets": ["KEY"]})
        assert made.status == 201, made
        assert server.bash("s", "echo $KEY")["stdout"] == "v4lue\n"
        assert server.post("/bash", {"session_id": "s", "command": "sleep 1000", "background": True}).status == 202
        config = server.scratch / "cloche.yml"
        text = config.read_text()
        assert before in text
        config.write_text(text.replace(before, after))
        server.kill_and_start_again()
        found = server.ask("GET", "/sessions/default/s")
        assert found.json()["state"] == "lost" and b"v4lue" not in found.body, found
        assert server.post("/bash", {"session_id": "s", "command": "env"}).status == 410
        assert server.ask("GET", "/stats").json()["box"]["active"] == 0


@pytest.mark.parametrize("keys", ["secrets: [A]", "mounts: [{source: /srv, target: /data}]"])
def test_guarded_profile_without_tenants__keeps_the_service_from_starting(tmp_path, keys):
    """tries: a configuration from before there were owners. must: no start, and words that say what to write."""
    house.need_crun(__name__)
    config = tmp_path / "cloche.yml"
    config.write_text(f"secrets: {{A: {{env: PATH}}}}\nstate_dir: {tmp_path}/state\nrun_dir: {tmp_path}/run\n"
                      f"profiles: {{box: {{{keys}}}}}\n")
    config.chmod(0o600)
    ended = subprocess.run([house.PROGRAM, "serve", "--config", config, "--listen", f"unix:{tmp_path}/s", "--instance",
                            house.name()], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert "profile 'box' has " in ended.stderr and "tenants: [NAME" in ended.stderr, ended.stderr
    assert not pathlib.Path(tmp_path, "s").exists()


def test_weakened_everything_for_all__the_same_thief_gets_it(tmp_path):
    """The same questions where the operator opened everything: what the cases above would see without lists."""
    house.need_crun(__name__)
    (tmp_path / "treasure").write_text(TREASURE)
    profiles = (f"  vault: {{runtime: crun, secrets: [INNER], tenants: all, pool: {{pool_size: 0, scale_limit: 4}},"
                f" mounts: [{{source: {tmp_path}, target: /data}}]}}\n")
    more = f"secrets: {{INNER: {VAULT_KEY}, OWN_KEY: {{value: {OWN_KEY}, tenants: all}}}}"
    with house.House(server=", auth: none", profiles=profiles, more=more) as open_house:
        body = {"session_id": "x", "profile": "vault", "secrets": ["OWN_KEY"]}
        assert open_house.post("/sessions", body).status == 201
        seen = open_house.bash("x", "echo $OWN_KEY $INNER; cat /data/treasure")["stdout"]
        assert seen == f"{OWN_KEY} {VAULT_KEY}\n{TREASURE}"

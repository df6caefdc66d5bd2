"""Snapshots of sandboxes whose agents lie, and of trees that want to be more than files."""
import concurrent.futures

import house
import liar
import pytest

TARS = [f"bad-tar-{i}" for i in range(len(liar.BadTar.TARS))]
# These are archives by all rules; what they want is found out by the sandbox that unpacks them.
SEEN_LATE = TARS[-2:]


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    quotas = ", quotas: {snapshots: 4, snapshot_bytes: 8m}"
    with house.House.with_liars(["lie-" + lie for lie in [*TARS, "endless-tar"]], server=quotas,
                                more="sessions: {most: 40}\nsnapshots: {max_size: 16m}") as started:
        started.is_well()
        yield started


@pytest.fixture(autouse=True)
def nothing_is_left(server):
    """The server's memory stays within bounds, the neighbour works, and nothing of a failed snapshot is stored."""
    with server.memory_within(160):
        yield
        assert server.is_well() < 10
    house.eventually(lambda: server.ask("GET", "/snapshots").json() == {"snapshots": [], "stored": 0}, "nothing is stored")
    assert not [path for path in (server.scratch / "state").rglob("snapshots/*/*/*")]


def take(server, session, name=None):
    return server.post(f"/sessions/default/{session}/snapshots", {"name": name})


def lying(server, lie):
    session = house.name()
    made = server.post("/sessions", {"session_id": session, "profile": "lie-" + lie})
    assert made.status == 201, made
    return session


@pytest.mark.parametrize("lie", [tar for tar in TARS if tar not in SEEN_LATE])
def test_archive_that_is_none__is_refused(server, lie):
    """tries: names that lead out, devices, links, sizes of gigabytes, headers of gigabytes, noise, half an archive.
    must: 502 or 429; nothing is stored.
    """
    session = lying(server, lie)
    answer = take(server, session, "n")
    assert answer.status in (429, 502), answer
    server.ask("DELETE", f"/sessions/default/{session}")


def test_files_without_end__are_counted(server):
    """tries: empty files until the server has no memory or no disk. must: 429 within the number of files or bytes."""
    session = lying(server, "endless-tar")
    answer = take(server, session)
    assert answer.status == 429, answer
    server.ask("DELETE", f"/sessions/default/{session}")


@pytest.mark.parametrize("lie", SEEN_LATE)
def test_link_that_leads_out__nothing_is_written_through_it(server, lie):
    """tries: a link, and a file behind it, so that a restore writes elsewhere. must: no session; no file."""
    session = lying(server, lie)
    assert take(server, session, "trap").status == 201
    made = server.post("/sessions", {"session_id": "victim", "snapshot": "trap"})
    assert made.status == 400 and made.code() == "invalid_argument", made
    assert server.ask("GET", "/sessions/default/victim").status == 404
    assert server.ask("DELETE", "/snapshots/trap").status == 200
    server.ask("DELETE", f"/sessions/default/{session}")


def test_tree_of_links_and_odd_names__is_restored_as_it_was(server):
    """tries: links to the host's files, loops, names with newlines and no UTF-8, a deep tree, modes without rights.
    must: the same tree in the new session; nothing is followed.
    """
    server.bash("odd", "ln -s /etc/shadow a; ln -s loop loop; ln -s .. up; mkdir -p 'x y'; touch 'new\nline' $'\\xff'; "
                       "d=.; for i in $(seq 150); do d=$d/dddddddd; done; mkdir -p $d; echo deep > $d/f; "
                       "mkdir closed; echo x > closed/f; chmod 500 closed", )
    describe = "find . -mindepth 1 -printf '%P %y %m %l\\n' | sort | sha256sum"
    before = server.bash("odd", describe)["stdout"]
    assert take(server, "odd", "odd").status == 201
    made = server.post("/sessions", {"session_id": "again", "snapshot": "odd"})
    assert made.status == 201, made
    assert server.bash("again", describe)["stdout"] == before
    for session in ("odd", "again"):
        server.ask("DELETE", f"/sessions/default/{session}")
    assert server.ask("DELETE", "/snapshots/odd").status == 200


def test_sparse_file__counts_as_if_it_were_written(server):
    """tries: a file that takes no room. must: 429, at once."""
    server.bash("sparse", "truncate -s 60M huge && stat -c %b huge")
    answer = take(server, "sparse")
    assert answer.status == 429 and "max_size" in answer.json()["error"]["message"], answer
    server.ask("DELETE", "/sessions/default/sparse")


def test_many_at_once__are_counted(server):
    """tries: more snapshots, and more at a time, than the tenant may have. must: at most four; 429 for the rest."""
    server.bash("many", "head -c 1000000 /dev/urandom > f")
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda number: take(server, "many", f"n{number}"), range(20)))
    assert {answer.status for answer in answers} <= {201, 429}, answers
    listed = server.ask("GET", "/snapshots").json()["snapshots"]
    assert 1 <= len(listed) <= 4 and len(listed) == sum(answer.status == 201 for answer in answers)
    for each in listed:
        assert server.ask("DELETE", f"/snapshots/{each['id']}").status == 200
    server.ask("DELETE", "/sessions/default/many")


@pytest.mark.parametrize("name", ["..", "a/b", "../x", "a b", "a\n", "\u00e4", "a" * 65, "a" * 100_000, "s" + "0" * 19, "*"],
                         ids=lambda name: ascii(name[:12]) + str(len(name)))
def test_odd_name__is_no_snapshot(server, name):
    """tries: a name that is a path, an id, or too long. must: 400, and 404 where it is only looked for."""
    server.bash("named", "true")
    assert take(server, "named", name).status == 400
    made = server.post("/sessions", {"session_id": "of-name", "snapshot": name})
    assert made.status == 404, made
    quoted = "".join(f"%{byte:02x}" for byte in name.encode())
    if len(name) < 1000:
        assert server.ask("DELETE", f"/snapshots/{quoted}").status in (400, 404)

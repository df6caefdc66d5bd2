"""Volumes in bad times: full, damaged, wanted by many at once, and under a server that is killed."""
import os
import threading
import time

import house
import pytest
import storage
import tokens

MOST = 6  # volumes of a tenant


@pytest.fixture(scope="module")
def server():
    storage.need(__name__)
    quotas = f", quotas: {{volumes: {MOST}, volume_bytes: {MOST * 16}m}}"
    with house.House(server=quotas, more="sessions: {most: 40}", log="warn") as started:
        yield started


@pytest.fixture(autouse=True)
def nothing_is_left(server):
    yield
    server.is_well()
    for name in storage.names(server):
        house.eventually(lambda name=name: storage.delete(server, name).status in (200, 404), "the volume is free")
    house.eventually(lambda: only_disks_of(server), "no loop device is left")


def only_disks_of(server):
    """Those of sandboxes, which have no names."""
    return all(file.endswith("(deleted)") and "/volumes/" not in file for file in storage.loop_devices(server))


def usable(server, name):
    """A session writes to it and the next one reads that."""
    with storage.session(server, name) as writer:
        wrote = server.bash(writer, f"rm -f /volumes/{name}/probe; echo works > /volumes/{name}/probe && sync")
        assert wrote["exit_code"] == 0, wrote
    with storage.session(server, {"name": name, "access": "read_only"}) as reader:
        return server.bash(reader, f"cat /volumes/{name}/probe")["stdout"] == "works\n"


def test_volume_without_inodes__is_full_and_nothing_else(server):
    """tries: as many empty files, links and directories as it takes. must: ENOSPC for the program; the work directory,
    other volumes and the server are not affected; after a deletion there is room again.
    """
    assert storage.create(server, "small").status == 201 and storage.create(server, "second").status == 201
    with storage.session(server, "small", "second") as session:
        told = server.python(session, """
import errno, os
os.chdir("/volumes/small")
made, error = 0, None
os.mkdir("many")
while error is None and made < 200000:
    try: os.close(os.open(f"many/{made}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError as why: error = why.errno
    else: made += 1
kinds = []
for work in (lambda: os.mkdir("d"), lambda: os.symlink("x" * 100, "l"), lambda: os.mkfifo("p"), lambda: os.mkdir("many/d")):
    try: work()
    except OSError as why: kinds.append(why.errno == errno.ENOSPC)
open("/volumes/second/file", "w").write("fine")
open("/workspace/file", "w").write("fine")
print(error == errno.ENOSPC, made > 100, kinds)
for name in os.listdir("many"): os.unlink("many/" + name)
open("again", "w").write("room")
print(open("again").read())
""")
        assert told["stdout"] == "True True [True, True, True, True]\nroom\n", told
    assert usable(server, "small")


def zero_superblock(path):
    with open(path, "r+b") as image:
        image.write(bytes(64 << 10))


def zero_root(path):
    """The inode table: the root directory is in it, and its checksum is wrong afterwards."""
    with open(path, "r+b") as image:
        image.seek(4096)
        image.write(b"\xff" * (256 << 10))


def forge_journal(path):
    """Says that the journal must be applied, while it has nothing that could be."""
    with open(path, "r+b") as image:
        image.seek(1024 + 0x60)
        features = image.read(1)[0]
        image.seek(1024 + 0x60)
        image.write(bytes([features | 4]))


def cut(path):
    os.truncate(path, 4 << 20)


def empty(path):
    os.truncate(path, 0)


def text(path):
    path.write_text("this is no file system\n" * 1000, encoding="utf-8")


def link(path):
    path.unlink()
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize("damage", [zero_superblock, zero_root, forge_journal, cut, empty, text, link])
@pytest.mark.parametrize("access", ["read_write", "read_only"])
def test_damaged_image__costs_its_own_sessions_alone(server, damage, access):
    """tries: an image that the host's disk or a bad copy has damaged. must: an error of the server that says nothing
    about the host, or a file system that reports errors; the volume is not in use afterwards, and can be deleted.
    """
    assert storage.create(server, "bad").status == 201 and storage.create(server, "good").status == 201
    usable(server, "bad")
    house.eventually(lambda: storage.attached(server, "bad") == [], "it is detached")
    damage(storage.image(server, "bad"))
    for _ in range(2):
        begun = storage.begin(server, ["good", {"name": "bad", "access": access}], session="victim")
        if begun.status == 201:
            server.bash("victim", "ls -lR /volumes/bad; cat /volumes/bad/*; touch /volumes/bad/x; sync")
            storage.end(server, "victim")
        else:
            assert begun.status == 500, begun
            assert str(server.scratch) not in begun.body.decode() and "/dev/loop" not in begun.body.decode(), begun
    assert usable(server, "good")
    shown = server.ask("GET", "/volumes/default/bad")
    assert shown.status == 200 and shown.json()["readers"] == shown.json()["writers"] == 0, shown
    house.eventually(lambda: storage.attached(server, "bad") == [], "it is detached")
    if damage is link:
        # Not followed, and not removed: the host's operator has put it there.
        assert storage.delete(server, "bad").status == 500 and os.path.exists("/etc/passwd")
        os.unlink(storage.image(server, "bad"))
    else:
        assert storage.delete(server, "bad").status == 200


def test_deletion_while_it_is_used__changes_nothing(server):
    """tries: to delete a volume a hundred times while sessions with it begin, write and end. must: 429 while one has it,
    and never a session that loses its file system; deleted once, it is gone for all.
    """
    assert storage.create(server, "data").status == 201
    over, deleted = threading.Event(), []

    def remove():
        while not over.is_set():
            answer = storage.delete(server, "data")
            deleted.append(answer.status)
            if answer.status == 200:
                return
    with storage.session(server, "data") as session:
        remover = threading.Thread(target=remove)
        remover.start()
        for number in range(10):
            told = server.bash(session, f"echo {number} > /volumes/data/{number} && sync && cat /volumes/data/{number}")
            assert told["stdout"] == f"{number}\n", told
        assert set(deleted) <= {429}, deleted
    remover.join(60)
    over.set()
    assert not remover.is_alive() and deleted[-1] == 200, deleted[-3:]
    assert storage.begin(server, ["data"]).status == 404 and storage.names(server) == []


def test_quota_that_many_want_at_once__is_kept(server):
    """tries: forty volumes at once, of new names and of one name, while a neighbour uses its own. must: as many as the
    quota allows and no more; one of each name; the neighbour's session begins soon; room is free after deletions.
    """
    assert storage.create(server, "mine").status == 201
    slow = []

    def neighbour():
        begun = time.monotonic()
        with storage.session(server, "mine"):
            slow.append(time.monotonic() - begun)
    looking = threading.Thread(target=neighbour)
    looking.start()
    wanted = [f"v{number}" for number in range(20)] + ["same"] * 20
    results = house.together(lambda name: storage.create(server, name).status, wanted)
    looking.join()
    assert set(results) <= {201, 409, 429}, results
    assert results.count(201) == MOST - 1 and results[20:].count(201) <= 1, results
    assert len(storage.names(server)) == MOST and slow and slow[0] < 20
    again = house.together(lambda name: storage.delete(server, name).status, storage.names(server) * 3)
    assert set(again) <= {200, 404, 429}, again
    house.eventually(lambda: [storage.delete(server, name) for name in storage.names(server)] == [], "all are deleted")
    # Sizes count as well.
    large = house.together(lambda name: storage.create(server, name, "40m").status, [f"w{number}" for number in range(10)])
    assert large.count(201) == MOST * 16 // 40 and set(large) <= {201, 429}, large


def test_tenants_that_create_at_once__do_not_pay_for_each_other():
    """tries: one tenant asks for volumes without end. must: another tenant's creation and session are served."""
    storage.need(__name__)
    with house.House(server=", auth: tokens, quotas: {volumes: 3}", log="warn") as server:
        for tenant in ("greedy", "modest"):
            setattr(server, tenant, tokens.create(server, tenant))
        house.eventually(lambda: server.ask("GET", "/volumes", token=server.modest).status == 200, "the token is known")
        over, statuses = threading.Event(), []

        def ask_for_more():
            number = 0
            while not over.is_set():
                number += 1
                statuses.append(storage.create(server, f"v{number}", token=server.greedy).status)
                statuses.append(storage.delete(server, f"v{number}", "greedy", token=server.greedy).status)
        crowd = [threading.Thread(target=ask_for_more) for _ in range(8)]
        for each in crowd:
            each.start()
        try:
            begun = time.monotonic()
            assert storage.create(server, "mine", token=server.modest).status == 201
            with storage.session(server, "mine", token=server.modest) as session:
                assert server.bash(session, "echo x > /volumes/mine/x", token=server.modest)["exit_code"] == 0
            assert time.monotonic() - begun < 30
        finally:
            over.set()
            for each in crowd:
                each.join()
        assert set(statuses) <= {200, 201, 404, 409, 429}, set(statuses)
        assert len(storage.names(server, token=server.greedy)) <= 3


@pytest.mark.parametrize("what", ["create", "attach", "delete", "all"])
def test_killed_server__leaves_whole_volumes_or_none(server, what):
    """tries: SIGKILL at random moments while volumes are created, attached and deleted. must: the next server lists what
    is there, and each of them works; sessions that live keep theirs; no device and no file is left over.
    """
    assert storage.create(server, "kept").status == 201
    with storage.session(server, "kept") as session:
        server.bash(session, "echo kept > /volumes/kept/file && sync")
    for turn in range(6):
        over = threading.Event()

        def work(number, over=over, turn=turn):
            name = f"k{number}"
            while not over.is_set():
                try:
                    if what in ("create", "delete", "all"):
                        storage.create(server, name)
                    if what in ("attach", "all"):
                        begun = storage.begin(server, ["kept" if number == 0 else name], session=f"t{turn}n{number}")
                        if begun.status == 201:
                            server.ask("DELETE", f"/sessions/default/t{turn}n{number}")
                    if what != "create":
                        storage.delete(server, name)
                except (OSError, AssertionError, EOFError):
                    return
                except Exception as error:  # an answer that was cut off
                    if over.is_set() or server.process.poll() is not None:
                        return
                    raise error
        if what == "attach":
            storage.create(server, "k1")
        crowd = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for each in crowd:
            each.start()
        # The moment is the attack: a different one each time.
        over.wait(0.05 + 0.07 * turn)
        server.process.kill()
        over.set()
        for each in crowd:
            each.join()
        server.kill_and_start_again()
        for listed in server.ask("GET", "/sessions").json()["sessions"]:
            server.ask("DELETE", f"/sessions/default/{listed['session_id']}")
        house.eventually(in_use_by_none(server), "no session has a volume any more")
        names = storage.names(server)
        files = sorted(path.name for path in storage.directory(server).iterdir())
        assert files == sorted(f"{name}.img" for name in names), (files, names)
        assert "kept" in names and all(usable(server, name) for name in names)
    with storage.session(server, {"name": "kept", "access": "read_only"}) as session:
        assert server.bash(session, "cat /volumes/kept/file")["stdout"] == "kept\n"


def in_use_by_none(server):
    def look():
        volumes = server.ask("GET", "/volumes").json()["volumes"]
        return all(each["readers"] == each["writers"] == 0 for each in volumes) and not any(
            storage.attached(server, each["name"]) for each in volumes)
    return look


def test_session_that_survives_a_kill__keeps_its_volume(server):
    """tries: SIGKILL while a session writes; the next server is asked for the same volume. must: the session goes on
    writing, no other gets the volume, and it cannot be deleted.
    """
    assert storage.create(server, "data").status == 201
    begun = storage.begin(server, ["data"], session="living")
    assert begun.status == 201, begun
    server.bash("living", "echo before > /volumes/data/file")
    server.kill_and_start_again()
    told = server.bash("living", "cat /volumes/data/file; echo after >> /volumes/data/file")
    assert told["stdout"] == "before\n", told
    for access in ("read_write", "read_only"):
        assert storage.begin(server, [{"name": "data", "access": access}]).status == 429
    assert storage.delete(server, "data").status == 429
    storage.end(server, "living")
    with storage.session(server, {"name": "data", "access": "read_only"}) as reader:
        assert server.bash(reader, "cat /volumes/data/file")["stdout"] == "before\nafter\n"

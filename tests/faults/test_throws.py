"""A step of the server that throws, at every point there is: every call is answered, no place of a pool is lost, nothing
is left, and the server goes on."""
import json
import time

import pytest
from harness.everything import fault_points, go_through_everything, leave_something
from harness.target import CRUN, RUNSC
from waiting import eventually

# Not on the way of a server with this backend and these profiles.
ELSEWHERE = {"backend.make.created",  # Docker's
             "channel.dial", "channel.read", "channel.write"}  # on E2B: src/sandbox/resumable_channel_test.cpp
# Not reached by a server that nothing else happens to; see the tests below.
NEED_MORE = {"disk.made", "pool.look", "pool.make.interpreters", "pool.recover.reset", "service.end"}


def throws_at(point):
    # A server proves at its start that it can make a sandbox, and does not start otherwise. That is the first pass.
    first = 2 if point.startswith("backend.") and not point.startswith("backend.volumes.") else 1
    return f"{point}:{first}=throw,{point}:{first + 1}=bad_alloc"


def hang_at_removals(count):
    """The first so many after the one that proves that a sandbox can be removed."""
    return ",".join(f"backend.remove.kill:{number}=hang" for number in range(2, 2 + count))


def check_answered(name, answer):
    """Whatever it was, it came, in time and in words that a client can read."""
    if isinstance(answer, int):
        assert answer > 0, f"{name}: {answer}"
        return
    assert answer.status > 0, f"{name}: no answer: {answer.text}"
    assert answer.took < 30, f"{name}: took {answer.took:.1f} s"
    if answer.status >= 400 and name.startswith("E2B"):
        assert answer.text, f"{name}: {answer.status} without a reason"
    elif answer.status >= 400 and name != "proxy":
        assert answer.code or "detail" in answer.body, f"{name}: {answer.status}: {answer.text}"
    if name == "events" and answer.status == 200:
        last = answer.text.strip().rpartition("\n\n")[2]
        assert "event: end" in last or "event: error" in last or "event: result" in last, last


def expect_all_places(server):
    """Every pool has its warm sandboxes, and nothing is on its way any more."""
    def settled():
        for profile, size in (("session", 2), ("python", 1)):
            stats = server.stats(profile)
            if not stats or stats["idle"] < size or stats["total"] != stats["idle"] + stats["active"]:
                return False
        return True
    eventually(settled, "the pools have what they had")
    eventually(lambda: server.metric("cloche_sandboxes_unremoved") == 0, "what could not be removed is gone")


def expect_it_goes_on(server):
    server.execute("before", "pass")  # may meet the second fault
    assert server.write("after", "file", "x").status == 200
    ran = server.execute("after", "print(40 + 2)")
    assert (ran.status, ran["stdout"]) == (200, "42\n"), ran.text
    lent = server.call("POST", "/sandboxes/python")
    assert lent.status == 200, lent.text
    assert server.call("DELETE", f"/sandboxes/{lent['sandbox_id']}").status == 200


@pytest.mark.parametrize("point", [p for p in fault_points() if p not in ELSEWHERE | NEED_MORE])
def test_step_that_throws__ends_what_it_was_part_of_and_nothing_else(point, serve):
    server = serve(CRUN)
    leave_something(server)
    server.start(fault=throws_at(point))
    assert server.is_running(), f"it did not start:\n{server.log()}"
    for name, answer in go_through_everything(server).items():
        if point == "http.accept" and not isinstance(answer, int) and answer.status == 0:
            continue  # who was not let in cannot be answered
        check_answered(name, answer)
    eventually(lambda: f"fault at {point}" in server.log(10**6) or "bad_alloc" in server.log(10**6),
               f"it comes by {point}", 15)
    expect_all_places(server)
    expect_it_goes_on(server)
    assert server.terminate() == 0
    eventually(lambda: not server.traces(), "nothing is left")


def test_end_that_throws__ends_the_process_and_is_made_up_for_by_the_next(serve):
    server = serve(CRUN)
    server.start(fault=throws_at("service.end")).wait_until_ready()
    assert server.write("kept", "file", "x").status == 200
    assert server.terminate() != 0
    server.start()
    assert server.read("kept", "file")["content"] == "x"
    assert server.terminate() == 0


def test_disks_that_throw__cost_one_sandbox_each(serve):
    server = serve(CRUN, {"profiles": {"session": {"workspace": "disk", "disk_size": "64m"}}})
    server.start(fault="disk.made:3=throw,disk.made:4=bad_alloc")
    eventually(lambda: "fault at disk.made" in server.log(10**6), "a disk is made")
    expect_all_places(server)
    expect_it_goes_on(server)


def test_looks_at_idle_sandboxes_that_throw__cost_one_sandbox_each(serve):
    server = serve(CRUN, {"profiles": {"session": {"pool": {"health_interval": "1s"}}}})
    server.start(fault=throws_at("pool.look"))
    eventually(lambda: "fault at pool.look" in server.log(10**6), "it is looked at")
    expect_all_places(server)
    expect_it_goes_on(server)


def test_sandboxes_that_resist__hold_up_nothing_and_are_seen(serve):
    """Two removals hang, for as long as they may. Sessions are made and get limits of their own meanwhile."""
    server = serve(CRUN)
    server.start(fault=hang_at_removals(4)).wait_until_ready()
    for _ in range(2):
        lent = server.call("POST", "/sandboxes/python")
        assert server.call("DELETE", f"/sandboxes/{lent['sandbox_id']}/destroy").status == 200
    began = time.monotonic()
    for number in range(4):
        made = server.call("POST", "/sessions", {"session_id": f"s{number}", "limits": {"memory": "192m"}}, timeout=60)
        assert made.status in (200, 201), made.text
        assert server.execute(f"s{number}", "print(1)").status == 200
    assert time.monotonic() - began < 20, "the work waited for removals that hang"
    eventually(lambda: server.metric("cloche_sandboxes_unremoved") == 2, "both are seen in the metrics")
    ready = server.call("GET", "/readyz")
    assert ready.status == 200 and ready["unremoved"]["sandboxes"] == 2, ready.text
    eventually(lambda: server.metric("cloche_sandboxes_unremoved") == 0, "both are gone in the end", 90)
    assert "unremoved" not in json.loads(server.call("GET", "/readyz").text)


def test_leftover_that_resists__does_not_keep_a_server_from_starting(serve):
    server = serve(CRUN)
    leave_something(server)
    began = time.monotonic()
    server.start(fault=hang_at_removals(2))
    assert server.is_running(), server.log()
    assert time.monotonic() - began < 40
    assert server.read("kept", "a/file")["content"] == "all of it"
    eventually(lambda: server.metric("cloche_sandboxes_unremoved") == 0, "it is removed later")


@pytest.mark.parametrize("point", ["volume.mounted", "backend.volumes.journalled", "backend.volumes.mapped",
                                   "backend.volumes.attached", "pool.claim.served"])
def test_sandbox_with_volumes_that_fails_on_gvisor__costs_its_own_claim_alone(point, serve):
    """There it is made for its claim; see docs/decisions/0048-volumes-on-gvisor.md."""
    server = serve(RUNSC)
    server.start()
    assert server.call("POST", "/volumes", {"name": "data", "size": "16m"}).status == 201
    assert server.terminate() == 0
    # The third time in a row, a pool would back off if these counted.
    server.start(fault=",".join(f"{point}:{number}=throw" for number in (1, 2, 3)))
    wanted = {"session_id": "with-volume", "volumes": [{"name": "data"}]}
    for _ in range(3):
        failed = server.call("POST", "/sessions", wanted)
        assert failed.status >= 500, failed.text
        assert "backend." not in failed.text, failed.text
    made = server.call("POST", "/sessions", wanted)
    assert made.status == 201, made.text
    assert server.bash("with-volume", "echo kept > /volumes/data/file; cat /volumes/data/file")["stdout"] == "kept\n"
    assert server.write("other", "file", "x").status == 200
    assert server.end_session("with-volume").status == 200
    eventually(lambda: server.call("DELETE", "/volumes/default/data").status == 200, "the volume is free")
    assert server.terminate() == 0
    eventually(lambda: not server.traces(), "nothing is left")

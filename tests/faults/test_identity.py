"""Several servers on one host: whatever their names and directories, none touches what another one owns."""
import json
import os
import pathlib
import shutil
import sqlite3
import stat
import subprocess
import threading
import time

import pytest
from harness import host
from harness.served import program
from harness.target import CRUN, DOCKER
from waiting import eventually

BOTH = pytest.mark.parametrize("target", [CRUN, DOCKER], ids=lambda target: target.name)


def keeps_its_session(server):
    read = server.read("s", "file")
    return read.status == 200 and read["content"] == "of " + server.socket


def with_session(server):
    server.start().wait_until_ready()
    assert server.write("s", "file", "of " + server.socket).status == 200
    return server


def own_host(scratch):
    """Starts a program that has the registry of owners and the uid ranges to itself, as on a host of its own."""
    (scratch / "host").mkdir(mode=0o711, exist_ok=True)
    if not os.path.isdir("/run/cloche"):
        os.mkdir("/run/cloche", 0o711)
    return ["unshare", "-m", "sh", "-c", f'mount --bind "{scratch}/host" /run/cloche && exec "$@"', "sh"]


def doctor(server, *flags):
    command = [*server.launcher, program(), "doctor", "--json", "--backend", server.target.backend, "--state-dir",
               str(server.scratch / "doctor"), "--run-dir", server.run_dir, *flags]
    environment = {**os.environ, "DOCKER_HOST": server.docker_host or "unix:///nowhere"}
    # Servers are started with the flag, and it is part of what they register.
    command += ["--docker-host", server.docker_host] if server.target.is_docker else []
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    return {found["owner"]: found for found in json.loads(ran.stdout) if found["backend"] == server.target.backend}


@BOTH
@pytest.mark.parametrize("shared", ["name", "name and run directory"])
def test_two_servers_of_one_name__neither_touches_the_others_sandboxes(target, shared, serve):
    first = with_session(serve(target, instance="default-of-test"))
    second = serve(target, instance="default-of-test")
    if shared != "name":
        second.run_dir = first.run_dir
    with_session(second)
    assert first.owner != second.owner
    assert keeps_its_session(first)
    second.kill()
    assert keeps_its_session(first)
    second.start().wait_until_ready()
    assert keeps_its_session(first) and keeps_its_session(second)
    first.kill()
    first.start().wait_until_ready()
    assert keeps_its_session(first) and keeps_its_session(second)
    assert second.terminate() == 0
    assert keeps_its_session(first)
    assert first.lost("session") == 0


def test_second_holder_of_a_state_directory__is_refused_whatever_its_run_directory(serve):
    first = with_session(serve(CRUN))
    second = serve(CRUN, instance=first.instance, state_dir=first.state_dir)
    second.start()
    assert second.wait() == 70
    assert f"is in use by process {first.pid}" in second.log() and "choose another" in second.log()
    assert keeps_its_session(first)
    second.process = None


@BOTH
def test_copied_state_directory__is_refused_while_the_original_is_there(target, serve):
    first = with_session(serve(target))
    shutil.copytree(first.state_dir, first.scratch / "copy", symlinks=True)
    second = serve(target, instance=first.instance, state_dir=first.scratch / "copy")
    second.start()
    assert second.wait() == 70
    assert "is a copy of" in second.log() and "Remove " in second.log()
    assert keeps_its_session(first)
    first.kill()
    second.start()
    assert second.wait() == 70, "its server may be started again"
    first.start().wait_until_ready()
    assert keeps_its_session(first)
    shutil.rmtree(second.instance_dir)
    with_session(second)
    assert second.owner != first.owner
    assert keeps_its_session(first)


@BOTH
def test_moved_state_directory__its_sessions_go_on(target, serve):
    server = with_session(serve(target))
    server.kill()
    server.state_dir.rename(server.scratch / "moved")
    server.state_dir = server.scratch / "moved"
    server.start().wait_until_ready()
    assert keeps_its_session(server)


@BOTH
def test_doctor__removes_what_no_server_will_come_for_and_nothing_else(target, serve, scratch):
    launcher = own_host(scratch)
    living = with_session(serve(target, launcher=launcher))
    stopped = with_session(serve(target, launcher=launcher))
    dead = with_session(serve(target, launcher=launcher))
    assert dead.owner
    stopped.kill()
    dead.kill()
    shutil.rmtree(dead.state_dir)
    found = doctor(living, "--abandoned")
    assert living.owner not in found
    assert found[stopped.owner]["state"] == "stopped" and found[stopped.owner]["things"]
    assert found[dead.owner]["state"] == "abandoned"
    kinds = {thing["kind"] for thing in found[dead.owner]["things"]}
    assert kinds == ({"container", "registration"} if target.is_docker else
                     {"cgroup", "uid range", "directory", "registration"})
    before = dead.traces()
    assert before and dead.traces() == before, "it was only looked at"
    done = doctor(living, "--remove-abandoned")
    assert done[dead.owner]["removed"] is True
    assert "removed" not in done[stopped.owner]
    assert all("removed" not in each or each["state"] == "abandoned" for each in done.values())
    eventually(lambda: not dead.traces(), "nothing is left of it")
    assert dead.owner not in doctor(living, "--abandoned")
    assert keeps_its_session(living)
    stopped.start().wait_until_ready()
    assert keeps_its_session(stopped)
    dead.process = None


@BOTH
def test_doctor__removes_a_stopped_or_unknown_owners_things_when_named(target, serve, scratch):
    stopped = with_session(serve(target, launcher=own_host(scratch)))
    stopped.kill()
    elsewhere = with_session(serve(target))
    known = doctor(stopped, "--abandoned")
    assert known[stopped.owner]["state"] == "stopped"
    if target.is_docker:
        assert elsewhere.owner not in known, "the lock in its state directory, which a label names, says that it is alive"
    else:
        assert known[elsewhere.owner]["state"] == "unknown"
    done = doctor(stopped, "--remove-abandoned", "--owner", stopped.owner)
    assert list(done) == [stopped.owner] and done[stopped.owner]["removed"] is True
    eventually(lambda: not stopped.traces(), "nothing is left of it")
    assert keeps_its_session(elsewhere)
    stopped.start().wait_until_ready()
    assert stopped.session("s")["state"] == "lost"
    assert stopped.write("t", "file", "x").status == 200


def test_doctor__an_owner_that_this_host_does_not_know_is_shown_and_left(serve, scratch):
    elsewhere = with_session(serve(DOCKER))
    assert elsewhere.owner
    here = serve(DOCKER, launcher=own_host(scratch))
    hidden = elsewhere.instance_dir / "identity"
    told = hidden.read_text()
    hidden.unlink()  # as seen from another host: neither the registration nor the state directory is there
    try:
        assert doctor(here, "--abandoned")[elsewhere.owner]["state"] == "unknown"
        done = doctor(here, "--remove-abandoned")
        assert "removed" not in done[elsewhere.owner]
    finally:
        hidden.touch(0o600)
        hidden.write_text(told)
    assert keeps_its_session(elsewhere)


def journal_row(server, name):
    with sqlite3.connect(server.instance_dir / "journal.db") as journal:
        journal.execute("INSERT INTO sandboxes VALUES (?, 'session', '', 1, NULL, 0, '')", (name,))


def test_sandboxes_of_a_version_without_identities__only_what_its_own_journal_names_is_removed_docker(serve):
    server = serve(DOCKER).start().wait_until_ready()
    spec = json.loads(host.docker("inspect", "--format", '{{index .Config.Labels "cloche.spec"}}',
                                  host.containers_of(server.owner)[0]))
    made = {}
    for name in ("named", "foreign"):
        own = f"{name}-{server.owner[:8]}"
        made[name] = host.docker("create", "--name", own, "--label", f"cloche.instance={server.instance}", "--label",
                                 "cloche.app=cloche", "--label", "cloche.sandbox=" + name, "--label",
                                 "cloche.spec=" + json.dumps({**spec, "name": own}), "cloche-test/debian", "true").strip()
    try:
        server.kill()
        journal_row(server, f"named-{server.owner[:8]}")
        server.start().wait_until_ready()
        left = host.docker("ps", "-aq", "--no-trunc", "--filter", f"label=cloche.instance={server.instance}").split()
        assert made["foreign"] in left and made["named"] not in left
    finally:
        for each in made.values():
            subprocess.run(["docker", "-H", server.docker_host, "rm", "-f", each], capture_output=True, check=False)


def test_sandboxes_of_a_version_without_identities__only_what_its_own_journal_names_is_removed_oci(serve):
    server = serve(CRUN).start().wait_until_ready()
    record = json.loads(next(pathlib.Path(server.run_dir, server.owner, "sandboxes").glob("*/sandbox.json")).read_text())
    del record["owner"]
    former = pathlib.Path(server.run_dir, server.instance, "sandboxes")
    for name in ("s-named", "s-foreign"):
        (former / name).mkdir(parents=True)
        changed = {**record, "id": name, "first": {"pid": 0, "start_time": 0}, "uid_slot": None}
        (former / name / "sandbox.json").write_text(json.dumps({**changed, "spec": {**record["spec"], "name": name}}))
    server.kill()
    journal_row(server, "s-named")
    server.start().wait_until_ready()
    assert [path.name for path in former.iterdir()] == ["s-foreign"]


def test_directories_that_sandboxes_cannot_reach__the_server_says_so_and_ends(serve, scratch):
    server = serve(CRUN)
    parent = scratch / "closed"
    parent.mkdir(mode=0o700)
    server.run_dir, server.state_dir = str(parent / "run"), parent / "state"
    server.start()
    assert server.wait() == 69, server.log()
    assert "can be created: " in server.log() and "chmod o+x" in server.log()
    assert not server.traces()


def test_runtime_that_is_not_installed__the_server_says_so_and_ends(serve):
    server = serve(CRUN, launcher=["unshare", "-m", "sh", "-c",
                                   'mount --bind /dev/null "$(command -v crun)" && exec "$@"', "sh"])
    server.start()
    assert server.wait() == 69, server.log()
    assert "no sandbox of profile" in server.log() and "crun" in server.log()


def test_runtime_that_breaks_while_the_server_runs__few_lines_are_logged_and_callers_are_answered_at_once(serve, scratch):
    real = shutil.which("crun")
    shutil.copy(real, scratch / "crun")
    wrapper = scratch / "wrapper"
    wrapper.write_text(f'#!/bin/sh\n[ -e "{scratch}/broken" ] && exit 1\nexec "{scratch}/crun" "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    server = serve(CRUN, {"profiles": {"session": {"pool": {"pool_size": 0}}}},
                   launcher=["unshare", "-m", "sh", "-c", f'mount --bind "{wrapper}" "{real}" && exec "$@"', "sh"])
    server.start().wait_until_ready()
    (scratch / "broken").touch()
    logged_before = len(server.log_file.read_text().splitlines())
    answers, stop = [], threading.Event()

    def ask(number):
        while not stop.is_set():
            began = time.monotonic()
            answer = server.write(f"s{number}", "file", "x")
            answers.append((answer.status, time.monotonic() - began, answer.text))

    callers = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for caller in callers:
        caller.start()
    eventually(lambda: len(answers) > 600, "many have asked")
    stop.set()
    for caller in callers:
        caller.join(60)
    lines = server.log_file.read_text().splitlines()[logged_before:]
    errors = [line for line in lines if " error " in line or " warning " in line]
    others = [line for line in lines if " request" not in line.partition("info")[2][:9]]
    assert 1 <= len(errors) <= 20, errors[:30]
    assert len(others) <= 60, others[:70]
    assert {status for status, _, _ in answers} == {503}, {(status, text) for status, _, text in answers[:50]}
    assert sum(took for _, took, _ in answers[100:]) / len(answers[100:]) < 0.5
    assert any("retrying in" in text for _, _, text in answers)
    (scratch / "broken").unlink()
    eventually(lambda: server.write("later", "file", "x").status == 200, "it works again")

"""What is on the host's disk: configuration and tokens open to others, links planted, two servers on one state."""
import contextlib
import os
import pathlib
import signal
import socket
import stat
import subprocess
import tempfile

import house
import pytest


@pytest.fixture
def place():
    house.need_crun(__name__)
    with tempfile.TemporaryDirectory(prefix="cloche-state-") as made:
        path = pathlib.Path(made)
        path.chmod(0o755)
        (path / "outside").mkdir()
        (path / "outside" / "canary").write_text("kept\n")
        yield path
        assert (path / "outside" / "canary").read_text() == "kept\n"


def write(path, text, mode):
    path.write_text(text)
    path.chmod(mode)
    return path


def serve(place, config, expect=None, seconds=20):
    """Starts it, and ends it once it listens; exit code and what it said. `expect` is called while it listens."""
    cleaned = {name: value for name, value in os.environ.items() if not name.startswith(("CLOCHE_", "DOCKER_", "SANDBOX_"))}
    cleaned |= {"CLOCHE_CONFIG": str(config), "CLOCHE_STATE_DIR": str(place / "state"), "CLOCHE_RUN_DIR": str(place / "run"),
                "CLOCHE_INSTANCE": "hostile-" + place.name[-8:].replace("_", "x")}
    with open(place / "log", "w+b") as log:
        process = subprocess.Popen([house.PROGRAM, "serve"], env=cleaned, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=log, text=True, cwd=place)
        try:
            listens = False
            for line in process.stdout:
                if line.startswith("cloche: listening"):
                    listens = True
                    break
            if listens:
                assert ask(place / "s", path="/healthz") == 200
                if expect:
                    expect(process)
                process.send_signal(signal.SIGTERM)
            code = process.wait(seconds)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
        log.seek(0)
        return listens, code, log.read().decode(errors="replace")


def config_text(place, more=""):
    return (f'server: {{listen: ["unix:{place}/s"]}}\nsessions: {{most: 0}}\ndrain_timeout: 1s\n'
            f"profiles: {{session: {{runtime: crun, pool: {{pool_size: 0}}}}}}\n{more}\n")


def refused(place, config, **options):
    listens, code, said = serve(place, config, **options)
    assert not listens and code != 0, said
    return said


def test_control__the_same_closed_to_others_starts(place):
    """A server that never starts would pass every case below."""
    config = write(place / "cloche.yml", config_text(place, "secrets: {A: s3cr3t-value}"), 0o600)
    listens, code, said = serve(place, config)
    assert listens and code == 0, said


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o666, 0o622, 0o602])
def test_configuration_with_secrets_open_to_others__is_refused(place, mode):
    """tries: to read the secrets, or to write a configuration of one's own, as any user of the host.
    must: the server does not start, says which file and why, and not what is in it.
    """
    config = write(place / "cloche.yml", config_text(place, "secrets: {A: s3cr3t-value}"), mode)
    said = refused(place, config)
    assert "cloche.yml" in said and "s3cr3t-value" not in said


def test_configuration_that_everybody_can_write__is_refused_without_secrets_too(place):
    """tries: another configuration. must: refused."""
    assert "cloche.yml" in refused(place, write(place / "cloche.yml", config_text(place), 0o666))


def test_mistake_beside_a_secret__is_told_without_the_secret(place):
    """tries: an error message that quotes the line. must: the place of the mistake, no value."""
    for more in ("secrets: {A: s3cr3t-value, A: s3cr3t-value}", "secrets: [s3cr3t-value]",
                 "secrets: {'A B': s3cr3t-value}", "secrets: {A: 's3cr3t-value"):
        config = write(place / "cloche.yml", config_text(place, more), 0o600)
        assert "s3cr3t-value" not in refused(place, config), more


def test_secret_file_open_to_others__is_refused(place):
    """tries: a secret from a file that everybody reads. must: refused, without its value."""
    secret = write(place / "secret", "s3cr3t-value\n", 0o644)
    config = write(place / "cloche.yml", config_text(place, f"secrets: {{A: {{file: {secret}}}}}"), 0o600)
    said = refused(place, config)
    assert "secret" in said and "s3cr3t-value" not in said


@pytest.mark.parametrize("how", ["readable", "writable", "a link", "a directory", "another's", "noise", "a FIFO"])
def test_token_file_that_others_could_have_made__lets_nobody_in(place, how):
    """tries: tokens of one's own: by a file that others can write or read, a link, another's file, something else.
    must: the server does not start with it, or lets nobody in; never without asking for tokens at all.
    """
    (place / "state").mkdir(mode=0o700)
    tokens = place / "state" / "tokens.json"
    # A file that would be good in its place, with a token that its maker knows.
    (place / "mine").mkdir(mode=0o700)
    known = house.run(house.PROGRAM, "token", "create", "--tenant", "thief", "--role", "admin", "--state-dir",
                      place / "mine", env={"PATH": os.environ["PATH"]}).stdout.strip()
    good = (place / "mine" / "tokens.json").read_text()
    if how in ("readable", "writable"):
        write(tokens, good, 0o644 if how == "readable" else 0o622)
    elif how == "a link":
        tokens.symlink_to(write(place / "mine.json", good, 0o600))
    elif how == "a directory":
        tokens.mkdir()
    elif how == "another's":
        os.chown(write(tokens, good, 0o600), 12345, 12345)
    elif how == "a FIFO":
        os.mkfifo(tokens, 0o600)
    else:
        write(tokens, "noise", 0o600)
    config = write(place / "cloche.yml", config_text(place), 0o600)

    def nobody(_):
        for header in ("", "Authorization: Bearer x\r\n", f"Authorization: Bearer {known}\r\n"):
            status = ask(place / "s", header)
            assert status in (401, 503), status
    serve(place, config, expect=nobody)


def test_control__the_same_token_file_in_good_order_lets_its_token_in(place):
    """The thief's file, had root made it. A server that lets nobody in would pass the case above."""
    (place / "state").mkdir(mode=0o700)
    known = house.run(house.PROGRAM, "token", "create", "--tenant", "root", "--role", "admin", "--state-dir",
                      place / "state", env={"PATH": os.environ["PATH"]}).stdout.strip()
    config = write(place / "cloche.yml", config_text(place), 0o600)

    def let_in(_):
        assert ask(place / "s", f"Authorization: Bearer {known}\r\n") == 200
    assert serve(place, config, expect=let_in)[0]


def ask(socket_file, header="", path="/sessions"):
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(10)
        line.connect(str(socket_file))
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
        return house.statuses(line.recv(65536))[0]


def test_socket_of_the_service__is_its_owners(place):
    """tries: to call the service as another user of the host, while it is made and afterwards. must: mode 0600."""
    config = write(place / "cloche.yml", config_text(place), 0o600)

    def look(_):
        about = (place / "s").lstat()
        assert stat.S_ISSOCK(about.st_mode) and stat.S_IMODE(about.st_mode) == 0o600
        call = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(place / 's')!r})"
        tried = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", call],
                               stderr=subprocess.PIPE, text=True, check=False, timeout=30)
        assert "PermissionError" in tried.stderr
    listens, code, said = serve(place, config, expect=look)
    assert listens and code == 0, said
    assert not (place / "s").exists()


@pytest.mark.parametrize("what", ["a file", "a link to a file", "a directory", "a living socket"])
def test_something_else_in_the_sockets_place__is_not_removed(place, what):
    """tries: to have the server, which is root, remove or write a file by the name of its socket.
    must: it does not start; what is there stays.
    """
    target = place / "s"
    with contextlib.ExitStack() as stack:
        if what == "a file":
            write(target, "kept", 0o600)
        elif what == "a link to a file":
            target.symlink_to(place / "outside" / "canary")
        elif what == "a directory":
            target.mkdir()
        else:
            living = stack.enter_context(socket.socket(socket.AF_UNIX))
            living.bind(str(target))
            living.listen()
        refused(place, write(place / "cloche.yml", config_text(place), 0o600))
        assert os.path.lexists(target)


def instance_dir(place):
    return place / "state" / "instances" / "oci" / ("hostile-" + place.name[-8:].replace("_", "x"))


@pytest.mark.parametrize("name", ["lock", "journal", "sessions"])
def test_links_planted_in_the_state__are_not_written_through(place, name):
    """tries: links by the names of lock, journal and records that lead to another file.
    must: the file that they lead to is not written; the server refuses to start.
    """
    config = write(place / "cloche.yml", config_text(place), 0o600)
    assert serve(place, config)[0]
    victims = [path for path in instance_dir(place).iterdir() if path.name.startswith(name)]
    assert victims, list(instance_dir(place).iterdir())
    for path in victims:
        path.unlink()
        path.symlink_to(place / "outside" / "canary")
    listens, _, said = serve(place, config)
    assert (place / "outside" / "canary").read_text() == "kept\n", said
    assert not listens, said


@pytest.mark.parametrize("what", ["others can write", "another's"])
def test_state_directory_of_somebody_else__is_refused(place, what):
    """tries: a state directory in which another user can exchange what the server wrote, agents and tokens included.
    must: the server does not start.
    """
    state = place / "state"
    state.mkdir()
    state.chmod(0o777 if what == "others can write" else 0o755)
    if what == "another's":
        os.chown(state, 12345, 12345)
    refused(place, write(place / "cloche.yml", config_text(place), 0o600))


def test_second_server_on_the_same_state__is_refused_and_harms_nothing(place):
    """tries: two servers of one instance. must: the second says so and ends; the first one's things live on."""
    config = write(place / "cloche.yml", config_text(place), 0o600)
    other = write(place / "other.yml", config_text(place).replace("/s\"", "/s2\""), 0o600)

    def second(process):
        log = place / "log"
        said = log.read_bytes()
        listens, code, _ = serve(place, other)
        assert not listens and code != 0
        assert ask(place / "s") == 200 and process.poll() is None
        log.write_bytes(said)
    listens, code, said = serve(place, config, expect=second)
    assert listens and code == 0, said

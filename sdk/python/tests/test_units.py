"""What needs no server: codecs, archives, errors, and that both clients have the same face."""
import ast
import inspect
import io
import os
import pathlib
import re
import tarfile

import pytest

import cloche
import cloche.aio
from cloche import archive, errors, events, websocket
from cloche.address import parse_address
from cloche.call import Answer, Call, may_retry
from cloche.service_calls import _MAIN_FILES

PACKAGE = pathlib.Path(cloche.__file__).parent


# Addresses

@pytest.mark.parametrize("url, host, path, header, prefix", [
    ("http://127.0.0.1:8080", "127.0.0.1", "", "127.0.0.1:8080", ""),
    ("http://[::1]:8080/v1/sandbox/", "::1", "", "[::1]:8080", "/v1/sandbox"),
    ("https://cloche.example", "cloche.example", "", "cloche.example", ""),
    ("unix:/run/cloche.sock", "", "/run/cloche.sock", "localhost", ""),
    ("unix:///run/cloche.sock", "", "/run/cloche.sock", "localhost", ""),
])
def test_address_is_read(url, host, path, header, prefix):
    address = parse_address(url)
    assert (address.host, address.unix_path, address.host_header, address.prefix) == (host, path, header, prefix)


@pytest.mark.parametrize("url", ["ftp://host", "host:8080", "unix:relative", "http://", "http://h:nine", "http://u:p@h",
                                 "http://h/?q"])
def test_bad_address_is_refused(url):
    with pytest.raises(cloche.SandboxArgumentError):
        parse_address(url)


def test_no_address_is_that_of_the_environment(monkeypatch):
    monkeypatch.setenv("CLOCHE_URL", "unix:/a")
    assert cloche.Client().url == "unix:/a"
    monkeypatch.delenv("CLOCHE_URL")
    assert cloche.Client().url == "http://127.0.0.1:8080"


def test_token_with_a_line_end_is_refused():
    with pytest.raises(cloche.SandboxArgumentError):
        cloche.Client("unix:/a", token="a\r\nX: b")


# Errors

@pytest.mark.parametrize("status, code, kind", [
    (400, "invalid_argument", cloche.SandboxArgumentError), (400, "not_text", cloche.SandboxArgumentError),
    (401, "unauthenticated", cloche.SandboxPermissionError), (403, "permission_denied", cloche.SandboxPermissionError),
    (404, "not_found", cloche.SandboxNotFoundError), (409, "already_exists", cloche.SandboxError),
    (410, "sandbox_lost", cloche.SandboxLostError), (409, "session_ending", cloche.SandboxLostError),
    (413, "too_large", cloche.SandboxResourceError),
    (429, "limit_reached", cloche.SandboxResourceError), (500, "internal", cloche.SandboxError),
    (503, "unavailable", cloche.SandboxUnavailableError), (504, "timeout", cloche.SandboxTimeoutError),
])
def test_answer_that_is_an_error_is_of_its_kind(status, code, kind):
    body = b'{"error": {"code": "%s", "message": "why", "request_id": "q1"}}' % code.encode()
    error = errors.error_from_answer(status, {"retry-after": "3"}, body)
    assert type(error) is kind
    assert (str(error), error.code, error.status, error.request_id, error.retry_after) == ("why", code, status, "q1", 3)


def test_error_of_the_lease_interface_or_of_a_stranger_has_words():
    assert str(errors.error_from_answer(404, {}, b'{"detail": "no such sandbox"}')) == "no such sandbox"
    assert str(errors.error_from_answer(502, {}, b"<html>")) == "the service returned 502"


def test_503_is_retried_only_where_nothing_was_begun_or_no_harm_is_done():
    body = b'{"error": {"code": "unavailable", "message": "%s", "request_id": ""}}'
    busy, starting = Answer(503, {"retry-after": "1"}, body % b"busy"), body % b"the service is starting"
    assert may_retry(Call("GET", "/", Answer.json), busy)
    assert not may_retry(Call("POST", "/execute", Answer.json, json={}), busy)
    assert may_retry(Call("POST", "/execute", Answer.json, json={}), Answer(503, {"retry-after": "1"}, starting))
    assert not may_retry(Call("GET", "/", Answer.json), Answer(503, {}, busy.body))


# Events

def test_events_are_the_same_however_they_are_cut():
    text = (": beat\n\nevent: run\nid: r-0\ndata: {}\nretry: 1000\n\nevent: stdout\r\nid: r-1\r\ndata: \u20ac\r\n\r\n"
            "data: a\ndata: b\n\n").encode()
    whole = list(events.EventDecoder().feed(text))
    assert [(each.name, each.id, each.data) for each in whole] == [
        ("run", "r-0", "{}"), ("stdout", "r-1", "\u20ac"), ("message", "r-1", "a\nb")]
    for cut in range(len(text)):
        decoder = events.EventDecoder()
        assert list(decoder.feed(text[:cut])) + list(decoder.feed(text[cut:])) == whole


# WebSocket

@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 100_000])
def test_frame_is_masked_and_says_its_size(size):
    payload = os.urandom(size)
    frame = websocket.encode_frame(websocket.BINARY, payload)
    start = len(frame) - size
    mask = frame[start - 4:start]
    assert frame[1] & 0x80
    assert bytes(byte ^ mask[i % 4] for i, byte in enumerate(frame[start:])) == payload


def unmasked(kind, payload, final=True):
    assert len(payload) < 126
    return bytes([(0x80 if final else 0) | kind, len(payload)]) + payload


def test_messages_are_the_same_however_they_are_cut():
    data = (unmasked(2, b"abc") + unmasked(1, b"x", final=False) + unmasked(9, b"ping") + unmasked(0, b"y")
            + unmasked(8, b"\x03\xe8"))
    expected = [(2, b"abc"), (9, b"ping"), (1, b"xy"), (8, b"\x03\xe8")]
    for cut in range(len(data) + 1):
        decoder = websocket.FrameDecoder()
        got = list(decoder.feed(data[:cut])) + list(decoder.feed(data[cut:]))
        assert [(each.kind, each.data) for each in got] == expected


@pytest.mark.parametrize("data", [b"\x82\x80aaaa", b"\xf2\x00", b"\x80\x00", b"\x02\x01a\x82\x00",
                                  b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"])
def test_frames_that_make_no_sense_are_refused(data):
    with pytest.raises(cloche.SandboxUnavailableError):
        list(websocket.FrameDecoder().feed(data))


# Archives

def test_tree_survives_packing_and_unpacking(tmp_path):
    source = tmp_path / "source"
    (source / "deep" / "empty").mkdir(parents=True)
    (source / "deep" / ("n" * 180 + "\u20ac")).write_bytes(b"x" * 1000)
    (source / "run.sh").write_bytes(b"")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("run.sh")
    done = archive.unpack(archive.pack(source, "."), tmp_path / "target")
    target = tmp_path / "target"
    assert (target / "deep" / ("n" * 180 + "\u20ac")).read_bytes() == b"x" * 1000
    assert (target / "deep" / "empty").is_dir()
    assert (target / "run.sh").stat().st_mode & 0o777 == 0o755
    assert done.skipped == ["link"] and len(done.files) == 2


def tar_with(name, content=b"x", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        made.addfile(info, io.BytesIO(content))
    return iter([buffer.getvalue()])


@pytest.mark.parametrize("name", ["/etc/evil", "../evil", "a/../../evil"])
def test_archive_that_leads_out_is_refused(tmp_path, name):
    with pytest.raises(cloche.SandboxUnavailableError):
        archive.unpack(tar_with(name), tmp_path / "in")
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_what_is_no_file_is_left_out_and_named(tmp_path, kind):
    done = archive.unpack(tar_with("odd", b"", type=kind, linkname="/etc/passwd"), tmp_path)
    assert done.skipped == ["odd"] and not list(tmp_path.iterdir())


def test_archive_larger_than_allowed_is_refused(tmp_path):
    with pytest.raises(cloche.SandboxResourceError):
        archive.unpack(tar_with("big", b"x" * 1000), tmp_path, most_bytes=999)


def test_file_through_a_link_that_was_there_replaces_the_link(tmp_path):
    (tmp_path / "outside").write_text("safe")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").symlink_to(tmp_path / "outside")
    archive.unpack(tar_with("file", b"new"), tmp_path / "in")
    assert (tmp_path / "outside").read_text() == "safe" and (tmp_path / "in" / "file").read_text() == "new"


def test_archive_that_breaks_off_is_an_error(tmp_path):
    whole = b"".join(tar_with("file", b"x" * 5000))
    with pytest.raises(cloche.SandboxUnavailableError):
        archive.unpack(iter([whole[:2000]]), tmp_path)
    assert not list(tmp_path.iterdir())


# Cases

@pytest.mark.parametrize("given, lines", [("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\nb\n", ["a", "", "b"]),
                                          (["a", "b"], ["a", "b"])])
def test_input_of_a_case_is_lines(given, lines):
    assert cloche.Case(given).lines() == lines


# The package

@pytest.mark.parametrize("name", ["Client", "Sandbox", "Run", "Lease", "Terminal", "Stream", "Artifact"])
def test_async_class_has_the_same_methods_and_arguments(name):
    def face(kind):
        return {each: list(inspect.signature(function).parameters.values())
                for each, function in inspect.getmembers(kind, inspect.isfunction) if not each.startswith("_")}

    def plain(parameters):
        return [(each.name, each.kind, each.default) for each in parameters]
    sync, other = face(getattr(cloche, name)), face(getattr(cloche.aio, name))
    assert {each: plain(of) for each, of in sync.items()} == {each: plain(of) for each, of in other.items()}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_source_is_python_3_9_and_documented(path):
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    assert ast.get_docstring(tree)


# Languages

def test_main_files_are_those_of_the_service():
    languages = pathlib.Path(__file__).parents[3] / "src" / "language" / "languages.yml"
    expected = {}
    for entry in re.split(r"^(?=\w)", languages.read_text(encoding="utf-8"), flags=re.MULTILINE):
        name = re.match(r"(\w+):\n", entry)
        if name is None:
            continue
        file = re.search(r'^  file: "?([^"\n]+)"?$', entry, re.MULTILINE)[1].replace("{class}", "Main")
        aliases = re.search(r"^  aliases: \[(.*)\]$", entry, re.MULTILINE)
        for each in [name[1], *(aliases[1].split(", ") if aliases else [])]:
            expected[each] = file
    assert expected == _MAIN_FILES

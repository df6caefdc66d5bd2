#!/usr/bin/python3
"""A service that is none: it answers what no service of Cloche would.

Usage: hostile_service.py HOW SOCKET. Says when it listens, and goes on until it is killed.
"""
import io
import json
import socket
import sys
import tarfile

ESCAPE = "\x1b]0;owned\x07\x1b[2Jx"


def archive(how):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        def add(name, kind=tarfile.REGTYPE, link="", data=b""):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.size = kind, link, len(data)
            tar.addfile(entry, io.BytesIO(data))
        if how == "up":
            add("../outside", data=b"evil")
        elif how == "absolute":
            add("/tmp/cloche-evil", data=b"evil")
        elif how == "link":
            add("l", tarfile.SYMTYPE, "..")
            add("l/outside", data=b"evil")
        elif how == "hardlink":
            add("h", tarfile.LNKTYPE, "../outside")
        else:
            add("good", data=b"x" * 100_000)
    return out.getvalue()[:50_000] if how == "cut" else out.getvalue()


def answer(status, body, kind="application/json", length=None):
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: {kind}\r\nContent-Length: {length or len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


def answer_to(how, method, path):
    if how == "garbage":
        return b"\x00\xff\x1b[2J not HTTP\r\n\r\n"
    if how == "endless-head":
        return b"HTTP/1.1 200 OK\r\nX: " + b"x" * (1 << 20)
    if how == "error":
        return answer(500, json.dumps({"error": {"code": "x", "message": ESCAPE, "request_id": ESCAPE}}).encode())
    if how == "names":
        session = {"tenant_id": ESCAPE, "session_id": ESCAPE, "profile": ESCAPE, "state": ESCAPE, "created": 7, "sandbox": ESCAPE}
        return answer(200, json.dumps({"sessions": [session, 3], ESCAPE: {"idle": "many"}}).encode())
    if method == "HEAD":
        return b"HTTP/1.1 400 No\r\nConnection: close\r\n\r\n"
    if path.startswith("/glob"):
        return answer(200, b"{}")
    if "/copy" in path:
        body = archive(how)
        return answer(200, body, "application/x-tar", len(archive("whole")) if how == "cut" else None)
    return answer(200, json.dumps({"sessions": [{"tenant_id": "t", "session_id": "demo"}]}).encode())


def main():
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[2])
    server.listen()
    print("listening", flush=True)
    while True:
        client, _ = server.accept()
        with client:
            asked = client.recv(65536).decode("latin-1").split(" ")
            try:
                client.sendall(answer_to(sys.argv[1], asked[0], asked[1] if len(asked) > 1 else ""))
            except OSError:
                pass  # it has heard enough


main()

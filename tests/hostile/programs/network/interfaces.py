# tries: to find a way out by looking: devices that are up, addresses, routes, neighbours, listeners, proxies told in its environment
# must: see loopback alone, and nobody but itself
import os
import socket
import sys

sys.path.insert(0, "/attack")
from attack import done, held, hole


def lines(path):
    try:
        with open(path) as file:
            return file.read().splitlines()
    except OSError:
        return []


import fcntl
import struct

probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _, name in socket.if_nameindex():
    flags = struct.unpack_from("H", fcntl.ioctl(probe, 0x8913, struct.pack("40s", name.encode())), 16)[0]
    if name != "lo" and flags & 1:
        hole(f"{name} is up")
    else:
        held(f"{name}, flags {flags:#x}")
routes = [line for line in lines("/proc/net/route")[1:] if line.split()[0] != "lo"]
hole(f"routes {routes}") if routes else held("no route")
others = [line for line in lines("/proc/net/ipv6_route") if line.split()[-1] != "lo"]
hole(f"IPv6 routes {others}") if others else held("no IPv6 route")
arp = lines("/proc/net/arp")[1:]
hole(f"neighbours {arp}") if arp else held("no neighbours")
listeners = [line.split()[1] for kind in ("tcp", "tcp6", "udp", "udp6") for line in lines("/proc/net/" + kind)[1:] if int(line.split()[7]) != os.getuid()]
hole(f"listeners of others {listeners}") if listeners else held("nobody else listens")
proxies = [name for name in os.environ if name.lower().endswith("_proxy")]
hole(f"proxies {proxies}") if proxies else held("no proxies")
done()

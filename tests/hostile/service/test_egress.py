"""Programs that want to reach what their network does not allow: by odd names and addresses, by the name server, by
redirects, and by way of the service or of a neighbour."""
import egress_world
import house
import pytest
from egress_world import ALLOWED, FORBIDDEN, runtimes, session_on


@pytest.fixture(scope="module")
def world():
    egress_world.need(__name__)
    with egress_world.World() as made:
        yield made


@pytest.fixture(autouse=True)
def the_house_stands(world):
    yield
    egress_world.is_as_it_was(world)


@runtimes()
def test_what_is_allowed__is_reached(world, runtime):
    """The control: by CONNECT, as a URL and by SOCKS, by name and by address."""
    session = session_on(world, runtime)
    before = len(world.allowed.seen)
    told = world.inside(session, f"""
port = {world.port}
tell([connect_status("good.test:%d" % port), http_status("GOOD.test.", port), socks_code("good.test", port),
      connect_status("{ALLOWED}:%d" % port), http_status("[::ffff:{ALLOWED}]", port), socks_code("{ALLOWED}", port),
      http_status("paths.test", port, "/public/a")])
""")
    assert told == [200, 200, 0, 200, 200, 0, 200]
    house.eventually(lambda: len(world.allowed.seen) == before + 6, "six connections arrive")
    outcomes = house.eventually(lambda: (lambda all: all if len(all) == 14 else None)(world.outcomes(session)),
                                "each connection has two events")
    assert outcomes.count("allowed") == 7 and outcomes.count("closed") == 7


def test_weakened__the_same_attacks_arrive(world):
    """The control of the attacks below: where the operator names all of loopback, they reach the forbidden servers."""
    session = world.session({"mode": "allow-list", "rules": ["loopback", "local"]})
    hosts = ["127.0.0.1", FORBIDDEN, "0.0.0.0", "[::ffff:7f00:3]", "[64:ff9b::7f00:3]", "inside.test", "INSIDE.Test.", "zero.test",
             "mapped.test", "translated.test", "self.test"]
    told = world.inside(session, f"""
port = {world.port}
tell([[connect_status("%s:%d" % (host, port)), http_status(host, port), socks_code(host, port)] for host in {hosts!r}])
""")
    assert told == [[200, 200, 0]] * len(hosts), list(zip(hosts, told))
    house.eventually(lambda: world.reached() == 3 * len(hosts), "all of them arrive")
    for listener in world.forbidden:
        listener.seen.clear()


# No resolver may get these: it could take them for an address in another notation, or for more than a name.
INVALID = ["0x7f.0.0.3", "0x7f000003", "2130706435", "017700000003", "0177.0.0.3", "127.3", "127.0.3", "127.0.0.3.",
           "127.0.0.03", "127.0.0.0x3", "127.0.0.3..", "[127.0.0.3]", "[::1%25lo]", "[::1%lo]", "[::ffff:127.0.0.3",
           "inside.test%00.good.test", "inside.test%2e", "in\u017fide.test", "\u24d8nside.test", "127\u30020\u30020\u30023",
           "unix:/run/cloche.sock", "/run/cloche.sock", "%2Frun%2Fcloche.sock", "good.test@127.0.0.3", "good.test#", "*",
           "..", "-inside.test", "a" * 64 + ".test"]
# Valid, and not public.
NOT_PUBLIC = ["127.0.0.1", FORBIDDEN, "0.0.0.0", "127.255.255.254", "[::1]", "[::]", "[::ffff:127.0.0.3]",
              "[::ffff:7f00:3]", "[0:0:0:0:0:FFFF:127.0.0.3]", "[64:ff9b::7f00:3]", "[64:ff9b::127.0.0.3]",
              "[64:ff9b:1::7f00:3]", "[2002:7f00:3::]", "[::127.0.0.3]", "[fe80::1]", "[fd00:ec2::254]", "[ff02::1]",
              "169.254.169.254", "10.0.0.1", "100.100.100.200", "192.168.0.1", "172.17.0.1", "198.18.0.1", "224.0.0.1",
              "255.255.255.255", "LOCALHOST", "localhost.", "inside.test", "INSIDE.Test.", "zero.test", "metadata.test",
              "private.test", "mapped.test", "translated.test", "six.test", "self.test"]


@runtimes()
@pytest.mark.parametrize("mode", ["allow-list", "internet"])
def test_addresses_in_other_notations__are_refused(world, mode, runtime):
    """tries: loopback, private and metadata addresses as octal, hexadecimal and decimal numbers, in short, with dots at
    their end, within IPv6, by names in odd case, and by names that resolve to them; unix sockets as hosts.
    must: 400 for what is no strict name, 403 for the rest, an event for each, and no connection.
    """
    session = session_on(world, runtime, {"mode": mode, "rules": ["local"]})
    told = world.inside(session, f"""
port = {world.port}
tell([[[connect_status(host.encode() + b":%d" % port), http_status(host.encode(), port)] for host in hosts]
      for hosts in {[INVALID, NOT_PUBLIC]!r}])
""")
    for host, found in zip(INVALID, told[0]):
        assert found == [400, 400], host
    for host, found in zip(NOT_PUBLIC, told[1]):
        assert found == [403, 403], host
    denied = [event for event in world.events(session) if event["outcome"] == "denied"]
    # A target that is not even a URL is rejected before there is a host to decide about.
    assert len(denied) >= 2 * len(NOT_PUBLIC) + len(INVALID) and all(event["reason"] for event in denied)
    assert set(world.outcomes(session)) == {"denied"}


def test_addresses_by_socks__are_refused(world):
    """tries: the same by SOCKS, as addresses and as names. must: code 2, or 1, 7 and 8 for what is invalid."""
    session = world.session("internet")
    told = world.inside(session, f"""
hosts = {[INVALID, NOT_PUBLIC]!r}
tell([[socks_code(host.encode().decode("latin-1") if host.isascii() else host, {world.port}) for host in each]
      for each in hosts])
""")
    assert all(code in (1, 2, 7, 8, -1, -2) for code in told[0]), list(zip(INVALID, told[0]))
    assert all(code in (1, 2, 8) for code in told[1]), list(zip(NOT_PUBLIC, told[1]))


@pytest.mark.parametrize("zone", ["rebind", "late"])
def test_name_server_that_changes_its_mind__reaches_nothing_new(world, zone):
    """tries: names whose first answer is an allowed address and all others a forbidden one, and the other way round,
    asked for by many connections at once. must: a connection goes to an address that was decided about, or nowhere.
    """
    session = world.session()
    told = world.inside(session, f"""
from concurrent.futures import ThreadPoolExecutor
names = ["n%d.{zone}.test" % number for number in range(6)] * 4
with ThreadPoolExecutor(12) as pool:
    first = list(pool.map(lambda name: connect_status("%s:{world.port}" % name), names))
    second = list(pool.map(lambda name: http_status(name, {world.port}), names))
tell(first + second)
""")
    # A result is used again for some seconds, so the second answer may not have been asked for yet.
    assert set(told) <= {200, 403} and (200 if zone == "rebind" else 403) in told
    kept = {event.get("address") for event in world.events(session) if event["outcome"] in ("allowed", "closed")}
    assert kept <= {ALLOWED}


def test_rebound_name__is_refused_when_it_is_asked_for_again(world):
    """tries: one name, again and again, until the server asks for it again. must: 403 from then on; nothing reached."""
    session = world.session()
    place = f"{house.name()}.rebind.test"
    once = f"tell(http_status('{place}', {world.port}))"
    assert world.inside(session, once) == 200
    house.eventually(lambda: world.inside(session, once) == 403, "the second answer is used")
    assert any(event["outcome"] == "denied" and FORBIDDEN in event["reason"] for event in world.events(session))


def test_name_with_good_and_bad_addresses__goes_to_the_good_one(world):
    """tries: a name with a forbidden, an allowed and a private address. must: only the allowed one is connected to."""
    session = world.session()
    assert world.inside(session, f"tell([http_status('mixed.test', {world.port}) for _ in range(5)])") == [200] * 5
    addresses = {event["address"] for event in world.events(session) if event["outcome"] == "allowed"}
    assert addresses == {ALLOWED}


def test_denied_name_in_another_spelling__is_denied(world):
    """tries: a denied name in upper case, with a final dot, in its Unicode form, by SOCKS. must: denied, or invalid."""
    session = world.session({"mode": "internet", "rules": ["local"], "deny": ["good.test", "xn--bcher-kva.test"]})
    told = world.inside(session, f"""
port = {world.port}
tell([[http_status(host.encode(), port), connect_status(host.encode() + b":%d" % port)]
      for host in ["good.test", "GOOD.TEST", "gOOd.test.", "xn--bcher-kva.test", "XN--BCHER-KVA.Test.", "b\\u00fccher.test"]]
     + [socks_code("Good.Test.", port)])
""")
    assert told == [[403, 403]] * 5 + [[400, 400], 2]


@runtimes()
def test_redirect_to_a_private_address__is_refused(world, runtime):
    """tries: an allowed server that redirects to the forbidden one, to metadata and to the service itself.
    must: a client that follows it gets 403, and the first response is as the server sent it.
    """
    session = session_on(world, runtime)
    targets = [f"{FORBIDDEN}:{world.port}/", f"inside.test:{world.port}/", "169.254.169.254/latest/",
               f"127.0.0.1:{world.house.port}/sessions", f"[::ffff:7f00:3]:{world.port}/"]
    told = world.inside(session, f"""
import urllib.request, urllib.error
os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""
proxy = urllib.request.ProxyHandler({{"http": "http://127.0.0.1:3128"}})
codes = []
for target in {targets!r}:
    try: codes.append(urllib.request.build_opener(proxy).open("http://good.test:{world.port}/to/" + target, timeout=20).status)
    except urllib.error.HTTPError as error: codes.append(error.code)
tell(codes)
""")
    assert told == [403] * len(targets)


@runtimes()
def test_service_itself__is_refused_whatever_the_rules(world, runtime):
    """tries: the service's own address, where rules name all of loopback: as it is, as 0.0.0.0, within IPv6, by names.
    must: 403 that says so. A port of loopback that the rules name is reached: the control.
    """
    session = session_on(world, runtime, {"mode": "allow-list", "rules": ["loopback", "local"]})
    service = world.house.port
    told = world.inside(session, f"""
hosts = ["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:0.0.0.0]", "self.test", "SELF.test.", "zero.test"]
tell([[connect_status(host + ":{service}"), http_status(host, {service}), socks_code(host, {service})] for host in hosts]
     + [http_status("{ALLOWED}", {world.port})])
""")
    assert told == [[403, 403, 2]] * 7 + [200]
    reasons = [event["reason"] for event in world.events(session) if event["outcome"] == "denied"]
    assert len(reasons) == 21 and all("this service listens" in reason for reason in reasons)


def test_servers_of_other_sandboxes__are_not_reached(world):
    """tries: a port on which a neighbour's sandbox listens, where rules name all of loopback. must: 502: nothing there."""
    port = egress_world.free_port()
    neighbour = world.session("none")
    world.begin(neighbour, f"""
listener = socket.create_server(("0.0.0.0", {port}))
open("listening", "w").close()
while True: listener.accept()[0].sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
""")
    house.eventually(lambda: "listening" in world.house.bash(neighbour, "ls")["stdout"], "the neighbour listens")
    session = world.session({"mode": "allow-list", "rules": ["loopback"]})
    told = world.inside(session, f"tell([connect_status('127.0.0.1:{port}'), http_status('127.0.0.2', {port})])")
    assert told == [502, 502]
    assert world.outcomes(session) == ["failed", "failed"]

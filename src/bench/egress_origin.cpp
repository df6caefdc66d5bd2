#include "bench/egress_origin.hpp"

#include <fmt/format.h>

#include <fstream>

#include "bench/alternatives/python.hpp"
#include "core/clock.hpp"
#include "egress/tls/certificates.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

// Its arguments: a file with certificate and key, and the file to write its ports to. It ends with its stdin.
constexpr const char* origin_text = R"python(
import socket, ssl, sys, threading

certificate, ports_file = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate)
piece = bytes(1 << 20)
held = []

def https(plain):
    with context.wrap_socket(plain, server_side=True) as stream:
        while True:
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                part = stream.recv(4096)
                if not part:
                    return
                request += part
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

def raw(stream):
    line = b""
    while not line.endswith(b"\n"):
        part = stream.recv(1)
        if not part:
            return
        line += part
    if line == b"hold\n":
        held.append(stream)
        print("holding", len(held), flush=True)
        return
    what, count = line.split()
    count = int(count)
    if what == b"down":
        for _ in range(count):
            stream.sendall(piece)
    else:
        room, left = bytearray(1 << 20), count << 20
        while left:
            got = stream.recv_into(room)
            if not got:
                return
            left -= got
        stream.sendall(b"all")
    stream.close()

def guarded(serve, stream):
    try:
        serve(stream)
    except OSError:
        stream.close()

def accept(listener, serve):
    while True:
        stream, _ = listener.accept()
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=guarded, args=(serve, stream), daemon=True).start()

ports = []
for serve in (https, https, raw):
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    ports.append(str(listener.getsockname()[1]))
    threading.Thread(target=accept, args=(listener, serve), daemon=True).start()
with open(ports_file, "w") as file:
    file.write(" ".join(ports))
print("listening", flush=True)
sys.stdin.read()
)python";

// Behind a line that sets what, count, port and proxy.
constexpr const char* client_text = R"python(
import socket, ssl, sys, time

def connect(port):
    if not proxy:
        stream = socket.create_connection(("127.0.0.1", port))
    else:
        stream = socket.create_connection(("127.0.0.1", proxy))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if proxy:
        stream.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            part = stream.recv(1)
            if not part: sys.exit("the proxy closed the connection")
            head += part
        if b" 200 " not in head.split(b"\r\n")[0]: sys.exit(head.decode())
    return stream

def get(stream):
    stream.sendall(b"GET / HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % port)
    answer = b""
    while not answer.endswith(b"\r\n\r\nok"):
        part = stream.recv(4096)
        if not part: sys.exit(answer.decode())
        answer += part

def timed(step):
    began = time.perf_counter()
    result = step()
    print((time.perf_counter() - began) * 1000)
    return result

if what in ("new", "kept"):
    context = ssl.create_default_context()
    def ask():
        stream = context.wrap_socket(connect(port), server_hostname="localhost")
        get(stream)
        return stream
    if what == "new":
        for _ in range(count): timed(ask).close()
    else:
        stream = ask()
        for _ in range(count): timed(lambda: get(stream))
elif what == "hold":
    held = [connect(port) for _ in range(count)]
    for stream in held: stream.sendall(b"hold\n")
    for stream in held: stream.recv(1)
else:
    stream = connect(port)
    began = time.perf_counter()
    stream.sendall(f"{what} {count}\n".encode())
    room, left = bytearray(1 << 20), count << 20
    if what == "down":
        while left:
            got = stream.recv_into(room)
            if not got: sys.exit("cut off")
            left -= got
    else:
        for _ in range(count): stream.sendall(room)
        stream.recv(3)
    print(count / (time.perf_counter() - began))
)python";

struct Identity {
  std::string authority;
  std::string server;  // certificate and key
};

Result<Identity> make_identity() {
  const WallTime now = Clocks().wall();
  const egress::Validity validity{now - std::chrono::days(1), now + std::chrono::days(1)};
  CLOCHE_TRY(const egress::Key authority_key, egress::make_key());
  CLOCHE_TRY(const egress::Certificate authority,
             egress::make_authority_certificate(*authority_key, "cloche bench", validity));
  CLOCHE_TRY(const egress::Key key, egress::make_key());
  CLOCHE_TRY(const egress::Certificate certificate,
             egress::make_host_certificate({*authority, *authority_key}, *key, "localhost", validity));
  CLOCHE_TRY(std::string authority_pem, egress::to_pem(*authority));
  CLOCHE_TRY(const std::string certificate_pem, egress::to_pem(*certificate));
  CLOCHE_TRY(const std::string key_pem, egress::to_pem(*key));
  return Identity{std::move(authority_pem), certificate_pem + key_pem};
}

}  // namespace

std::string egress_client(const EgressTask& task) {
  return fmt::format("what, count, port, proxy = '{}', {}, {}, {}\n", task.what, task.count, task.port, task.proxy) +
         client_text;
}

Result<EgressOrigin> EgressOrigin::start(Surroundings& surroundings) {
  CLOCHE_TRY(const Identity identity, make_identity());
  const std::filesystem::path place = surroundings.make_directory("origin");
  const std::string authority = place / "authority.pem";
  std::ofstream(authority) << identity.authority;
  std::ofstream(place / "server.pem") << identity.server;
  HelperSpec spec;
  spec.argv = {host_python, "-c", origin_text, place / "server.pem", place / "ports"};
  spec.log = place / "log";
  CLOCHE_TRY(Helper child, Helper::start(spec));
  CLOCHE_CHECK(child.wait_for("listening", Deadline::after(60s)));
  EgressOrigin origin(std::move(child), authority);
  std::ifstream ports(place / "ports");
  ports >> origin.https_port_ >> origin.secret_port_ >> origin.raw_port_;
  if (!ports) return fail(ErrorCode::internal, "the origin did not write its ports");
  return origin;
}

Status EgressOrigin::wait_until_held(int count, Deadline deadline) {
  return child_.wait_for("holding " + std::to_string(count) + "\n", deadline);
}

}  // namespace cloche::bench

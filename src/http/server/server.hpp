// Server: listens, serves HTTP/1.1 clients, and passes each request to a handler.
//
// Requests on one connection are answered in order, one at a time. All of it runs on the executor's one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "http/server/exchange.hpp"
#include "http/server/limits.hpp"

namespace cloche::http {

// PEM files of a server.
struct ServerCertificate {
  std::string chain;
  std::string key;
};

struct ListenTcp {
  std::string host;                              // an address or a name; "::" takes IPv4 clients too
  std::uint16_t port = 0;                        // 0: any that is free
  std::optional<ServerCertificate> certificate;  // if set, TLS 1.2 or later is used
};

// A socket file without a listener is replaced; any other file with this name is not. It is removed at the end.
struct ListenUnix {
  std::string path;
  unsigned mode = 0600;
};

using ListenOn = std::variant<ListenTcp, ListenUnix>;

// Where a server listens in fact.
struct ListensOn {
  std::string address;  // empty for a unix socket
  std::uint16_t port = 0;
  std::string path;  // of a unix socket
  bool encrypted = false;
};

// What handlers noted about a request, as names and values.
using Labels = std::vector<std::pair<std::string, std::string>>;

// One line of an access log. The path has no query: secrets travel there.
struct AccessRecord {
  std::string_view method;  // empty when the request could not be read
  std::string_view path;
  unsigned status = 0;  // 499 when the client went away before it was answered
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::chrono::steady_clock::duration duration{};
  std::string_view request_id;
  const Peer& peer;
  Labels labels;
};

struct ErrorBody {
  std::string content_type;
  std::string text;
};

struct ServerCounts {
  std::uint64_t open_connections = 0;
  std::uint64_t connections = 0;          // accepted, ever
  std::uint64_t refused_connections = 0;  // for being too many
  std::uint64_t requests_in_flight = 0;
  std::array<std::uint64_t, 6> by_class{};  // answers: [2] those of 2xx and so on
  std::uint64_t clients_gone = 0;           // before they were answered
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t body_bytes_held = 0;  // of the budget, now
  std::uint64_t bodies_refused = 0;   // because none of it was left
};

struct ServerOptions {
  std::vector<ListenOn> listen;
  Role role = Role::origin;
  ServerLimits limits;
  TenantBodies tenant_bodies;
  // For work on large bodies. It must outlive the server. Without it, everything runs on the server's own thread.
  asio::thread_pool* workers = nullptr;
  // The form of errors that come from the server itself. Without it, one line of text.
  std::function<ErrorBody(unsigned status, std::string_view why, std::string_view request_id)> error_body;
  std::function<void(const AccessRecord&)> access_log;
};

class Server {
 public:
  Server(Executor executor, ServerOptions options, Handler handler);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  // After `shut_down`, if it was started.
  ~Server();

  // Listens everywhere, or nowhere and says why.
  Task<Status> start();
  const std::vector<ListensOn>& listens_on() const;

  // Serves one client over a stream that did not come from a listener, with a handler of its own, until either side
  // has enough. It belongs to the caller: shut_down() does not end it, a cancellation does.
  Task<> serve(std::unique_ptr<Stream> stream, Peer peer, Handler handler);

  // Reads all certificates again. On an error the old ones stay in use.
  Status reload_certificates();

  void stop_accepting();
  // No new connections or requests; idle connections close at once. What is in flight may finish until the deadline and
  // is cancelled then, or as soon as `hasten` is called.
  Task<> shut_down(Deadline deadline);
  void hasten();

  ServerCounts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche::http

// ScriptedServer: an HTTP server on a Unix socket that sends what a test requests, including garbage.
#pragma once

#include <boost/asio.hpp>
#include <functional>
#include <string>
#include <vector>

#include "core/async/task_group.hpp"
#include "http/endpoint.hpp"

namespace cloche::http::testing {

struct ReceivedRequest {
  std::string method;
  std::string target;
  std::string head;
  std::string body;  // without chunk framing
};

// The server's side of one connection.
class Peer {
 public:
  explicit Peer(asio::local::stream_protocol::socket socket) : socket_(std::move(socket)) {}

  Task<> send(std::string bytes);
  // A response with a length and a JSON body.
  Task<> reply(int status, std::string body, std::string more_fields = "");
  // What comes next, at least one byte; empty at the end.
  Task<std::string> receive();
  Task<> receive_until(std::string_view end, std::string& into);
  void hang_up();
  bool is_open() const { return socket_.is_open(); }

 private:
  asio::local::stream_protocol::socket socket_;
};

using Handler = std::function<Task<>(ReceivedRequest, Peer&)>;

class ScriptedServer {
 public:
  explicit ScriptedServer(Executor executor);
  ~ScriptedServer();

  Endpoint endpoint() const { return UnixEndpoint{path_}; }
  const std::string& path() const { return path_; }

  // Answers requests whose "METHOD target" begins so. The latest that fits is taken.
  void on(std::string beginning, Handler handler);
  // The same with a fixed answer.
  void on(std::string beginning, int status, const std::string& body);

  // "METHOD target" of all requests so far, and how many connections they came over.
  const std::vector<std::string>& requests() const { return requests_; }
  std::size_t count(std::string_view beginning) const;
  int connections() const { return connections_; }

  // Must be awaited before the server goes away.
  Task<> stop();

 private:
  Task<> accept();
  Task<> serve(asio::local::stream_protocol::socket socket);
  Task<bool> read_request(Peer& peer, std::string& buffer, ReceivedRequest& request);

  std::string directory_;
  std::string path_;
  asio::local::stream_protocol::acceptor acceptor_;
  std::vector<std::pair<std::string, Handler>> handlers_;
  std::vector<std::string> requests_;
  int connections_ = 0;
  TaskGroup tasks_;
};

// Runs a test's coroutine to its end, with everything it started. False when that took longer than `most`.
bool run_to_end(asio::io_context& io, std::function<Task<>()> body,
                std::chrono::steady_clock::duration most = std::chrono::seconds(30));

}  // namespace cloche::http::testing

// Brokered: a fixture with a broker, a sandbox's way out, programs that use it, and servers on the loopback.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/async/task_group.hpp"
#include "egress/broker/broker.hpp"
#include "egress/testing/memory_stream.hpp"
#include "http/message.hpp"
#include "sandbox/socket_connection.hpp"

namespace cloche::egress::testing {

// Answers as the test says. Each lookup of a name takes its next answer; the last one is repeated.
class FakeResolver final : public Resolver {
 public:
  Task<Result<std::vector<Address>>> resolve(std::string name, Deadline deadline) override;

  void answer(const std::string& name, std::vector<std::string> addresses);

  std::vector<std::string> asked;
  bool silent = false;           // never answers
  std::function<void()> on_ask;  // before each answer

 private:
  std::map<std::string, std::vector<std::vector<Address>>> answers_;
};

// The program's end of a connection.
class Program {
 public:
  Program(std::unique_ptr<http::Stream> stream, std::function<void()> end)
      : stream_(std::move(stream)), end_(std::move(end)) {}

  Task<> send(std::string bytes);
  // The next response; status 0 when the connection ended before it.
  Task<http::Response> answer();
  // The response to HEAD or to CONNECT, which has no body.
  Task<http::Response> answer_without_body();
  // At least one byte; empty at the end.
  Task<std::string> receive();
  Task<std::string> receive_exactly(std::size_t size);
  Task<std::string> rest();
  void end_writing() { end_(); }
  void close() { stream_->close(); }

 private:
  Task<http::Response> read_answer(bool has_body);

  std::unique_ptr<http::Stream> stream_;
  std::function<void()> end_;
  std::string unread_;
};

// The server's end of a connection.
class Guest {
 public:
  explicit Guest(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {}

  Task<> send(std::string bytes);
  // At least one byte; empty at the end.
  Task<std::string> receive();
  // All that has come up to and with this text; what follows is kept.
  Task<std::string> receive_until(std::string_view end);
  Task<std::string> rest();
  void end_writing();
  void reset();

 private:
  asio::ip::tcp::socket socket_;
  std::string unread_;
};

// A server on the loopback that does what the test says with each connection.
class ScriptedTcpServer {
 public:
  using Script = std::function<Task<>(Guest&)>;
  ScriptedTcpServer(const Executor& executor, Script script);

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  int connections() const { return connections_; }
  Task<> stop();

 private:
  Task<> accept();

  asio::ip::tcp::acceptor acceptor_;
  Script script_;
  int connections_ = 0;
  TaskGroup tasks_;
};

// What is between programs and the broker.
enum class Between {
  memory,
  sockets,  // of this process, as where it accepts connections itself
};

class Brokered : public ::testing::Test {
 protected:
  // `server.test` is the loopback, and everything there is allowed.
  Brokered();

  // Starts broker and way out with `options_` and `sandbox_`, runs the test's coroutine, ends all. Nothing may be open
  // then.
  void run(const std::function<Task<>()>& body);

  // A new connection of a program.
  std::unique_ptr<Program> connect(std::optional<Destination> meant = std::nullopt);
  // A connection, a request, its response.
  Task<http::Response> ask(std::string request);
  ScriptedTcpServer& serve(ScriptedTcpServer::Script script);
  // A server that responds with 200 and its own name to each request; `heads_` has what came.
  ScriptedTcpServer& serve_http(std::string body);

  // Waits for the next event with this outcome, after those that were taken before.
  Task<EgressEvent> event(Outcome outcome);
  std::vector<EgressEvent> events() { return egress_->books().after(0); }

  static Rule rule(std::string_view text);
  static Policy allow(const std::vector<std::string>& rules);

  asio::io_context io_;
  std::shared_ptr<FakeResolver> resolver_ = std::make_shared<FakeResolver>();
  BrokerOptions options_;
  SandboxEgressOptions sandbox_;
  std::optional<Broker> broker_;
  std::shared_ptr<SandboxEgress> egress_;
  std::vector<std::string> heads_;
  Between between_ = Between::memory;

 private:
  std::unique_ptr<Program> connect_by_socket(std::shared_ptr<std::unique_ptr<http::Stream>>& broker_side);

  std::uint64_t taken_ = 0;
  std::vector<std::unique_ptr<ScriptedTcpServer>> servers_;
  std::shared_ptr<SocketConnections> sockets_;
  std::optional<TaskGroup> programs_;
};

}  // namespace cloche::egress::testing

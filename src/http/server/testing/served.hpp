// Served: a fixture with a server on a free port of the loopback, and clients of it.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>

#include "core/async/event.hpp"
#include "http/server/server.hpp"
#include "http/server/testing/raw_client.hpp"
#include "http/testing/scripted_server.hpp"

namespace cloche::http::testing {

class Served : public ::testing::Test {
 protected:
  Served();

  // Starts the server with `options_` and `handler_`, runs the test's coroutine, and shuts the server down.
  void run(const std::function<Task<>()>& body);

  std::uint16_t port() const { return server_->listens_on().front().port; }
  Task<std::unique_ptr<RawClient>> connect();
  // A connection, a request, its answer, and the end of it.
  Task<Response> ask(std::string request);

  asio::io_context io_;
  ServerOptions options_;
  http::Handler handler_;  // answers "METHOD path" when nothing else is set
  std::optional<Server> server_;
  Event changed_{io_.get_executor()};  // for messages between handlers and tests
};

}  // namespace cloche::http::testing

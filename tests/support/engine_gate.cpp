#include "support/engine_gate.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <list>
#include <optional>
#include <thread>

#include "core/async/task.hpp"

namespace cloche::testing_support {

namespace {

using Socket = asio::local::stream_protocol::socket;
using Endpoint = asio::local::stream_protocol::endpoint;

Task<> copy(std::shared_ptr<Socket> from, std::shared_ptr<Socket> to) {
  std::string buffer(65536, '\0');
  boost::system::error_code error;
  while (!error) {
    const std::size_t n =
        co_await from->async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
    if (!error) {
      co_await asio::async_write(*to, asio::buffer(buffer.data(), n), asio::redirect_error(asio::use_awaitable, error));
    }
  }
  boost::system::error_code ignored;
  to->shutdown(Socket::shutdown_send, ignored);
}

}  // namespace

// All of it on the gate's own thread, so that a test that waits for an answer of the engine does not wait for itself.
struct EngineGate::State {
  asio::io_context io{1};
  std::filesystem::path path;
  std::string engine;
  std::optional<asio::local::stream_protocol::acceptor> acceptor;
  std::list<std::weak_ptr<Socket>> sockets;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  std::thread thread;

  void open() {
    std::filesystem::remove(path);
    acceptor.emplace(io, Endpoint(path.string()));
    asio::co_spawn(io, accept(), asio::detached);
  }

  void shut() {
    acceptor.reset();
    std::filesystem::remove(path);
    for (const auto& weak : sockets) {
      if (const auto socket = weak.lock()) socket->close();
    }
    sockets.clear();
  }

  Task<> accept() {
    for (;;) {
      auto inner = std::make_shared<Socket>(io);
      auto outer = std::make_shared<Socket>(io);
      boost::system::error_code error;
      co_await acceptor->async_accept(*outer, asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return;
      inner->connect(Endpoint(engine), error);
      if (error) continue;
      sockets.push_back(inner);
      sockets.push_back(outer);
      asio::co_spawn(io, copy(inner, outer), asio::detached);
      asio::co_spawn(io, copy(outer, inner), asio::detached);
    }
  }
};

EngineGate::EngineGate(std::filesystem::path path, std::string engine) : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->engine = std::move(engine);
  state_->open();
  state_->thread = std::thread([state = state_.get()] { state->io.run(); });
}

EngineGate::~EngineGate() {
  shut();
  state_->work.reset();
  state_->thread.join();
}

std::string EngineGate::host() const { return "unix://" + state_->path.string(); }

void EngineGate::shut() {
  asio::dispatch(state_->io, asio::use_future([this] { state_->shut(); })).get();
}

void EngineGate::open() {
  asio::dispatch(state_->io, asio::use_future([this] { state_->open(); })).get();
}

}  // namespace cloche::testing_support

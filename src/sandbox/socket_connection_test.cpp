// Connections of programs whose other end is a socket of this process.
#include "sandbox/socket_connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "core/async/event.hpp"
#include "sandbox/testing/connected_sockets.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

class SocketConnectionTest : public testing::Test {
 protected:
  SocketConnectionTest() {
    auto [ours, theirs] = connected_sockets(io_.get_executor());
    program_.emplace(std::move(theirs));
    connection_ = all_->add(std::move(ours));
  }

  void run(const std::function<Task<>()>& body) {
    bool ended = false;
    asio::co_spawn(
        io_, [&]() -> Task<> { co_await body(); },
        [&](std::exception_ptr thrown) {
          if (thrown) std::rethrow_exception(thrown);
          ended = true;
        });
    while (!ended && io_.run_one_for(30s) > 0) continue;
    EXPECT_TRUE(ended);
  }

  // What the program reads next: bytes, "" at the end, "reset".
  std::string program_reads() {
    program_->non_blocking(false);
    char bytes[64];
    const ssize_t n = ::recv(program_->native_handle(), bytes, sizeof bytes, 0);
    return n < 0 ? "reset" : std::string(bytes, static_cast<std::size_t>(n));
  }
  void program_sends(std::string_view bytes) {
    ASSERT_EQ(::send(program_->native_handle(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }

  asio::io_context io_;
  std::shared_ptr<FrozenTime> frozen_ = std::make_shared<FrozenTime>();
  std::shared_ptr<SocketConnections> all_ = std::make_shared<SocketConnections>(frozen_);
  std::unique_ptr<TcpConnection> connection_;
  std::optional<tcp::socket> program_;
};

TEST_F(SocketConnectionTest, Bytes_GoBothWaysAndEachSideEndsItsOwn) {
  run([this]() -> Task<> {
    program_sends("question");
    EXPECT_EQ((co_await connection_->read()).value(), "question");
    (void)co_await connection_->write("answer");
    connection_->finish();
    EXPECT_EQ(program_reads(), "answer");
    EXPECT_EQ(program_reads(), "");
    program_sends("late");
    program_->shutdown(tcp::socket::shutdown_send);
    EXPECT_EQ((co_await connection_->read()).value(), "late");
    EXPECT_EQ((co_await connection_->read()).value(), "");
  });
}

TEST_F(SocketConnectionTest, ConnectionThatIsGivenUp_IsReset) {
  connection_.reset();
  EXPECT_EQ(program_reads(), "reset");
  EXPECT_EQ(all_->size(), 0u);
}

TEST_F(SocketConnectionTest, FinishedConnectionThatIsGivenUp_LetsTheProgramReadItAll) {
  run([this]() -> Task<> {
    // Unread bytes of the program: closing the socket would reset the connection.
    program_sends("not read");
    const std::string much(1 << 20, 'x');
    const auto feed = [&]() -> Task<> { (void)co_await connection_->write(much); };
    std::size_t read = 0;
    program_->non_blocking(true);
    std::string room(64 << 10, '\0');
    const auto take = [&]() -> Task<> {
      while (read + 512 * 1024 < much.size()) {
        const auto [code, n] =
            co_await program_->async_read_some(asio::buffer(room), asio::as_tuple(asio::use_awaitable));
        if (code) co_return;
        read += n;
      }
    };
    using asio::experimental::awaitable_operators::operator&&;
    co_await (feed() && take());
    connection_->finish();
    connection_.reset();
    program_sends("still sent");
    for (;;) {
      const auto [code, n] =
          co_await program_->async_read_some(asio::buffer(room), asio::as_tuple(asio::use_awaitable));
      EXPECT_TRUE(!code || code == asio::error::eof) << code.message();
      if (code) break;
      read += n;
    }
    EXPECT_EQ(read, much.size());
    EXPECT_EQ(all_->size(), 1u) << "the program has not ended its side";
    program_->close();
    while (all_->size() > 0) co_await pause_for(1ms);
  });
}

TEST_F(SocketConnectionTest, Cut_ResetsAllAndEndsTheirSteps) {
  run([this]() -> Task<> {
    auto [ours, theirs] = connected_sockets(io_.get_executor());
    auto finished = all_->add(std::move(ours));
    finished->finish();
    finished.reset();
    asio::steady_timer soon(io_, 10ms);
    soon.async_wait([this](auto) { all_->cut({ErrorCode::sandbox_lost, "gone"}); });
    const auto read = co_await connection_->read();
    EXPECT_FALSE(read);
    if (!read) {
      EXPECT_EQ(read.error().code, ErrorCode::sandbox_lost);
    }
    const auto written = co_await connection_->write("x");
    EXPECT_FALSE(written);
    EXPECT_EQ(connection_->socket(), nullptr);
    EXPECT_EQ(program_reads(), "reset");
    auto [late, other] = connected_sockets(io_.get_executor());
    const auto added = all_->add(std::move(late));
    EXPECT_FALSE(co_await added->read());
    EXPECT_EQ(all_->size(), 0u);
  });
}

TEST_F(SocketConnectionTest, ProgramThatResets_HasEndedAndWritesFail) {
  run([this]() -> Task<> {
    program_sends("before");
    program_->set_option(asio::socket_base::linger(true, 0));
    program_->close();
    EXPECT_EQ((co_await connection_->read()).value(), "before");
    EXPECT_EQ((co_await connection_->read()).value(), "");
    const auto written = co_await connection_->write("for no one");
    EXPECT_TRUE(!written && written.error().code == ErrorCode::unavailable);
  });
}

TEST_F(SocketConnectionTest, DeadlineThatPasses_IsATimeoutAndNothingIsLost) {
  run([this]() -> Task<> {
    const auto read = co_await connection_->read(Deadline::after(1ms));
    EXPECT_TRUE(!read && read.error().code == ErrorCode::timeout);
    program_sends("now");
    EXPECT_EQ((co_await connection_->read()).value(), "now");
  });
}

TEST_F(SocketConnectionTest, DeadlineWhileFrozen_IsLaterByThatTime) {
  run([this]() -> Task<> {
    frozen_->set_frozen(true);
    asio::steady_timer later(io_, 50ms);
    later.async_wait([this](auto) { program_sends("patience"); });
    EXPECT_EQ((co_await connection_->read(Deadline::after(1ms))).value(), "patience");
    frozen_->set_frozen(false);
  });
}

}  // namespace
}  // namespace cloche

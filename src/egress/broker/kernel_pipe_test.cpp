// Bytes that are moved between sockets within the kernel.
#include "egress/broker/kernel_pipe.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>

#include "sandbox/testing/connected_sockets.hpp"

namespace cloche::egress {
namespace {

using Step = KernelPipe::Step;
using asio::ip::tcp;

class KernelPipeTest : public ::testing::Test {
 protected:
  KernelPipeTest() : from_(connected_sockets(io_.get_executor())), to_(connected_sockets(io_.get_executor())) {}

  void send(std::string_view bytes) {
    ASSERT_EQ(::send(from_.first.native_handle(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  std::string received() {
    std::string bytes(1 << 20, '\0');
    const ssize_t n = ::recv(to_.second.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }
  int source() { return from_.second.native_handle(); }
  int target() { return to_.first.native_handle(); }

  asio::io_context io_;
  std::pair<tcp::socket, tcp::socket> from_;
  std::pair<tcp::socket, tcp::socket> to_;
  std::shared_ptr<KernelPipes> pipes_ = std::make_shared<KernelPipes>();
  KernelPipe pipe_{pipes_};
};

int open_descriptors() {
  int count = 0;
  DIR* const directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

TEST_F(KernelPipeTest, Bytes_ArriveAsTheyWere) {
  send("some bytes");
  EXPECT_EQ(pipe_.fill(source()), Step::moved);
  EXPECT_EQ(pipe_.held(), 10u);
  EXPECT_EQ(pipe_.drain(target()), Step::moved);
  EXPECT_EQ(pipe_.held(), 0u);
  EXPECT_EQ(received(), "some bytes");
}

TEST_F(KernelPipeTest, SocketWithoutBytes_MustBeWaitedFor) {
  EXPECT_EQ(pipe_.fill(source()), Step::must_wait);
  EXPECT_EQ(pipe_.held(), 0u);
}

TEST_F(KernelPipeTest, EndOfASocket_ComesAfterItsBytes) {
  send("last");
  from_.first.shutdown(tcp::socket::shutdown_send);
  EXPECT_EQ(pipe_.fill(source()), Step::moved);
  EXPECT_EQ(pipe_.drain(target()), Step::moved);
  EXPECT_EQ(pipe_.fill(source()), Step::at_end);
}

TEST_F(KernelPipeTest, ReaderThatDoesNotRead_MustBeWaitedForAndLosesNothing) {
  const std::string piece(64 << 10, 'x');
  std::size_t sent = 0;
  Step step = Step::moved;
  while (step != Step::must_wait) {
    // Until neither side takes more.
    const ssize_t n = ::send(from_.first.native_handle(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n > 0) sent += static_cast<std::size_t>(n);
    if (pipe_.held() == 0) {
      ASSERT_EQ(pipe_.fill(source()), Step::moved);
    }
    step = pipe_.drain(target()).value();
  }
  EXPECT_GT(pipe_.held(), 0u);
  std::size_t arrived = 0;
  while (arrived < sent) {
    arrived += received().size();
    if (pipe_.held() == 0) {
      ASSERT_TRUE(pipe_.fill(source()));
    }
    if (pipe_.held() > 0) {
      ASSERT_TRUE(pipe_.drain(target()));
    }
  }
  EXPECT_EQ(arrived, sent);
}

TEST_F(KernelPipeTest, ReaderThatIsGone_IsAnErrorAndNoSignal) {
  struct sigaction how = {};
  ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &how), 0);
  ASSERT_EQ(how.sa_handler, SIG_DFL) << "the signal would end this process";
  to_.first.shutdown(tcp::socket::shutdown_send);
  send("for no one");
  EXPECT_EQ(pipe_.fill(source()), Step::moved);
  const auto drained = pipe_.drain(target());
  ASSERT_FALSE(drained);
  EXPECT_EQ(drained.error().code, ErrorCode::unavailable);
  sigset_t pending;
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  sigset_t blocked;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
  EXPECT_EQ(sigismember(&blocked, SIGPIPE), 0);
}

TEST_F(KernelPipeTest, PipeWithBytes_IsNotUsedAgain) {
  const int before = open_descriptors();
  {
    KernelPipe left(pipes_);
    send("left behind");
    EXPECT_EQ(left.fill(source()), Step::moved);
    EXPECT_EQ(open_descriptors(), before + 2);
  }
  EXPECT_EQ(open_descriptors(), before);
  send("next");
  EXPECT_EQ(pipe_.fill(source()), Step::moved);
  EXPECT_EQ(pipe_.drain(target()), Step::moved);
  EXPECT_EQ(received(), "next");
}

TEST_F(KernelPipeTest, ConnectionThatWaits_HasNoPipe) {
  send("x");
  EXPECT_EQ(pipe_.fill(source()), Step::moved);
  EXPECT_EQ(pipe_.drain(target()), Step::moved);
  EXPECT_EQ(pipe_.fill(source()), Step::must_wait);
  const int before = open_descriptors();
  auto third = connected_sockets(io_.get_executor());
  KernelPipe other(pipes_);
  ASSERT_EQ(::send(third.first.native_handle(), "y", 1, 0), 1);
  EXPECT_EQ(other.fill(third.second.native_handle()), Step::moved);
  EXPECT_EQ(open_descriptors(), before + 2) << "the two sockets; the pipe is the one that was given back";
}

}  // namespace
}  // namespace cloche::egress

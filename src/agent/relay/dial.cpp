#include "agent/relay/dial.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "agent/identity.hpp"
#include "agent/link/descriptors.hpp"
#include "agent/own_process.hpp"
#include "agent/relay/relay_socket.hpp"
#include "relay/protocol.hpp"

namespace cloche::agent {

namespace {

// How long a server may take for its handshake if there is no relay.
constexpr int refusal_timeout_ms = 5'000;
constexpr int patience_step_ms = 10;

// One direction. It ends when its source has ended and all of it was written, or when its target is gone.
class OneWay {
 public:
  OneWay(int from, int to) : from_(from), to_(to) {
    for (const int fd : {from, to}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }

  // What to wait for next.
  pollfd waits() const {
    if (position_ < size_) return {to_, POLLOUT, 0};
    return {from_, POLLIN, 0};
  }
  // False when it has ended.
  bool step() {
    if (position_ == size_) {
      const ssize_t n = ::read(from_, buffer_.data(), buffer_.size());
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      if (n == 0) return false;
      position_ = 0;
      size_ = static_cast<std::size_t>(n);
    }
    const ssize_t n = ::write(to_, buffer_.data() + position_, size_ - position_);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    position_ += static_cast<std::size_t>(n);
    return true;
  }

 private:
  int from_;
  int to_;
  std::array<char, 64 * 1024> buffer_;
  std::size_t position_ = 0;
  std::size_t size_ = 0;
};

// In the relay's place. The server writes its handshake first; a process that exits before could make that fail.
void refuse_handshake() {
  for (std::size_t missing = relay::handshake_size; missing > 0;) {
    char bytes[relay::handshake_size];
    pollfd polled{STDIN_FILENO, POLLIN, 0};
    if (::poll(&polled, 1, refusal_timeout_ms) <= 0) break;
    const ssize_t n = ::read(STDIN_FILENO, bytes, missing);
    if (n <= 0) break;
    missing -= static_cast<std::size_t>(n);
  }
  const std::string reply = relay::encode({.kind = relay::HandshakeKind::refused, .reason = relay::Reason::no_relay});
  (void)!::write(STDOUT_FILENO, reply.data(), reply.size());
}

Result<UniqueFd> connect_patiently(bool patient) {
  constexpr int most_tries = 500;
  for (int tries = 1;; ++tries) {
    auto socket = connect_to_relay(relay::socket_name);
    const bool is_late = !socket && socket.error().code == ErrorCode::unavailable;
    if (!is_late || !patient || tries == most_tries) return socket;
    ::poll(nullptr, 0, patience_step_ms);
  }
}

}  // namespace

void run_dial(bool patient) {
  ::prctl(PR_SET_NAME, "cloche-dial", 0, 0, 0);
  ::signal(SIGPIPE, SIG_IGN);
  hide_memory();
  close_all_but({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  forget_environment();
  const auto socket = connect_patiently(patient);
  if (!socket) {
    std::fprintf(stderr, "cloche-agent: dial: %s\n", socket.error().message.c_str());
    if (socket.error().code == ErrorCode::unavailable) refuse_handshake();
    std::_Exit(1);
  }
  OneWay up(STDIN_FILENO, socket->get());
  OneWay down(socket->get(), STDOUT_FILENO);
  for (;;) {
    std::array<pollfd, 2> polled{up.waits(), down.waits()};
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) std::_Exit(1);
    if (polled[1].revents != 0 && !down.step()) std::_Exit(0);
    if (polled[0].revents != 0 && !up.step()) std::_Exit(0);
  }
}

}  // namespace cloche::agent

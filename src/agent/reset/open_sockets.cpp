#include "agent/reset/open_sockets.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <sstream>

#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kinds = {"tcp", "tcp6", "udp",  "udp6",  "udplite", "udplite6",
                              "raw", "raw6", "icmp", "icmp6", "unix"};
constexpr std::size_t most_lines = 32;
// The kernel closes what lost its last process a moment after that process is gone.
constexpr std::chrono::milliseconds patience{250};

std::string read_whole(const std::string& path) {
  std::string text;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[8192];
  for (ssize_t n = 0; fd && (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

std::vector<std::string> list_now() {
  std::vector<std::string> lines;
  for (const char* kind : kinds) {
    for (auto& line : parse_sockets(kind, read_whole(std::string("/proc/net/") + kind))) {
      if (lines.size() < most_lines) lines.push_back(std::move(line));
    }
  }
  // gVisor keeps the port of a closed connection as well, but lists it nowhere, and has no such count as Linux.
  if (::access("/proc/net/sockstat", F_OK) != 0 && parse_connections(read_whole("/proc/net/snmp")) > 0)
    lines.emplace_back("possibly ports of closed connections, which are not visible here");
  return lines;
}

// When a socket closes and any socket is in flight, Linux searches for sockets that are only held by other sockets.
void make_kernel_look() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return;
  ::close(pair[0]);
  ::close(pair[1]);
}

}  // namespace

std::vector<std::string> parse_sockets(std::string_view kind, std::string_view text) {
  std::vector<std::string> found;
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string field;
    if (kind == "unix") {
      // Num RefCount Protocol Flags Type St Inode Path: sockets without a name cannot be reached, those with a path are
      // files.
      for (int i = 0; i < 8; ++i) {
        if (!(fields >> field)) field.clear();
      }
      if (field.starts_with('@')) found.push_back("socket unix " + field);
      continue;
    }
    // Number, local address, remote address, state.
    std::string local;
    if (fields >> field >> local >> field >> field)
      found.push_back("socket " + std::string(kind) + " " + local + " in state " + field);
  }
  return found;
}

std::uint64_t parse_connections(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string field;
    if (!(fields >> field) || field != "Tcp:") continue;
    if (names.empty()) {
      while (fields >> field) names.push_back(field);
      continue;
    }
    for (const auto& name : names) {
      std::uint64_t value = 0;
      if (!(fields >> field)) return 0;
      if (name == "ActiveOpens" && std::istringstream(field) >> value) return value;
    }
  }
  return 0;
}

std::vector<std::string> list_open_sockets() {
  const auto deadline = Clock::now() + patience;
  for (bool first = true;; first = false) {
    auto found = list_now();
    if (found.empty() || Clock::now() >= deadline) return found;
    if (first) make_kernel_look();
    ::poll(nullptr, 0, 5);
  }
}

}  // namespace cloche::agent

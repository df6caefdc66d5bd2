#include "agent/reset/open_sockets.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <sstream>

#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kinds = {"tcp", "tcp6", "udp",  "udp6",  "udplite", "udplite6",
                              "raw", "raw6", "icmp", "icmp6", "unix"};
constexpr std::size_t most_lines = 32;
// The kernel closes what lost its last process a moment after that process is gone.
constexpr std::chrono::milliseconds close_grace{250};

std::string read_whole(const std::string& path) {
  std::string text;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[8192];
  for (ssize_t n = 0; fd && (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

std::vector<std::string> list_now(std::string_view spared) {
  std::vector<std::string> lines;
  for (const char* kind : kinds) {
    for (auto& line : parse_sockets(kind, read_whole(std::string("/proc/net/") + kind), spared)) {
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

// An address and a port as /proc/net/tcp prints them: words of 32 bits in the order of this machine, then the port.
bool parse_endpoint(std::string_view text, sockaddr_storage& endpoint) {
  constexpr std::size_t word_digits = 8;
  const auto colon = text.find(':');
  if (colon != word_digits && colon != 4 * word_digits) return false;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i * word_digits < colon; ++i) {
    const auto digits = text.substr(i * word_digits, word_digits);
    if (std::from_chars(digits.begin(), digits.end(), words[i], 16).ptr != digits.end()) return false;
  }
  std::uint16_t port = 0;
  if (std::from_chars(text.begin() + colon + 1, text.end(), port, 16).ptr != text.end()) return false;
  endpoint = {};
  if (colon == word_digits) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(endpoint);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, words.data(), sizeof v4.sin_addr);
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(endpoint);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, words.data(), sizeof v6.sin6_addr);
  }
  return true;
}

// The end that is kept answers a new connection from the other end with an acknowledgement, which makes no sense to the
// latter: it responds with a reset, and a reset is what the kernel forgets the connection for.
void end_for_good(const KeptConnection& kept) {
  const UniqueFd other(::socket(kept.local.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!other) return;
  const int on = 1;
  ::setsockopt(other.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(other.get(), reinterpret_cast<const sockaddr*>(&kept.remote), sizeof kept.remote) != 0) return;
  (void)::connect(other.get(), reinterpret_cast<const sockaddr*>(&kept.local), sizeof kept.local);
}

void end_kept_connections(Clock::time_point deadline) {
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    for (const auto& kept : parse_kept_connections(read_whole(file))) {
      if (Clock::now() >= deadline) return;
      end_for_good(kept);
    }
  }
}

}  // namespace

std::vector<KeptConnection> parse_kept_connections(std::string_view text) {
  constexpr std::string_view time_wait = "06";
  std::vector<KeptConnection> found;
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string number, local, remote, state;
    KeptConnection kept{};
    if (fields >> number >> local >> remote >> state && state == time_wait && parse_endpoint(local, kept.local) &&
        parse_endpoint(remote, kept.remote))
      found.push_back(kept);
  }
  return found;
}

std::vector<std::string> parse_sockets(std::string_view kind, std::string_view text, std::string_view spared) {
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
      const bool is_spared =
          !spared.empty() && std::string_view(field).substr(std::min<std::size_t>(1, field.size())) == spared;
      if (field.starts_with('@') && !is_spared) found.push_back("socket unix " + field);
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

std::vector<std::string> list_open_sockets(std::string_view spared) {
  const auto deadline = Clock::now() + close_grace;
  for (bool first = true;; first = false) {
    auto found = list_now(spared);
    if (found.empty() || Clock::now() >= deadline) return found;
    if (first) make_kernel_look();
    end_kept_connections(deadline);
    ::poll(nullptr, 0, 5);
  }
}

}  // namespace cloche::agent

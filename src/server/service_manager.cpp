#include "server/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/async/event.hpp"
#include "core/unique_fd.hpp"

namespace cloche::server {

namespace {

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

std::optional<std::uint64_t> number_in(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
  std::string socket = take_variable("NOTIFY_SOCKET");
  const auto interval = number_in(take_variable("WATCHDOG_USEC"));
  const std::string process = take_variable("WATCHDOG_PID");
  const bool is_watched = process.empty() || number_in(process) == static_cast<std::uint64_t>(::getpid());
  std::optional<std::chrono::microseconds> watchdog;
  if (is_watched && interval && *interval > 0) watchdog = std::chrono::microseconds(*interval);
  return ServiceManager(std::move(socket), watchdog);
}

void ServiceManager::notify(std::string_view assignments) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool is_usable = !socket_.empty() && (socket_[0] == '/' || socket_[0] == '@');
  if (!is_usable || socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const UniqueFd out(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // A supervisor that does not listen loses the message; the service works without it.
  (void)::sendto(out.get(), assignments.data(), assignments.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), length);
}

Task<> ServiceManager::feed_watchdog() const {
  Event never(co_await asio::this_coro::executor);
  if (!watchdog_) co_await never.wait();
  for (;;) {
    notify("WATCHDOG=1");
    co_await pause_for(*watchdog_ / 2);
  }
}

}  // namespace cloche::server

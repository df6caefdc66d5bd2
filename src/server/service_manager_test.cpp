#include "server/service_manager.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "core/unique_fd.hpp"

namespace cloche::server {
namespace {

using namespace std::chrono_literals;

// A supervisor that listens on an abstract socket of a name that no other test has.
class Supervisor {
 public:
  Supervisor() : name_("@cloche-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  }
  const std::string& name() const { return name_; }
  std::string next() const {
    char text[256];
    const ssize_t n = ::recv(socket_.get(), text, sizeof text, MSG_DONTWAIT);
    return n < 0 ? "" : std::string(text, static_cast<std::size_t>(n));
  }

 private:
  static inline int count = 0;
  std::string name_;
  UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST(ServiceManager, SupervisorThatListens_GetsEachMessage) {
  const Supervisor supervisor;
  const ServiceManager manager(supervisor.name(), std::nullopt);
  manager.notify("READY=1\nSTATUS=serving");
  manager.notify("STOPPING=1");
  EXPECT_EQ(supervisor.next(), "READY=1\nSTATUS=serving");
  EXPECT_EQ(supervisor.next(), "STOPPING=1");
}

TEST(ServiceManager, SocketThatCannotBeUsed_IsIgnored) {
  for (const std::string& name : {std::string(), std::string("relative"), "/" + std::string(200, 'x'),
                                  std::string("@cloche-test-absent"), std::string("/nonexistent/socket")}) {
    ServiceManager(name, std::nullopt).notify("READY=1");
  }
}

TEST(ServiceManager, Watchdog_IsFedTwiceInEachInterval) {
  const Supervisor supervisor;
  const ServiceManager manager(supervisor.name(), 4ms);
  asio::io_context loop;
  asio::co_spawn(loop, manager.feed_watchdog(), asio::detached);
  for (int fed = 0; fed < 3;) {
    loop.run_one();
    const std::string message = supervisor.next();
    if (message.empty()) continue;
    EXPECT_EQ(message, "WATCHDOG=1");
    ++fed;
  }
}

TEST(ServiceManager, NoWatchdog_SendsNothing) {
  const Supervisor supervisor;
  const ServiceManager manager(supervisor.name(), std::nullopt);
  asio::io_context loop;
  asio::co_spawn(loop, manager.feed_watchdog(), asio::detached);
  loop.poll();
  EXPECT_EQ(supervisor.next(), "");
}

TEST(ServiceManager, VariablesOfTheSupervisor_AreUsedAndNotInherited) {
  const Supervisor supervisor;
  ::setenv("NOTIFY_SOCKET", supervisor.name().c_str(), 1);
  ::setenv("WATCHDOG_USEC", "2000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  const ServiceManager manager = ServiceManager::from_environment();
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(std::getenv("WATCHDOG_USEC"), nullptr);
  EXPECT_EQ(std::getenv("WATCHDOG_PID"), nullptr);
  manager.notify("READY=1");
  EXPECT_EQ(supervisor.next(), "READY=1");
  // The watchdog watches another process.
  asio::io_context loop;
  asio::co_spawn(loop, manager.feed_watchdog(), asio::detached);
  loop.poll();
  EXPECT_EQ(supervisor.next(), "");
}

}  // namespace
}  // namespace cloche::server

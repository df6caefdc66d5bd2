// ServiceManager: reports the state of the service to its supervisor (systemd) by the datagrams of sd_notify(3).
// Without a supervisor that wants them, nothing is sent.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/async/task.hpp"

namespace cloche::server {

class ServiceManager {
 public:
  // Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that no child inherits them.
  static ServiceManager from_environment();
  // `socket`: a path, or an abstract name that starts with '@'; empty: no supervisor.
  ServiceManager(std::string socket, std::optional<std::chrono::microseconds> watchdog)
      : socket_(std::move(socket)), watchdog_(watchdog) {}

  // Such as "READY=1" or "STATUS=starting", one assignment a line.
  void notify(std::string_view assignments) const;

  // Reports that the service is alive, twice in each interval of the watchdog, for ever. It runs on the loop of the
  // service, so that a loop that hangs is noticed.
  Task<> feed_watchdog() const;

 private:
  std::string socket_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace cloche::server

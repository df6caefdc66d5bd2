#include "library/quiet_log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <mutex>

#include "core/log.hpp"

namespace cloche {

namespace {

// The default logger of spdlog: without a name, and for stdout only.
bool is_untouched(const spdlog::logger& logger) {
  return logger.name().empty() && logger.sinks().size() == 1 &&
         dynamic_cast<spdlog::sinks::stdout_color_sink_mt*>(logger.sinks().front().get()) != nullptr;
}

}  // namespace

void keep_log_off_stdout() {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto logger = spdlog::default_logger();
    if (logger && is_untouched(*logger)) log::set_up(log::Level::warn);
  });
}

}  // namespace cloche

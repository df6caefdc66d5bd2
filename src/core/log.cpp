#include "core/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>

namespace cloche::log {

void set_up(spdlog::level::level_enum level) {
  auto logger = spdlog::stderr_color_mt("cloche");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  logger->set_level(level);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace cloche::log

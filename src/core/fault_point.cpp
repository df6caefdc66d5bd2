#include "core/fault_point.hpp"

#ifdef CLOCHE_FAULT_POINTS

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>

namespace cloche {

void fault_point(std::string_view name) {
  static std::atomic<int> visits = 0;
  const char* setting = std::getenv("CLOCHE_FAULT");
  if (setting == nullptr) return;
  const std::string_view wanted = setting;
  const auto colon = wanted.find(':');
  if (name != wanted.substr(0, colon)) return;
  int deadly_visit = 1;
  if (colon != std::string_view::npos) {
    const auto count = wanted.substr(colon + 1);
    std::from_chars(count.data(), count.data() + count.size(), deadly_visit);
  }
  if (++visits == deadly_visit) ::kill(::getpid(), SIGKILL);
}

}  // namespace cloche

#else

namespace cloche {
void fault_point(std::string_view /*name*/) {}
}  // namespace cloche

#endif

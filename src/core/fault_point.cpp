#include "core/fault_point.hpp"

#ifdef CLOCHE_FAULT_POINTS

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

namespace cloche {

namespace {

struct Fault {
  std::string_view name;
  int visits_left = 1;
};

Fault from_environment() {
  Fault fault;
  const char* wanted = std::getenv("CLOCHE_FAULT");
  if (wanted == nullptr) return fault;
  fault.name = wanted;
  if (const auto colon = fault.name.find(':'); colon != std::string_view::npos) {
    const auto count = fault.name.substr(colon + 1);
    std::from_chars(count.data(), count.data() + count.size(), fault.visits_left);
    fault.name = fault.name.substr(0, colon);
  }
  return fault;
}

}  // namespace

void fault_point(std::string_view name) {
  static Fault fault = from_environment();
  if (fault.name.empty() || name != fault.name) return;
  if (--fault.visits_left == 0) ::kill(::getpid(), SIGKILL);
}

}  // namespace cloche

#else

namespace cloche {
void fault_point(std::string_view /*name*/) {}
}  // namespace cloche

#endif

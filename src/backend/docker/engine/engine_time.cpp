#include "backend/docker/engine/engine_time.hpp"

#include <algorithm>
#include <ctime>

namespace cloche::docker {

Result<std::string> to_event_time(std::string_view rfc3339) {
  const std::string text(rfc3339);
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string_view rest = end ? std::string_view(end) : std::string_view();
  std::string nanoseconds;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    nanoseconds = rest.substr(0, digits);
    rest.remove_prefix(digits);
  }
  // The engine uses UTC; anything else does not come from it.
  if (rest != "Z" || nanoseconds.size() > 9)
    return fail(ErrorCode::protocol, "invalid UTC time: '" + text.substr(0, 40) + "'");
  nanoseconds.resize(9, '0');
  return std::to_string(::timegm(&parts)) + "." + nanoseconds;
}

std::string now_rfc3339() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace cloche::docker

#include "session/limit_ceiling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bytes.hpp"

namespace cloche::session {

namespace {

std::string text_of_limit(Bytes size) { return to_string(size); }
std::string text_of_limit(auto number) { return fmt::format("{}", number); }

template <class T>
Status check_one(const char* name, const std::optional<T>& asked, T of_profile, const std::optional<T>& ceiling) {
  const T most = std::max(of_profile, ceiling.value_or(of_profile));
  if (!asked || *asked <= most) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("limits: {} is {}, but a request may set at most {}; the operator can raise this with "
                          "`max_limits` of `sessions`",
                          name, text_of_limit(*asked), text_of_limit(most)));
}

}  // namespace

Status check_ceiling(const LimitOverrides& asked, const Limits& of_profile, const LimitOverrides& ceiling) {
  CLOCHE_CHECK(check_one("memory", asked.memory, of_profile.memory, ceiling.memory));
  CLOCHE_CHECK(check_one("cpus", asked.cpus, of_profile.cpus, ceiling.cpus));
  CLOCHE_CHECK(check_one("pids", asked.pids, of_profile.pids, ceiling.pids));
  CLOCHE_CHECK(check_one("file_size", asked.file_size, of_profile.file_size, ceiling.file_size));
  return check_one("open_files", asked.open_files, of_profile.open_files, ceiling.open_files);
}

}  // namespace cloche::session

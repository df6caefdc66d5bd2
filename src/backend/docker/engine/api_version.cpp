#include "backend/docker/engine/api_version.hpp"

#include <algorithm>
#include <charconv>

namespace cloche::docker {

namespace {

bool read_number(std::string_view text, int& into) {
  const auto [end, code] = std::from_chars(text.begin(), text.end(), into);
  return code == std::errc() && end == text.end() && into >= 0;
}

}  // namespace

Result<ApiVersion> parse_api_version(std::string_view text) {
  ApiVersion version;
  const auto dot = std::min(text.find('.'), text.size());
  const bool two_numbers = dot < text.size() && read_number(text.substr(0, dot), version.major) &&
                           read_number(text.substr(dot + 1), version.minor);
  if (two_numbers) return version;
  return fail(ErrorCode::protocol, "the engine's API version is '" + std::string(text.substr(0, 32)) + "'");
}

std::string to_string(ApiVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

Result<ApiVersion> choose_api_version(ApiVersion newest, ApiVersion oldest) {
  if (newest < oldest_api) {
    return fail(ErrorCode::unsupported, "the engine supports API " + to_string(newest) + ", but Cloche requires " +
                                            to_string(oldest_api) + " or newer; update the engine");
  }
  return std::max(std::min(newest, preferred_api), std::min(oldest, newest));
}

}  // namespace cloche::docker

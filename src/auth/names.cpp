#include "auth/names.hpp"

#include <algorithm>
#include <string>

namespace cloche::auth {

namespace {

// Not std::isalnum: the result must not depend on the locale.
bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

Status check_name(std::string_view what, std::string_view name) {
  if (is_valid_name(name)) return {};
  return fail(ErrorCode::invalid_argument,
              std::string(what) + " must have 1 to 64 letters, digits, '_', '.' or '-', and must not be '.' or '..'");
}

}  // namespace

bool is_valid_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && name != "." && name != ".." &&
         std::ranges::all_of(name, is_name_character);
}

Status check_tenant(std::string_view name) { return check_name("a tenant name", name); }
Status check_session_id(std::string_view name) { return check_name("a session id", name); }
Status check_volume_name(std::string_view name) { return check_name("a volume name", name); }

}  // namespace cloche::auth

// Valid names of tenants, sessions and volumes: `[A-Za-z0-9_.-]{1,64}`, except `.` and `..`. Such a name is safe as a
// path component, in a label, in a log line and in a URL.
#pragma once

#include <string_view>

#include "core/result.hpp"

namespace cloche::auth {

constexpr std::size_t longest_name = 64;

bool is_valid_name(std::string_view name);

// `invalid_argument` with the rule; the message does not repeat the name, which may be anything.
Status check_tenant(std::string_view name);
Status check_session_id(std::string_view name);
Status check_volume_name(std::string_view name);

}  // namespace cloche::auth

// Header fields of Connect's requests. No I/O.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "dialect/e2b/connect/failure.hpp"
#include "http/fields.hpp"

namespace cloche::dialect::e2b::connect {

inline constexpr std::string_view unary_type = "application/json";
inline constexpr std::string_view stream_type = "application/connect+json";

// Whether the body has this type, in UTF-8.
bool has_type(const http::Fields& fields, std::string_view type);

// The protocol's version and compression. Only version 1 and no compression are known.
Reply<> check_protocol(const http::Fields& fields);

// Connect-Timeout-Ms; none: no limit.
Reply<std::optional<std::chrono::milliseconds>> timeout_of(const http::Fields& fields);

// Keepalive-Ping-Interval: how long a stream may be silent. 90 s if the field is missing or invalid, at least 1 s.
std::chrono::seconds keepalive_interval(const http::Fields& fields);

}  // namespace cloche::dialect::e2b::connect

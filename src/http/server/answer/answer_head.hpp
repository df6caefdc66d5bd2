// The head of an answer as it is sent. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "http/fields.hpp"
#include "http/server/request/request_head.hpp"

namespace cloche::http {

enum class AnswerFraming {
  none,       // this status has no body
  length,     // `length` contains its size
  chunked,    // in chunks
  to_the_end  // until the connection closes, for clients that know no chunks
};

struct AnswerHead {
  unsigned status = 200;
  const Fields& fields;
  AnswerFraming framing = AnswerFraming::none;
  std::uint64_t length = 0;
  std::string_view connection;  // value of Connection; none when empty
  std::string_view request_id;
  Role role = Role::origin;
};

// `invalid_argument` when a field would break out of its line, or is one that the server writes itself: Connection,
// Content-Length, Date, Transfer-Encoding, X-Request-Id and what else concerns one connection only. A proxy writes no
// Date and no X-Request-Id of its own, and passes those of the server on.
Result<std::string> serialise_answer_head(const AnswerHead& head);

// Removes the fields about one connection, for proxies: the standard's list, what Connection names, and the length,
// which is written again.
Fields without_hop_by_hop(const Fields& fields);

}  // namespace cloche::http

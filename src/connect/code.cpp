#include "connect/code.hpp"

#include <algorithm>
#include <array>

namespace cloche::connect {

namespace {

struct CodeRow {
  std::string_view name;
  unsigned status;
  ErrorCode ours;
};

// In the order of the enumeration.
constexpr std::array code_rows = {
    CodeRow{"canceled", 499, ErrorCode::cancelled},
    CodeRow{"unknown", 500, ErrorCode::internal},
    CodeRow{"invalid_argument", 400, ErrorCode::invalid_argument},
    CodeRow{"deadline_exceeded", 504, ErrorCode::timeout},
    CodeRow{"not_found", 404, ErrorCode::not_found},
    CodeRow{"already_exists", 409, ErrorCode::already_exists},
    CodeRow{"permission_denied", 403, ErrorCode::permission_denied},
    CodeRow{"resource_exhausted", 429, ErrorCode::limit_reached},
    CodeRow{"failed_precondition", 400, ErrorCode::invalid_argument},
    CodeRow{"aborted", 409, ErrorCode::unavailable},
    CodeRow{"out_of_range", 400, ErrorCode::invalid_argument},
    CodeRow{"unimplemented", 501, ErrorCode::unsupported},
    CodeRow{"internal", 500, ErrorCode::internal},
    CodeRow{"unavailable", 503, ErrorCode::unavailable},
    CodeRow{"data_loss", 500, ErrorCode::internal},
    CodeRow{"unauthenticated", 401, ErrorCode::permission_denied},
};

const CodeRow& row_of(Code code) { return code_rows[static_cast<std::size_t>(code)]; }

}  // namespace

std::string_view to_string(Code code) { return row_of(code).name; }

std::optional<Code> parse_code(std::string_view name) {
  const auto* found = std::ranges::find(code_rows, name, &CodeRow::name);
  if (found == code_rows.end()) return std::nullopt;
  return static_cast<Code>(found - code_rows.begin());
}

unsigned status_of(Code code) { return row_of(code).status; }

ErrorCode error_code_of(Code code) { return row_of(code).ours; }

}  // namespace cloche::connect

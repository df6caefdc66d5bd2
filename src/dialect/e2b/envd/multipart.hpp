// Multipart: the parts of a body of the type multipart/form-data, as they come. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/result.hpp"

namespace cloche::dialect::e2b {

// The boundary in a Content-Type; `invalid_argument` if it has none or an invalid one.
Result<std::string> boundary_of(std::string_view content_type);

class MultipartReader {
 public:
  struct Limits {
    std::size_t parts = 1000;
    std::size_t head = std::size_t{16} * 1024;  // of one part
  };
  explicit MultipartReader(std::string_view boundary) : MultipartReader(boundary, Limits()) {}
  MultipartReader(std::string_view boundary, Limits limits);

  struct PartBegins {
    std::string name;
    std::optional<std::string> file_name;  // whole, with its slashes
  };
  struct PartData {
    std::string bytes;  // not empty
  };
  struct PartEnds {};
  struct NeedsMore {};  // feed it
  struct AllRead {};    // the last boundary has come; what follows is ignored
  using Event = std::variant<PartBegins, PartData, PartEnds, NeedsMore, AllRead>;

  void feed(std::string_view piece);
  // `invalid_argument` if it is not multipart, `limit_reached` for too many parts or a head that is too long. An error
  // is final.
  Result<Event> next();

 private:
  enum class Phase { preamble, after_boundary, head, content, done };

  Result<Event> read_preamble();
  Result<std::optional<Event>> read_after_boundary();
  Result<Event> read_head();
  Result<Event> read_content();

  std::string delimiter_;  // CR LF, two hyphens, boundary
  Limits limits_;
  Phase phase_ = Phase::preamble;
  std::string bytes_;
  std::size_t parts_ = 0;
};

}  // namespace cloche::dialect::e2b

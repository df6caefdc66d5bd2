#include "backend/docker/engine/line_splitter.hpp"

namespace cloche::docker {

Result<std::optional<std::string>> LineSplitter::next(std::string_view& bytes) {
  const auto end = bytes.find('\n');
  const auto part = bytes.substr(0, end);
  if (line_.size() + part.size() > longest_) {
    return fail(ErrorCode::limit_reached, "a line is longer than " + to_string(Bytes{longest_}));
  }
  line_ += part;
  bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
  if (end == std::string_view::npos) return std::nullopt;
  if (line_.ends_with('\r')) line_.pop_back();
  return take_rest();
}

}  // namespace cloche::docker

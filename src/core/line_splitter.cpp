#include "core/line_splitter.hpp"

#include <utility>

namespace cloche {

std::optional<Line> LineSplitter::next(std::string_view& bytes) {
  if (bytes.empty()) return std::nullopt;
  const auto end = bytes.find('\n');
  const auto part = bytes.substr(0, end);
  bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
  // A line that is there as a whole is not copied.
  if (end != bytes.npos && !in_line_) return Line{++number_, part.substr(0, longest_), part.size() > longest_};
  in_line_ = true;
  const auto fitting = part.substr(0, longest_ - begun_.size());
  begun_.append(fitting);
  begun_cut_ = begun_cut_ || fitting.size() < part.size();
  if (end == bytes.npos) return std::nullopt;
  return finish();
}

std::optional<Line> LineSplitter::finish() {
  if (!in_line_) return std::nullopt;
  in_line_ = false;
  std::swap(begun_, ended_);
  begun_.clear();
  return Line{++number_, ended_, std::exchange(begun_cut_, false)};
}

}  // namespace cloche

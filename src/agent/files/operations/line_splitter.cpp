#include "agent/files/operations/line_splitter.hpp"

namespace cloche::agent {

bool LineSplitter::feed(std::string_view bytes) {
  while (wanted_ && !bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    if (end != std::string_view::npos && !in_line_) {
      hand_out(part.substr(0, longest_line), part.size() > longest_line);
    } else {
      in_line_ = true;
      const auto fitting = part.substr(0, longest_line - begun_.size());
      begun_.append(fitting);
      begun_cut_ = begun_cut_ || fitting.size() < part.size();
      if (end != std::string_view::npos) finish();
    }
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  return wanted_;
}

bool LineSplitter::finish() {
  if (in_line_ && wanted_) {
    hand_out(begun_, begun_cut_);
    begun_.clear();
    begun_cut_ = false;
    in_line_ = false;
  }
  return wanted_;
}

bool LineSplitter::hand_out(std::string_view text, bool cut) {
  wanted_ = on_line_({++number_, text, cut});
  return wanted_;
}

}  // namespace cloche::agent

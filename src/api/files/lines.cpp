#include "api/files/lines.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace cloche::api {

void LineWindow::take(std::string_view bytes) {
  scanned_ += bytes.size();
  while (!bytes.empty()) {
    const auto feed = bytes.find('\n');
    const bool ends = feed != std::string_view::npos;
    const std::string_view part = bytes.substr(0, ends ? feed : bytes.size());
    in_line_ = true;
    if (in_window()) keep(part);
    if (ends) end_line();
    bytes.remove_prefix(part.size() + (ends ? 1 : 0));
  }
}

void LineWindow::keep(std::string_view part) {
  const std::size_t room = caps_.line.count - std::min<std::size_t>(caps_.line.count, content_.size() - line_start_);
  if (line_cut_) return;
  content_ += part.substr(0, room);
  if (part.size() > room) {
    line_cut_ = true;
    content_.resize(content_.size() - incomplete_tail(content_));
  }
  if (content_.size() >= caps_.content.count) {
    content_.resize(line_start_);
    full_ = true;
  }
}

void LineWindow::end_line() {
  if (in_window()) {
    content_ += '\n';
    line_start_ = content_.size();
    ++kept_lines_;
    if (line_cut_) ++cut_lines_;
  }
  line_cut_ = false;
  in_line_ = false;
  ++line_;
}

void LineWindow::end() {
  if (in_line_ && in_window()) {
    ++kept_lines_;
    if (line_cut_) ++cut_lines_;
  }
  ended_ = true;
}

bool LineWindow::has_enough() const {
  return ended_ || scanned_ >= (past_window() ? caps_.counted : caps_.scanned).count;
}

}  // namespace cloche::api

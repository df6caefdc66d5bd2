#include "agent/files/operations/line_search.hpp"

namespace cloche::agent {

void LineSearch::begin(const std::string& path) {
  path_ = path;
  before_.clear();
  after_ = 0;
}

bool LineSearch::on_line(const Line& line) {
  if (re2::RE2::PartialMatch(re2::StringPiece(line.text.data(), line.text.size()), pattern_)) {
    if (count_ == cap_) {
      cut_ = true;
      return false;
    }
    ++count_;
    for (wire::GrepMatch& waiting : before_) {
      if (!send(std::move(waiting))) return false;
    }
    before_.clear();
    after_ = context_lines_;
    return send(as_match(line, false));
  }
  if (after_ > 0) {
    --after_;
    return send(as_match(line, true));
  }
  if (context_lines_ > 0) {
    if (before_.size() == context_lines_) before_.pop_front();
    before_.push_back(as_match(line, true));
  }
  return true;
}

bool LineSearch::send(wire::GrepMatch match) {
  status_ = batch_.add(std::move(match));
  return status_.has_value();
}

wire::GrepMatch LineSearch::as_match(const Line& line, bool is_context) const {
  return {.path = path_,
          .line = line.number,
          .text = std::string(line.text.substr(0, longest_text)),
          .is_context = is_context,
          .text_cut = line.cut || line.text.size() > longest_text};
}

}  // namespace cloche::agent

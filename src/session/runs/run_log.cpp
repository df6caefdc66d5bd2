#include "session/runs/run_log.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace cloche::session {

namespace {

constexpr std::uint64_t largest_event = 64 << 10;
// The output of a program that alternates between stdout and stderr more often than this is reported in larger pieces.
constexpr std::size_t most_changes = 32'768;
constexpr std::uint64_t larger_piece = 4096;

}  // namespace

const RunResult* result_in(const RunEnd& end) {
  if (const auto* result = std::get_if<RunResult>(&end)) return result;
  return std::get_if<ContextResult>(&end);
}

void RunLog::add(const Output& output) {
  if (end_ || output.bytes.empty()) return;
  const std::size_t which = index(output.stream);
  text_[which] += output.bytes;
  const bool changes = segments_.empty() || segments_.back().stream != output.stream;
  const bool waits =
      changes && segments_.size() >= most_changes && text_[which].size() - told_of_[which] < larger_piece;
  if (!waits) tell(output.stream);
}

void RunLog::tell(Stream stream) {
  const std::size_t which = index(stream);
  const std::uint64_t fresh = text_[which].size() - told_of_[which];
  if (fresh == 0) return;
  const std::uint64_t end = told() + fresh;
  told_of_[which] = text_[which].size();
  if (!segments_.empty() && segments_.back().stream == stream) {
    segments_.back().end = end;
    segments_.back().in_text = told_of_[which];
  } else {
    segments_.push_back({end, told_of_[which], stream});
  }
}

void RunLog::end(RunEnd how) {
  if (end_) return;
  tell(Stream::out);
  tell(Stream::err);
  end_ = std::move(how);
}

const std::vector<Artifact>* RunLog::artifacts() const {
  const RunResult* result = end_ ? result_in(*end_) : nullptr;
  return result == nullptr ? nullptr : &result->artifacts.artifacts;
}

std::uint64_t RunLog::size() const {
  if (!end_) return told();
  const auto* made = artifacts();
  return told() + (made == nullptr ? 0 : made->size()) + 1;
}

std::size_t RunLog::weight() const {
  return text_[0].capacity() + text_[1].capacity() + segments_.capacity() * sizeof(Segment) + sizeof *this;
}

std::optional<RunEvent> RunLog::output_at(std::uint64_t position) const {
  const auto segment = std::ranges::upper_bound(segments_, position, {}, &Segment::end);
  const std::uint64_t length = segment->end - position;
  const std::string_view text = text_[index(segment->stream)];
  std::string_view bytes = text.substr(segment->in_text - length, std::min(length, largest_event));
  const bool more_may_come = !end_ && &*segment == &segments_.back();
  if (bytes.size() < length || more_may_come) bytes.remove_suffix(incomplete_tail(bytes));
  if (bytes.empty()) return std::nullopt;
  return RunEvent{position + bytes.size(), Output{segment->stream, std::string(bytes)}};
}

std::optional<RunEvent> RunLog::next(std::uint64_t position) const {
  if (position < told()) return output_at(position);
  if (!end_ || position >= size()) return std::nullopt;
  const std::uint64_t place = position - told();
  const auto* made = artifacts();
  if (made != nullptr && place < made->size()) return RunEvent{position + 1, (*made)[place]};
  return RunEvent{position + 1, &*end_};
}

}  // namespace cloche::session

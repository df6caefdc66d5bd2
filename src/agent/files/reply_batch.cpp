#include "agent/files/reply_batch.hpp"

#include <algorithm>

namespace cloche::agent {

namespace {

constexpr std::size_t most_items = 500;
// One item is at most a path of longest_path and a line or a link's target beside it: far below a message's limit.
constexpr std::size_t most_bytes = std::size_t{256} * 1024;

}  // namespace

Status ReplyBatch::add(wire::FileEntry entry) {
  bytes_ += entry.path.size() + entry.link_target.size() + entry.resolved.size();
  for (const auto& [name, value] : entry.attributes) bytes_ += name.size() + value.size();
  waiting_.entries.push_back(std::move(entry));
  return send_when_full();
}

Status ReplyBatch::add(wire::GrepMatch match) {
  bytes_ += match.path.size() + match.text.size();
  waiting_.matches.push_back(std::move(match));
  return send_when_full();
}

Status ReplyBatch::finish(wire::FileReply last) {
  last.done = true;
  last.entries = std::move(waiting_.entries);
  last.matches = std::move(waiting_.matches);
  return io_.reply(last);
}

Status ReplyBatch::send_when_full() {
  if (waiting_.entries.size() + waiting_.matches.size() < most_items && bytes_ < most_bytes) return {};
  Status sent = io_.reply(waiting_);
  waiting_ = {};
  bytes_ = 0;
  return sent;
}

std::uint64_t result_cap(std::uint64_t asked, std::uint64_t fallback) {
  return asked == 0 ? fallback : std::min<std::uint64_t>(asked, 1'000'000);
}

}  // namespace cloche::agent

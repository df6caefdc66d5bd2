#include "sandbox/file_watch.hpp"

#include "sandbox/relative_name.hpp"
#include "wire/codec.hpp"

namespace cloche {

Task<Result<std::vector<WatchEvent>>> FileWatch::next(Deadline deadline) {
  while (!ended_) {
    auto events = take_records();
    if (!events) ended_ = events.error();
    if (!events || !events->empty()) co_return events;
    auto event = co_await stream_->next(deadline);
    if (!event) {
      if (event.error().code != ErrorCode::timeout) ended_ = event.error();
      co_return fail(std::move(event).error());
    }
    if (auto* data = std::get_if<StreamData>(&*event)) {
      partial_ += data->bytes;
    } else if (std::holds_alternative<StreamClosed>(*event) || std::holds_alternative<StreamMessage>(*event)) {
      ended_ = Error{ErrorCode::protocol, "the sandbox's agent ended a watch"};
    }
  }
  co_return fail(*ended_);
}

Result<std::vector<WatchEvent>> FileWatch::take_records() {
  const Error broken{ErrorCode::protocol, "the sandbox's agent sent an invalid event of a watch"};
  std::vector<WatchEvent> events;
  std::string_view rest = partial_;
  for (;;) {
    std::string_view record = rest;
    std::uint64_t size = 0;
    // A varint has at most ten bytes.
    if (!wire::take_varint(record, size)) {
      if (rest.size() >= 10) return fail(broken);
      break;
    }
    if (size > wire::longest_watch_event) return fail(broken);
    if (record.size() < size) break;
    WatchEvent event;
    if (!wire::take_fields(record.substr(0, size), event) || !stays_below(event.path)) return fail(broken);
    events.push_back(std::move(event));
    rest = record.substr(size);
  }
  partial_.erase(0, partial_.size() - rest.size());
  return events;
}

}  // namespace cloche

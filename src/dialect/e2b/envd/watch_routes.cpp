// filesystem.Filesystem: what changes in a directory, as a stream or by asking again and again.
#include "dialect/e2b/connect/request_fields.hpp"
#include "dialect/e2b/envd/watchers.hpp"

namespace cloche::dialect::e2b {

using connect::Code;
using connect::ProtoObject;
using connect::Reply;
using connect::ServerStream;

namespace {

json::value message_of(std::string_view kind, json::object content) {
  json::object message;
  message[kind] = std::move(content);
  return message;
}

Task<Reply<>> watch_directory(DataCall& call, const ProtoObject& message, ServerStream& stream) {
  CLOCHE_CO_TRY(const auto timeout, connect::timeout_of(call.exchange.fields()));
  const Deadline limit = timeout && timeout->count() > 0 ? Deadline::after(*timeout) : Deadline::never();
  const auto keepalive = connect::keepalive_interval(call.exchange.fields());
  CLOCHE_CO_TRY(const session::Admission admission, call.use->admit_stream());
  CLOCHE_CO_TRY(const auto watching, co_await Watching::begin(call, message));
  const json::value start = message_of("start", {});
  CLOCHE_CO_CHECK(co_await stream.send(start));
  for (;;) {
    auto events = co_await watching->next(Deadline::after(keepalive).sooner(limit));
    if (events) {
      for (json::object& event : *events) {
        const json::value told = message_of("filesystem", std::move(event));
        CLOCHE_CO_CHECK(co_await stream.send(told));
      }
      continue;
    }
    switch (events.error().code) {
      case ErrorCode::timeout: {
        if (limit.passed()) co_return connect::failure(Code::deadline_exceeded, "context deadline exceeded");
        const json::value alive = message_of("keepalive", {});
        CLOCHE_CO_CHECK(co_await stream.send(alive));
        break;
      }
      case ErrorCode::cancelled: co_return Reply<>{};  // the directory is gone
      case ErrorCode::sandbox_lost: stream.cut(); co_return Reply<>{};
      default: co_return std::unexpected(failure_of_watch(std::move(events).error()));
    }
  }
}

Task<Reply<json::value>> create_watcher(DataCall& call, const ProtoObject& message, Deadline) {
  CLOCHE_CO_TRY(session::Admission admission, call.use->admit_stream());
  CLOCHE_CO_TRY(auto watching, co_await Watching::begin(call, message));
  CLOCHE_CO_TRY(const std::string id, call.use->part<Watchers>().add(std::move(watching), std::move(admission)));
  json::object reply;
  reply["watcherId"] = id;
  co_return json::value(std::move(reply));
}

Task<Reply<json::value>> watcher_events(DataCall& call, const ProtoObject& message, Deadline) {
  CLOCHE_CO_TRY(const std::string id, message.text("watcherId"));
  CLOCHE_CO_TRY(auto events, call.use->part<Watchers>().take(id));
  json::object reply;
  if (!events.empty()) {
    json::array& all = reply["events"].emplace_array();
    for (json::object& event : events) all.emplace_back(std::move(event));
  }
  co_return json::value(std::move(reply));
}

Task<Reply<json::value>> remove_watcher(DataCall& call, const ProtoObject& message, Deadline) {
  CLOCHE_CO_TRY(const std::string id, message.text("watcherId"));
  CLOCHE_CO_CHECK(call.use->part<Watchers>().remove(id));
  co_return json::value(json::object());
}

}  // namespace

void add_watch_routes(EnvdRouter& router) {
  add_stream(router, "/filesystem.Filesystem/WatchDir", watch_directory);
  add_unary(router, "/filesystem.Filesystem/CreateWatcher", create_watcher);
  add_unary(router, "/filesystem.Filesystem/GetWatcherEvents", watcher_events);
  add_unary(router, "/filesystem.Filesystem/RemoveWatcher", remove_watcher);
}

}  // namespace cloche::dialect::e2b

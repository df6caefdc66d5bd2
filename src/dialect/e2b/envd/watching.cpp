#include "dialect/e2b/envd/watching.hpp"

#include "core/utf8.hpp"

namespace cloche::dialect::e2b {

using connect::Code;
using connect::ProtoObject;
using connect::Reply;

namespace {

std::string_view type_of(WatchEvent::Kind kind) {
  switch (kind) {
    case WatchEvent::Kind::created: return "EVENT_TYPE_CREATE";
    case WatchEvent::Kind::written: return "EVENT_TYPE_WRITE";
    case WatchEvent::Kind::removed: return "EVENT_TYPE_REMOVE";
    case WatchEvent::Kind::renamed: return "EVENT_TYPE_RENAME";
    case WatchEvent::Kind::mode_changed: return "EVENT_TYPE_CHMOD";
    case WatchEvent::Kind::overflow: break;
  }
  return "EVENT_TYPE_UNSPECIFIED";
}

bool has_entry(WatchEvent::Kind kind) {
  return kind == WatchEvent::Kind::created || kind == WatchEvent::Kind::written ||
         kind == WatchEvent::Kind::mode_changed;
}

}  // namespace

Watching::Watching(std::shared_ptr<LiveSandbox> sandbox, SandboxUser user, WatchRequest request,
                   std::unique_ptr<FileWatch> watch)
    : sandbox_(std::move(sandbox)),
      user_(std::move(user)),
      request_(std::move(request)),
      names_(sandbox_->spec()),
      watch_(std::move(watch)) {}

Task<Reply<std::unique_ptr<Watching>>> Watching::begin(DataCall& call, const ProtoObject& message) {
  WatchRequest request;
  CLOCHE_CO_TRY(const std::string asked, message.text("path"));
  CLOCHE_CO_TRY(request.is_recursive, message.flag("recursive"));
  CLOCHE_CO_TRY(request.with_entries, message.flag("includeEntry"));
  CLOCHE_CO_TRY(const auto use, co_await begin_file_use(call, call.user));
  CLOCHE_CO_TRY(request.path, use->resolve(asked));
  const Deadline deadline = file_deadline(Deadline::never());
  FilePath place = FilePath::anywhere(request.path);
  auto entry = co_await use->files.stat(place, Links::follow, deadline);
  if (!entry && entry.error().code == ErrorCode::not_found)
    co_return connect::failure(Code::not_found, "path " + request.path + " not found");
  if (!entry) co_return std::unexpected(connect::Failure(std::move(entry).error()));
  if (entry->type != FileType::directory)
    co_return connect::failure(Code::invalid_argument, "path " + request.path + " not a directory");
  WatchOptions options;
  if (request.is_recursive) options.recursion = Recursion::whole_tree;
  auto watch = co_await use->files.watch(std::move(place), options, deadline);
  if (!watch) co_return std::unexpected(connect::Failure(std::move(watch).error()));
  co_return std::unique_ptr<Watching>(new Watching(use->sandbox, use->user, std::move(request), std::move(*watch)));
}

Task<json::object> Watching::describe(const WatchEvent& event) {
  json::object told;
  told["name"] = to_utf8(event.path);
  told["type"] = type_of(event.kind);
  if (!request_.with_entries || !has_entry(event.kind)) co_return told;
  const std::string path = request_.path == "/" ? "/" + event.path : request_.path + "/" + event.path;
  // It may be gone again.
  const auto entry = co_await stat_with_details(sandbox_->files_of(user_), path, file_deadline(Deadline::never()));
  if (entry) told["entry"] = entry_info(*entry, path, names_);
  co_return told;
}

Task<Result<std::vector<json::object>>> Watching::next(Deadline deadline) {
  auto events = co_await watch_->next(deadline);
  if (!events && events.error().code == ErrorCode::not_found)
    co_return fail(ErrorCode::cancelled, "the watched directory was removed or moved");
  if (!events) co_return fail(std::move(events).error());
  std::vector<json::object> all;
  for (const WatchEvent& event : *events) {
    if (event.kind == WatchEvent::Kind::overflow)
      co_return fail(ErrorCode::limit_reached, "watcher error: events were lost, there are too many");
    all.push_back(co_await describe(event));
  }
  co_return all;
}

connect::Failure failure_of_watch(Error error) {
  if (error.code == ErrorCode::limit_reached) return {Code::internal, std::move(error.message)};
  return {std::move(error)};
}

}  // namespace cloche::dialect::e2b

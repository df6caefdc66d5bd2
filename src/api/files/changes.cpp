#include "api/files/changes.hpp"

#include <fmt/format.h>

#include <boost/json/object.hpp>

#include "api/errors.hpp"
#include "api/files/file_call.hpp"
#include "api/files/matches.hpp"
#include "api/files/place.hpp"
#include "core/utc_time.hpp"
#include "core/utf8.hpp"

namespace cloche::api {

namespace {

using session::Session;
using session::SessionStore;

constexpr Bytes small_body = kib(64);
constexpr Bytes edit_body = mib(4);  // two texts of 1 MiB, as base64 or escaped

std::string text_of(std::int64_t nanoseconds) {
  return to_utc_text(std::chrono::system_clock::time_point(std::chrono::nanoseconds(nanoseconds)));
}

Task<Status> stat(Call& call, Session& session, StatBody body) {
  CLOCHE_CO_TRY(const Place place, place_in(session, body.path));
  auto files = place.sandbox->files();
  const Links links = body.follow ? Links::follow : Links::look_at;
  CLOCHE_CO_TRY(const FileEntry entry, co_await files.stat(place.file, links, Deadline::after(file_timeout)));
  json::object answer;
  answer["path"] = place.path;
  answer["type"] = to_string(entry.type);
  answer["size"] = entry.size;
  answer["mode"] = fmt::format("{:04o}", entry.mode & 07777U);
  answer["uid"] = entry.uid;
  answer["gid"] = entry.gid;
  answer["modified"] = text_of(entry.mtime_ns);
  if (entry.type == FileType::symlink) answer["link_target"] = to_utf8(entry.link_target);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> remove(Call& call, Session& session, DeleteBody body) {
  CLOCHE_CO_TRY(const Place place, place_in(session, body.path));
  auto files = place.sandbox->files();
  const Recursion recursion = body.recursive ? Recursion::whole_tree : Recursion::none;
  const Missing missing = body.missing_ok ? Missing::fine : Missing::error;
  CLOCHE_CO_TRY(const std::uint64_t removed,
                co_await files.remove(place.file, recursion, missing, Deadline::after(file_timeout)));
  json::object answer;
  answer["path"] = place.path;
  answer["removed"] = removed;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> move(Call& call, Session& session, MoveBody body) {
  CLOCHE_CO_TRY(const Place from, place_in(session, body.path));
  CLOCHE_CO_TRY(const Place to, place_in(session, body.to));
  MoveOptions options;
  options.existing = body.overwrite ? MoveOptions::Existing::replace : MoveOptions::Existing::keep;
  options.parents = body.parents ? MoveOptions::Parents::make : MoveOptions::Parents::must_exist;
  auto files = from.sandbox->files();
  CLOCHE_CO_CHECK(co_await files.move(from.file, to.file, options, Deadline::after(file_timeout)));
  json::object answer;
  answer["path"] = from.path;
  answer["to"] = to.path;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> make_directory(Call& call, Session& session, MkdirBody body) {
  CLOCHE_CO_TRY(const Place place, place_in(session, body.path));
  DirectoryOptions options;
  options.mode = body.mode;
  options.parents = body.parents ? DirectoryOptions::Parents::make : DirectoryOptions::Parents::must_exist;
  auto files = place.sandbox->files();
  CLOCHE_CO_TRY(const std::uint64_t made,
                co_await files.make_directory(place.file, options, Deadline::after(file_timeout)));
  json::object answer;
  answer["path"] = place.path;
  answer["created"] = made > 0;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

struct EditFailure {
  std::string code;
  std::string message;
};

EditFailure edit_failure_of(const EditResult& result, std::uint64_t expected) {
  if (result.outcome == EditOutcome::file_changed) {
    return {"file_changed", "the file changed while it was being edited; read it again"};
  }
  if (result.outcome == EditOutcome::other_count) {
    return {"other_count", fmt::format("old occurs {} times, not {}; include more of the surrounding text, correct "
                                       "expected, or set replace_all",
                                       result.matches, expected)};
  }
  std::string message = "old does not occur in the file";
  if (result.other_line_ends) message += "; its lines end with CRLF, but those of old end with LF";
  return {"no_match", std::move(message)};
}

Task<Status> edit(Call& call, Session& session, EditBody body) {
  CLOCHE_CO_TRY(const Place place, place_in(session, body.path));
  const std::uint64_t expected = body.expected;
  EditRequest request{std::move(body.old_text), std::move(body.new_text), expected};
  auto files = place.sandbox->files();
  CLOCHE_CO_TRY(const EditResult result,
                co_await files.edit(place.file, std::move(request), Deadline::after(file_timeout)));
  if (result.outcome != EditOutcome::done) {
    EditFailure failure = edit_failure_of(result, expected);
    co_return co_await answer_refusal(call.exchange, 409, std::move(failure.code), std::move(failure.message));
  }
  json::object answer;
  answer["path"] = place.path;
  answer["replaced"] = result.matches;
  answer["size"] = result.size;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

}  // namespace

void add_change_routes(CallRouter& router, SessionStore& store) {
  const FileCall<StatBody> looked_at{read_stat_body, stat, small_body};
  const FileCall<DeleteBody> removed{read_delete_body, remove, small_body};
  const FileCall<MoveBody> moved{read_move_body, move, small_body};
  const FileCall<MkdirBody> made{read_mkdir_body, make_directory, small_body};
  const FileCall<EditBody> edited{read_edit_body, edit, edit_body, &edit_body_shape};
  router.add("POST", "/stat", file_call(store, looked_at));
  router.add("POST", "/delete", file_call(store, removed));
  router.add("POST", "/move", file_call(store, moved));
  router.add("POST", "/mkdir", file_call(store, made));
  router.add("POST", "/edit", file_call(store, edited));
}

}  // namespace cloche::api

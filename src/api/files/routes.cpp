#include "api/files/routes.hpp"

#include <boost/json/object.hpp>

#include "api/errors.hpp"
#include "api/files/changes.hpp"
#include "api/files/content.hpp"
#include "api/files/copy.hpp"
#include "api/files/file_call.hpp"
#include "api/files/lines.hpp"
#include "api/files/matches.hpp"
#include "api/files/place.hpp"
#include "api/files/text.hpp"
#include "api/files/watch.hpp"
#include "core/base64.hpp"
#include "crypto/sha256.hpp"
#include "http/server/request/json_body.hpp"
#include "session/runs/artifacts.hpp"

namespace cloche::api {

namespace {

using session::Session;
using session::SessionStore;

constexpr Bytes small_body = kib(64);
constexpr Bytes content_body = mib(32);       // text or base64 in JSON
constexpr Bytes most_binary = mib(16);        // in JSON; the raw form has no cap
constexpr Bytes looked_at = kib(4);           // of a file, for its type
constexpr Bytes small_read = mib(1);          // what may be read without checking the size of the file
constexpr std::size_t weight_of_entry = 512;  // the time to serialize one, as a number of bytes

// Feeds the file to the window, as much of it as the window wants; the file's size.
Task<Result<std::uint64_t>> scan(http::Exchange& exchange, const Place& place, LineWindow& window, LineCaps caps) {
  const Deadline deadline = Deadline::after(file_timeout);
  auto files = place.sandbox->files();
  CLOCHE_CO_TRY(const FileEntry entry, co_await files.stat(place.file, Links::follow, deadline));
  CLOCHE_CO_CHECK(exchange.hold(Bytes{std::min(entry.size, caps.content.count)}));
  bool stopped = false;
  Files::Sink sink = [&](std::string piece) -> Task<Status> {
    window.take(piece);
    stopped = window.has_enough();
    if (stopped) co_return fail(ErrorCode::cancelled, "enough was read");
    co_return Status{};
  };
  const FileRange whole;
  auto read = co_await files.read_stream(place.file, whole, std::move(sink), deadline);
  if (!read && !stopped) co_return fail(std::move(read).error());
  if (!stopped) window.end();
  co_return entry.size;
}

Task<Status> read_text(Call& call, Session& session, ReadTextBody body) {
  CLOCHE_CO_TRY(const Place place, place_in(session, body.path));
  const LineCaps caps;
  LineWindow window(body.offset, body.limit, caps);
  CLOCHE_CO_TRY(const std::uint64_t size, co_await scan(call.exchange, place, window, caps));
  if (!window.reached()) {
    co_return fail(ErrorCode::invalid_argument, "line " + std::to_string(body.offset) + " is not in the first " +
                                                    to_string(caps.scanned) + " of the file; use /read_binary");
  }
  const std::size_t kept = window.content().size();
  auto convert = [content = window.take_content(),
                  encoding = body.encoding]() mutable -> Result<std::optional<std::string>> {
    return to_text(std::move(content), encoding);
  };
  CLOCHE_CO_TRY(auto text, co_await http::run_off_loop(call.exchange, kept, std::move(convert)));
  if (!text) {
    co_return co_await answer_refusal(call.exchange, 400, "not_text",
                                      "these lines are not UTF-8; set encoding to \"latin-1\" or \"replace\", or "
                                      "use /read_binary");
  }
  json::object answer;
  answer["path"] = place.path;
  answer["content"] = std::move(*text);
  answer["offset"] = body.offset;
  answer["limit"] = body.limit;
  answer["lines"] = window.kept_lines();
  answer["truncated"] = window.more_follows() || window.cut_lines() > 0;
  answer["next_offset"] = nullptr;
  if (window.more_follows()) answer["next_offset"] = body.offset + window.kept_lines();
  answer["cut_lines"] = window.cut_lines();
  answer["total_lines"] = window.total_lines();
  answer["total_lines_exact"] = window.total_is_exact();
  answer["encoding"] = to_string(body.encoding);
  answer["size"] = size;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

bool wants_raw_bytes(const http::Exchange& exchange) {
  std::string_view accept = exchange.field("Accept");
  while (!accept.empty()) {
    const auto comma = std::min(accept.find(','), accept.size());
    const std::string_view range = accept.substr(0, comma);
    const auto type = http::without_blanks_around(range.substr(0, range.find(';')));
    if (same_word(type, "application/octet-stream")) return true;
    accept.remove_prefix(std::min(comma + 1, accept.size()));
  }
  return false;
}

Task<Status> read_raw(Call& call, Session& session, ReadBinaryBody body) {
  const bool is_part = body.offset > 0 || body.length;
  if (!is_part) co_return co_await send_file(call.exchange, session, std::move(body.path));
  if (!call.exchange.field("Range").empty()) {
    co_return fail(ErrorCode::invalid_argument, "both a Range header and offset or length in the body; send only one");
  }
  const FileRange part{body.offset, body.length.value_or(0)};
  co_return co_await send_part(call.exchange, session, std::move(body.path), part);
}

Task<Status> read_binary(Call& call, Session& session, ReadBinaryBody body) {
  if (wants_raw_bytes(call.exchange)) co_return co_await read_raw(call, session, std::move(body));
  CLOCHE_CO_TRY(const Place place, place_in(session, body.path));
  const Deadline deadline = Deadline::after(file_timeout);
  auto files = place.sandbox->files();
  const FileRange range{body.offset, body.length.value_or(0)};
  if (!body.length || *body.length > small_read.count) {
    CLOCHE_CO_TRY(const FileEntry entry, co_await files.stat(place.file, Links::follow, deadline));
    CLOCHE_CO_CHECK(
        call.exchange.hold(Bytes{std::min({entry.size, body.length.value_or(entry.size), most_binary.count})}));
  }
  CLOCHE_CO_TRY(ReadResult read, co_await files.read(place.file, range, most_binary, deadline));
  std::string beginning = read.bytes.substr(0, looked_at.count);
  if (body.offset > 0) {
    const FileRange first{0, looked_at.count};
    CLOCHE_CO_TRY(ReadResult head, co_await files.read(place.file, first, looked_at, deadline));
    beginning = std::move(head.bytes);
  }
  const std::size_t size = read.bytes.size();
  std::string type = session::content_type_of(place.path, beginning);
  std::function<json::value()> make = [&path = place.path, offset = body.offset, read = std::move(read),
                                       type = std::move(type)] {
    json::object answer;
    answer["path"] = path;
    answer["content"] = encode_base64(read.bytes);
    answer["offset"] = offset;
    answer["length"] = read.bytes.size();
    answer["size"] = read.total_size;
    answer["content_type"] = type;
    answer["sha256"] = sha256_hex(read.bytes);
    answer["truncated"] = read.cut;
    return answer;
  };
  co_return co_await http::respond_json(call.exchange, 200, std::move(make), size);
}

Task<Status> write(Call& call, Session& session, WriteBody body) {
  CLOCHE_CO_TRY(const Place place, place_in(session, body.path));
  const Deadline deadline = Deadline::after(file_timeout);
  auto files = place.sandbox->files();
  const bool append = body.existing == WriteBody::Existing::append;
  std::uint64_t size = body.content.size();
  WriteOptions options;
  options.mode = body.mode;
  options.existing = append ? WriteOptions::Existing::append : WriteOptions::Existing::replace;
  CLOCHE_CO_CHECK(co_await files.write(place.file, std::move(body.content), options, deadline));
  if (append) {
    CLOCHE_CO_TRY(const FileEntry entry, co_await files.stat(place.file, Links::follow, deadline));
    size = entry.size;
  }
  json::object answer;
  answer["path"] = place.path;
  answer["size"] = size;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> grep(Call& call, Session& session, GrepBody body) {
  CLOCHE_CO_TRY(const Place place, place_in(session, body.path));
  const Deadline deadline = Deadline::after(file_timeout);
  auto files = place.sandbox->files();
  // Matches in a directory are returned with their path in it, matches in a file with the name of the file.
  CLOCHE_CO_TRY(const FileEntry entry, co_await files.stat(place.file, Links::follow, deadline));
  GrepOptions options;
  options.glob = std::move(body.glob);
  options.letter_case = body.ignore_case ? GrepOptions::Case::ignore : GrepOptions::Case::exact;
  options.context_lines = body.context;
  options.most = body.limit;
  options.exclude = std::move(body.exclude);
  options.hidden = body.hidden ? GrepOptions::Hidden::search : GrepOptions::Hidden::skip;
  CLOCHE_CO_TRY(GrepResult found,
                co_await files.grep(place.file, std::move(body.pattern), std::move(options), deadline));
  const auto searched = entry.type == FileType::directory ? Searched::directory : Searched::file;
  const std::size_t size = found.matches.size() * weight_of_entry;
  std::function<json::value()> make = [found = std::move(found), &path = place.path, searched, context = body.context] {
    return matches_to_json(found, path, searched, context);
  };
  co_return co_await http::respond_json(call.exchange, 200, std::move(make), size);
}

Task<Status> glob(Call& call, Session& session, GlobBody body) {
  CLOCHE_CO_TRY(const Place place, place_in(session, body.path));
  const Deadline deadline = Deadline::after(file_timeout);
  auto files = place.sandbox->files();
  // A file has no entries below it.
  CLOCHE_CO_TRY(const FileEntry entry, co_await files.stat(place.file, Links::follow, deadline));
  GlobOptions options;
  options.hidden = body.hidden ? GlobOptions::Hidden::match : GlobOptions::Hidden::skip;
  options.most = body.limit;
  options.exclude = std::move(body.exclude);
  CLOCHE_CO_TRY(EntryList found,
                co_await files.glob(place.file, std::move(body.pattern), std::move(options), deadline));
  const auto searched = entry.type == FileType::directory ? Searched::directory : Searched::file;
  const std::size_t size = found.entries.size() * weight_of_entry;
  std::function<json::value()> make = [found = std::move(found), &path = place.path, searched] {
    return entries_to_json(found, path, searched);
  };
  co_return co_await http::respond_json(call.exchange, 200, std::move(make), size);
}

Task<Status> get_file(SessionStore& store, Call& call) {
  const std::string_view rest = call.path["path"];
  const auto count = static_cast<std::size_t>(std::ranges::count(rest, '/')) + 1;
  CLOCHE_CO_TRY(std::string path, path_of_segments(call.exchange.target().segments, count));
  CLOCHE_CO_CHECK(check_path(path));
  CLOCHE_CO_TRY(const session::SessionUse use, find_session(call, store));
  CLOCHE_CO_TRY(const FileTurn turn, co_await begin_file_operation(*use));
  auto sent = co_await session::unless_paused(*use, send_file(call.exchange, *use, std::move(path)));
  co_return sent;
}

}  // namespace

void add_file_routes(CallRouter& router, SessionStore& store) {
  const FileCall<ReadTextBody> read{read_text_body, read_text, small_body};
  const FileCall<ReadBinaryBody> read_bytes{read_binary_body, read_binary, small_body};
  const FileCall<WriteBody> written{read_write_body, write, content_body, &write_body_shape};
  const FileCall<GrepBody> searched{read_grep_body, grep, small_body};
  const FileCall<GlobBody> listed{read_glob_body, glob, small_body};
  router.add("POST", "/read", file_call(store, read));
  router.add("POST", "/read_binary", file_call(store, read_bytes));
  router.add("POST", "/write", file_call(store, written));
  router.add("POST", "/grep", file_call(store, searched));
  router.add("POST", "/glob", file_call(store, listed));
  add_change_routes(router, store);
  router.add("POST", "/sessions/{tenant}/{session}/copy", [&store](Call& call) { return copy_in(store, call); });
  router.add("GET", "/sessions/{tenant}/{session}/copy", [&store](Call& call) { return copy_out(store, call); });
  router.add("GET", "/sessions/{tenant}/{session}/files/{path...}",
             [&store](Call& call) { return get_file(store, call); });
  router.add("GET", "/sessions/{tenant}/{session}/watch", [&store](Call& call) { return watch_files(store, call); });
}

}  // namespace cloche::api

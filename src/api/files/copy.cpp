#include "api/files/copy.hpp"

#include <boost/json/object.hpp>

#include "api/files/content.hpp"
#include "api/files/file_call.hpp"
#include "api/files/place.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::api {

namespace {

using session::Session;
using session::SessionStore;

constexpr Bytes most_json = mib(32);
constexpr Bytes most_tar = mib(256);
constexpr std::uint64_t most_entries = 10'000;
constexpr Bytes most_out = mib(4096);

enum class BodyForm { json, tar };

Result<BodyForm> form_of(http::Exchange& exchange) {
  std::string_view type = exchange.field("Content-Type");
  type = http::without_blanks_around(type.substr(0, type.find(';')));
  if (same_word(type, "application/x-tar") || same_word(type, "application/tar")) return BodyForm::tar;
  if (http::check_json_type(exchange.field("Content-Type"))) return BodyForm::json;
  std::string why = "the body must be application/json or application/x-tar (uncompressed)";
  exchange.reject_body(415, why);
  return fail(ErrorCode::unsupported, std::move(why));
}

Task<Status> unpack(Call& call, Session& session, Files::Source source, TarCaps caps) {
  CLOCHE_CO_TRY(const FileTurn turn, co_await begin_file_operation(session));
  const auto sandbox = session.lease().shared();
  auto files = sandbox->files();
  FilePath workspace = FilePath::beneath(session.work_dir(), ".");
  caps.content = most_tar;
  caps.entries = most_entries;
  const Deadline deadline = Deadline::after(stream_timeout);
  auto unpacked =
      co_await session::unless_paused(session, files.unpack(std::move(workspace), std::move(source), caps, deadline));
  if (!unpacked) {
    Error error = std::move(unpacked).error();
    // The sender is responsible for the contents of an archive: devices, FIFOs and sparse files are never accepted.
    if (error.code == ErrorCode::unsupported) error.code = ErrorCode::invalid_argument;
    co_return co_await answer_file_error(call.exchange, std::move(error));
  }
  json::object answer;
  answer["files"] = unpacked->entries;
  answer["bytes"] = unpacked->content.count;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> copy_json(SessionStore& store, Call& call) {
  const http::JsonLimits limits = json_limits(most_json, copy_body_shape);
  using Packed = std::vector<session::FileToPack>;
  auto read = co_await http::read_json_as<Packed>(call.exchange, limits, read_copy_body);
  if (!read) co_return co_await answer_file_error(call.exchange, std::move(read).error());
  auto used = co_await use_session(call, store);
  if (!used) co_return fail(std::move(used).error());
  const session::SessionUse use = std::move(*used);
  for (session::FileToPack& file : *read) {
    CLOCHE_CO_TRY(file.path, workspace_file(file.path, use->work_dir()));
  }
  TarCaps caps;
  Files::Source source = session::tar_for(use->lease().shared()->files(), std::move(*read), caps);
  co_return co_await unpack(call, *use, std::move(source), caps);
}

Task<Status> copy_tar(SessionStore& store, Call& call) {
  auto used = co_await use_session(call, store);
  if (!used) co_return fail(std::move(used).error());
  const session::SessionUse use = std::move(*used);
  call.exchange.allow_body(most_tar);
  http::Exchange& exchange = call.exchange;
  Files::Source source = [&exchange]() -> Task<Result<std::string>> {
    auto piece = co_await exchange.read_some();
    co_return piece;
  };
  const TarCaps caps;
  co_return co_await unpack(call, *use, std::move(source), caps);
}

}  // namespace

Task<Status> copy_in(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const BodyForm form, form_of(call.exchange));
  if (form == BodyForm::json) co_return co_await copy_json(store, call);
  co_return co_await copy_tar(store, call);
}

Task<Status> copy_out(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  const std::string wanted(query.find("path").value_or("."));
  CLOCHE_CO_CHECK(check_path(wanted));
  CLOCHE_CO_TRY(const session::SessionUse use, find_session(call, store));
  CLOCHE_CO_TRY(const std::string path, session_path(wanted, use->work_dir()));
  http::Exchange& exchange = call.exchange;
  if (exchange.method() == "HEAD") {
    http::Fields fields;
    fields.emplace_back("Content-Type", "application/x-tar");
    co_return co_await exchange.respond(200, std::move(fields), std::string());
  }
  CLOCHE_CO_TRY(const FileTurn turn, co_await begin_file_operation(*use));
  const std::string name = use->key().id + ".tar";
  std::uint64_t sent = 0;
  Files::Sink sink = [&exchange, &name, &sent](std::string piece) -> Task<Status> {
    // Begun with the first piece: until then there can be an error instead.
    if (!exchange.is_answered()) {
      http::Fields fields;
      fields.emplace_back("Content-Type", "application/x-tar");
      fields.emplace_back("Content-Disposition", "attachment; filename=\"" + name + "\"");
      add_untrusted_content_fields(fields);
      const std::optional<Bytes> unknown;
      CLOCHE_CO_CHECK(co_await exchange.begin(200, std::move(fields), unknown));
    }
    sent += piece.size();
    if (sent > most_out.count)
      co_return fail(ErrorCode::limit_reached, "the archive is larger than " + to_string(most_out));
    auto written = co_await exchange.write(piece);
    co_return written;
  };
  const auto sandbox = use->lease().shared();
  auto files = sandbox->files();
  FilePath place = place_of(path, use->work_dir());
  const Deadline deadline = Deadline::after(stream_timeout);
  CLOCHE_CO_CHECK(co_await session::unless_paused(*use, files.pack(std::move(place), std::move(sink), deadline)));
  co_return co_await exchange.end();
}

}  // namespace cloche::api

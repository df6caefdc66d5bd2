// GET and POST /files, POST /files/compose: what is in files.
#include <algorithm>

#include "api/files/content.hpp"
#include "core/utf8.hpp"
#include "dialect/e2b/envd/file_use.hpp"
#include "dialect/e2b/envd/paths.hpp"
#include "dialect/e2b/envd/signature.hpp"
#include "dialect/e2b/envd/upload.hpp"
#include "json/json_object.hpp"

namespace cloche::dialect::e2b {

namespace {

// The sandbox's own limits are lower, as a rule.
constexpr Bytes most_upload = Bytes{std::uint64_t{64} << 30};
constexpr std::size_t most_sources = 1000;
constexpr Bytes compose_piece = mib(1);
constexpr std::string_view metadata_field = "x-metadata-";

// A wrong or missing signature, or an unknown user, is `permission_denied` here.
unsigned rest_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::already_exists: return 400;
    case ErrorCode::not_found: return 404;
    case ErrorCode::permission_denied: return 403;
    case ErrorCode::limit_reached: return 507;
    case ErrorCode::unsupported: return 415;
    case ErrorCode::timeout: return 504;
    case ErrorCode::sandbox_lost:
    case ErrorCode::ending:
    case ErrorCode::paused: return 502;
    default: return 500;
  }
}

Task<> answer_file_error(http::Exchange& exchange, Error error) {
  if (const auto& refusal = exchange.body_refusal()) {
    co_await answer_rest_error(exchange, refusal->status, refusal->why);
    co_return;
  }
  const unsigned status = rest_status(error.code);
  connect::Failure failure(std::move(error));
  connect::log_failure(exchange, failure);
  co_await answer_rest_error(exchange, status, std::move(failure.message));
}

Task<> answer_connect_failure(http::Exchange& exchange, connect::Failure failure) {
  const unsigned status = connect::status_of(failure.code);
  connect::log_failure(exchange, failure);
  co_await answer_rest_error(exchange, status, std::move(failure.message));
}

// A request about the path of its query, allowed by a token or a signature.
struct SignedCall {
  std::optional<std::string> path;  // of the query
  std::string user;
};

// nullopt: it has been answered.
Task<std::optional<SignedCall>> check_call(DataCall& call, std::string_view operation) {
  const auto query = call.exchange.query();
  if (!query) {
    co_await answer_rest_error(call.exchange, 400, query.error().message);
    co_return std::nullopt;
  }
  SignedCall checked;
  if (const auto path = query->find("path")) checked.path = *path;
  checked.user = query->find("username").value_or("");
  if (!call.authorized) {
    const SignedUse use{query->find("path").value_or(""), operation, checked.user};
    const auto valid = check_signature(use, call.access_token, query->find("signature"),
                                       query->find("signature_expiration"), Clocks().wall());
    if (!valid) {
      co_await answer_rest_error(call.exchange, 401, valid.error().message);
      co_return std::nullopt;
    }
  }
  if (checked.user.empty()) checked.user = call.user;
  co_return checked;
}

Task<> download(DataCall& call) {
  auto checked = co_await check_call(call, "read");
  if (!checked) co_return;
  auto use = co_await begin_file_use(call, checked->user);
  if (!use) {
    co_await answer_connect_failure(call.exchange, std::move(use).error());
    co_return;
  }
  const auto path = (*use)->resolve(checked->path.value_or(""));
  if (!path) {
    co_await answer_file_error(call.exchange, path.error());
    co_return;
  }
  FilePath place = FilePath::anywhere(*path);
  Files files = (*use)->files;
  auto sent = co_await api::send_file(call.exchange, std::move(files), std::move(place), *path);
  if (sent) co_return;
  if (call.exchange.is_answered()) {
    // The client must not take what it has for all of it.
    call.exchange.break_off();
    co_return;
  }
  Error error = std::move(sent).error();
  if (error.code == ErrorCode::not_found) error.message = "path '" + *path + "' does not exist";
  co_await answer_file_error(call.exchange, std::move(error));
}

// X-Metadata-*, as extended attributes.
std::map<std::string, std::string> metadata_in(const http::Fields& fields) {
  std::map<std::string, std::string> attributes;
  for (const auto& [name, value] : fields) {
    if (!same_word(std::string_view(name).substr(0, metadata_field.size()), metadata_field)) continue;
    attributes.emplace(std::string(metadata_prefix) + lower(std::string_view(name).substr(metadata_field.size())),
                       value);
  }
  return attributes;
}

json::object written_entry(const std::string& path, const std::map<std::string, std::string>& attributes) {
  json::object entry;
  entry["path"] = path;
  entry["name"] = name_of_path(path);
  entry["type"] = "file";
  if (!attributes.empty()) {
    json::object& metadata = entry["metadata"].emplace_object();
    for (const auto& [name, value] : attributes) metadata[name.substr(metadata_prefix.size())] = to_utf8(value);
  }
  return entry;
}

// Writes the files of one request.
class Upload {
 public:
  Upload(DataCall& call, FileUse& use, std::optional<std::string> path)
      : call_(call), use_(use), path_(std::move(path)) {
    options_.attributes = metadata_in(call.exchange.fields());
    // Clients count the events of a new file: it is created, gets its mode and is written.
    options_.appearance = WriteOptions::Appearance::growing;
  }

  Task<Result<json::array>> write() {
    call_.exchange.allow_body(most_upload);
    CLOCHE_CO_TRY(const auto coding, coding_of(call_.exchange.field("Content-Encoding")));
    UploadBody body(call_.exchange, coding);
    const std::string_view type = call_.exchange.field("Content-Type");
    if (same_word(http::without_blanks_around(type.substr(0, std::min(type.find(';'), type.size()))),
                  "application/octet-stream")) {
      if (!path_) co_return fail(ErrorCode::invalid_argument, "path is required for application/octet-stream uploads");
      Files::Source source = [&body] { return body.next(); };
      CLOCHE_CO_CHECK(co_await write_one(*path_, std::move(source)));
      // The rest of a body whose file is complete: nothing, or an error.
      co_return std::move(written_);
    }
    CLOCHE_CO_TRY(const std::string boundary, boundary_of(type));
    UploadParts parts(body, boundary);
    for (;;) {
      CLOCHE_CO_TRY(const auto part, co_await parts.next());
      if (!part) co_return std::move(written_);
      if (part->name != "file") continue;
      if (!path_ && !part->file_name) co_return fail(ErrorCode::invalid_argument, "a part has no file name");
      Files::Source source = [&parts] { return parts.data(); };
      CLOCHE_CO_CHECK(co_await write_one(path_ ? *path_ : *part->file_name, std::move(source)));
    }
  }

 private:
  Task<Status> write_one(std::string wanted, Files::Source source) {
    CLOCHE_CO_TRY(const std::string path, use_.resolve(wanted));
    if (std::ranges::find(paths_, path) != paths_.end()) {
      co_return fail(ErrorCode::invalid_argument,
                     "you cannot upload multiple files to the same path '" + path + "', only use unique paths");
    }
    paths_.push_back(path);
    FilePath place = FilePath::anywhere(path);
    WriteOptions options = options_;
    const Deadline deadline = Deadline::after(api::stream_timeout);
    CLOCHE_CO_CHECK(
        co_await use_.files.write_stream(std::move(place), std::move(source), std::move(options), deadline));
    written_.emplace_back(written_entry(path, options_.attributes));
    co_return Status{};
  }

  DataCall& call_;
  FileUse& use_;
  std::optional<std::string> path_;
  WriteOptions options_;
  std::vector<std::string> paths_;
  json::array written_;
};

Task<> upload(DataCall& call) {
  auto checked = co_await check_call(call, "write");
  if (!checked) co_return;
  auto use = co_await begin_file_use(call, checked->user);
  if (!use) {
    co_await answer_connect_failure(call.exchange, std::move(use).error());
    co_return;
  }
  Upload work(call, **use, std::move(checked->path));
  auto written = co_await work.write();
  if (!written) {
    co_await answer_file_error(call.exchange, std::move(written).error());
    co_return;
  }
  const json::value entries = std::move(*written);
  [[maybe_unused]] auto sent = co_await http::respond_json(call.exchange, 200, entries);
}

struct ComposeRequest {
  std::vector<std::string> sources;
  std::string destination;
  std::string user;
};

Result<ComposeRequest> read_compose(const json::value& body) {
  ComposeRequest request;
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  CLOCHE_TRY(request.sources, fields.texts("source_paths"));
  CLOCHE_TRY(request.destination, fields.text("destination"));
  CLOCHE_TRY(request.user, fields.text("username", ""));
  if (request.sources.empty()) return fail(ErrorCode::invalid_argument, "source_paths cannot be empty");
  if (request.sources.size() > most_sources) return fail(ErrorCode::invalid_argument, "more than 1000 source_paths");
  return request;
}

// Reads files one after the other, as one.
class JoinedFiles {
 public:
  JoinedFiles(Files files, std::vector<std::string> paths) : files_(std::move(files)), paths_(std::move(paths)) {}

  Task<Result<std::string>> next() {
    while (at_ < paths_.size()) {
      FilePath place = FilePath::anywhere(paths_[at_]);
      const FileRange range{offset_, compose_piece.count};
      CLOCHE_CO_TRY(ReadResult read,
                    co_await files_.read(std::move(place), range, compose_piece, file_deadline(Deadline::never())));
      if (!read.bytes.empty()) {
        offset_ += read.bytes.size();
        co_return std::move(read.bytes);
      }
      ++at_;
      offset_ = 0;
    }
    co_return std::string();
  }

 private:
  Files files_;
  std::vector<std::string> paths_;
  std::size_t at_ = 0;
  std::uint64_t offset_ = 0;
};

// Writes the destination, then removes the sources.
Task<Status> join_files(FileUse& use, std::vector<std::string> sources, std::string destination) {
  JoinedFiles joined(use.files, sources);
  Files::Source source = [&joined] { return joined.next(); };
  FilePath place = FilePath::anywhere(destination);
  WriteOptions options;
  const Deadline deadline = Deadline::after(api::stream_timeout);
  CLOCHE_CO_CHECK(co_await use.files.write_stream(std::move(place), std::move(source), std::move(options), deadline));
  for (const std::string& path : sources) {
    if (path == destination) continue;
    FilePath old = FilePath::anywhere(path);
    CLOCHE_CO_CHECK(co_await use.files.remove(std::move(old), Recursion::none, Missing::fine, deadline));
  }
  co_return Status{};
}

Task<> compose(DataCall& call) {
  auto body = co_await http::read_json(call.exchange);
  Result<ComposeRequest> request = body ? read_compose(*body) : Result<ComposeRequest>(fail(std::move(body).error()));
  if (!request) {
    co_await answer_file_error(call.exchange, std::move(request).error());
    co_return;
  }
  auto use = co_await begin_file_use(call, request->user.empty() ? call.user : request->user);
  if (!use) {
    co_await answer_connect_failure(call.exchange, std::move(use).error());
    co_return;
  }
  Result<std::string> destination = (*use)->resolve(request->destination);
  Status status;
  if (!destination) status = fail(destination.error());
  std::vector<std::string> sources;
  for (const std::string& each : request->sources) {
    auto path = (*use)->resolve(each);
    if (path) {
      sources.push_back(std::move(*path));
    } else {
      status = fail(std::move(path).error());
    }
  }
  if (status) status = co_await join_files(**use, std::move(sources), *destination);
  if (!status) {
    co_await answer_file_error(call.exchange, std::move(status).error());
    co_return;
  }
  const json::value entry = written_entry(*destination, {});
  [[maybe_unused]] auto sent = co_await http::respond_json(call.exchange, 200, entry);
}

}  // namespace

void add_content_routes(EnvdRouter& router) {
  EnvdRoute reading;
  reading.serve = download;
  reading.access = EnvdRoute::Access::signature;
  router.add("GET", "/files", std::move(reading));
  EnvdRoute writing;
  writing.serve = upload;
  writing.access = EnvdRoute::Access::signature;
  router.add("POST", "/files", std::move(writing));
  EnvdRoute joining;
  joining.serve = compose;
  router.add("POST", "/files/compose", std::move(joining));
}

}  // namespace cloche::dialect::e2b

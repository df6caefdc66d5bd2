#include "backend/docker/engine/engine.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/line_splitter.hpp"

namespace cloche::docker {

namespace {

constexpr Bytes most_json = mib(4);
// A pull or a build may talk for long; a single line is short.
constexpr Bytes most_lines = {std::uint64_t{1} << 30};
constexpr Bytes longest_line = kib(64);

ErrorCode code_of(unsigned status) {
  switch (status) {
    case 400: return ErrorCode::invalid_argument;
    case 401:
    case 403: return ErrorCode::permission_denied;
    case 404: return ErrorCode::not_found;
    case 409: return ErrorCode::already_exists;
    case 501: return ErrorCode::unsupported;
    case 503: return ErrorCode::unavailable;
    default: return ErrorCode::internal;
  }
}

// The engine's words, fit for a log line: printable, and not a page of usage text.
std::string tidy(std::string_view words) {
  constexpr std::size_t longest = 600;
  const bool cut = words.size() > longest;
  std::string tidied(words.substr(0, longest));
  std::ranges::replace_if(tidied, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  while (tidied.ends_with(' ')) tidied.pop_back();
  return cut ? tidied + "…" : tidied;
}

// Docker says what went wrong as {"message"}.
std::string engine_message(std::string_view body) {
  const auto parsed = json::parse(body);
  const std::string message = parsed ? json::text(json::find(*parsed, "message")) : std::string();
  return tidy(message.empty() ? body : std::string_view(message));
}

bool is_accepted(const Call& call, unsigned status) {
  return std::ranges::find(call.accepts, status) != call.accepts.end();
}

// The error in a line of a pull or a build; empty if there is none.
std::string failure_in(const json::value& line) {
  const std::string detail = json::text(json::find(line, "errorDetail", "message"));
  return detail.empty() ? json::text(json::find(line, "error")) : detail;
}

Status line_too_long() { return fail(ErrorCode::limit_reached, "a line is longer than " + to_string(longest_line)); }

}  // namespace

std::string percent_encode(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded += c;
    } else {
      encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return encoded;
}

std::string with_query(std::string path, const Query& query) {
  char separator = '?';
  for (const auto& [name, value] : query) {
    path.append(1, std::exchange(separator, '&'))
        .append(percent_encode(name))
        .append("=")
        .append(percent_encode(value));
  }
  return path;
}

Error engine_error(const Call& call, unsigned status, std::string_view body) {
  const std::string words = engine_message(body);
  return Error{code_of(status),
               call.method + " " + call.path + ": " + std::to_string(status) + (words.empty() ? "" : " ") + words};
}

Error as_trouble_of_engine(Error error) {
  const bool stays =
      error.code == ErrorCode::timeout || error.code == ErrorCode::cancelled || error.code == ErrorCode::unsupported;
  if (!stays) error.code = ErrorCode::unavailable;
  return error;
}

Engine::Engine(Executor executor, http::Endpoint endpoint) : client_(std::move(executor), std::move(endpoint)) {}

Error Engine::explain(const Call& call, Error error) {
  if (error.code == ErrorCode::unavailable) {
    // Another engine may be there next time, of another version.
    version_.reset();
    error.message += " (is a Docker engine running there? start it, or name another one with DOCKER_HOST)";
  } else if (error.code == ErrorCode::permission_denied && std::holds_alternative<http::UnixEndpoint>(endpoint())) {
    error.message += " (join the group that owns the socket, usually `docker`, or run as root)";
  }
  return std::move(error).at(call.method + " " + call.path);
}

Task<Result<http::Request>> Engine::request_for(Call& call, Deadline deadline) {
  CLOCHE_CO_TRY(const ApiVersion version, co_await api_version(deadline));
  http::Request request;
  request.method = call.method;
  request.target = with_query("/v" + to_string(version) + call.path, call.query);
  request.body = call.body ? boost::json::serialize(*call.body) : std::move(call.raw_body);
  request.source = std::move(call.source);
  request.body_limit = most_json;
  request.patience = call.patience;
  if (request.source || !request.body.empty()) request.fields.emplace_back("Content-Type", call.content_type);
  co_return request;
}

Task<Result<http::Response>> Engine::send(Call& call, Deadline deadline) {
  CLOCHE_CO_TRY(http::Request request, co_await request_for(call, deadline));
  auto response = co_await client_.send(std::move(request), deadline);
  if (!response) co_return fail(explain(call, std::move(response).error()));
  if (!is_accepted(call, response->status)) co_return fail(engine_error(call, response->status, response->body));
  co_return response;
}

Task<Result<std::string>> Engine::call_bytes(Call call, Deadline deadline) {
  CLOCHE_CO_TRY(http::Response response, co_await send(call, deadline));
  co_return std::move(response.body);
}

Task<Result<Answer>> Engine::call(Call call, Deadline deadline) {
  CLOCHE_CO_TRY(const http::Response response, co_await send(call, deadline));
  Answer answer;
  answer.status = response.status;
  if (response.body.empty()) co_return answer;
  auto parsed = json::parse(response.body);
  if (!parsed) co_return fail(std::move(parsed).error().at(call.method + " " + call.path));
  answer.body = std::move(*parsed);
  co_return answer;
}

Task<Status> Engine::call_lines(Call call, LineSink line, Deadline deadline) {
  CLOCHE_CO_TRY(http::Request request, co_await request_for(call, deadline));
  request.body_limit = most_lines;
  LineSplitter splitter(longest_line.count);
  const auto take = [&line](std::string_view text) -> Status {
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) return {};
    CLOCHE_TRY(const json::value parsed, json::parse(text));
    const std::string failure = failure_in(parsed);
    if (!failure.empty()) return fail(ErrorCode::internal, tidy(failure));
    return line(parsed);
  };
  http::BodySink sink = [&splitter, &take](std::string_view bytes) -> Task<Status> {
    while (const auto next = splitter.next(bytes)) {
      if (next->cut) co_return line_too_long();
      CLOCHE_CO_CHECK(take(next->text));
    }
    co_return splitter.is_cutting() ? line_too_long() : Status{};
  };
  auto response = co_await client_.stream(std::move(request), std::move(sink), deadline);
  if (!response) co_return fail(explain(call, std::move(response).error()));
  if (!is_accepted(call, response->status)) co_return fail(engine_error(call, response->status, response->body));
  if (const auto last = splitter.finish()) {
    auto taken = take(last->text);
    if (!taken) co_return fail(explain(call, std::move(taken).error()));
  }
  co_return Status{};
}

Task<Result<http::Upgrade>> Engine::call_upgrade(Call call, Deadline deadline) {
  CLOCHE_CO_TRY(http::Request request, co_await request_for(call, deadline));
  auto upgrade = co_await client_.upgrade(std::move(request), "tcp", deadline);
  if (!upgrade) co_return fail(explain(call, std::move(upgrade).error()));
  if (!upgrade->stream) co_return fail(engine_error(call, upgrade->response.status, upgrade->response.body));
  co_return upgrade;
}

Task<Result<ApiVersion>> Engine::api_version(Deadline deadline) {
  if (version_) co_return *version_;
  // Without a version in the path, an engine of any age responds to this.
  Call call;
  call.method = "GET";
  call.path = "/version";
  http::Request request;
  request.method = call.method;
  request.target = call.path;
  request.body_limit = most_json;
  request.patience = call.patience;
  auto response = co_await client_.send(std::move(request), deadline);
  if (!response) co_return fail(explain(call, std::move(response).error()));
  if (response->status != 200) co_return fail(engine_error(call, response->status, response->body));
  auto said = json::parse(response->body);
  if (!said) co_return fail(std::move(said).error().at("GET /version: this is not a Docker engine"));
  CLOCHE_CO_TRY(const ApiVersion newest, parse_api_version(json::text(json::find(*said, "ApiVersion"))));
  const std::string oldest_text = json::text(json::find(*said, "MinAPIVersion"));
  ApiVersion oldest;
  if (!oldest_text.empty()) {
    CLOCHE_CO_TRY(oldest, parse_api_version(oldest_text));
  }
  CLOCHE_CO_TRY(const ApiVersion chosen, choose_api_version(newest, oldest));
  version_ = chosen;
  co_return chosen;
}

}  // namespace cloche::docker

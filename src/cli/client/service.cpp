#include "cli/client/service.hpp"

#include "cli/client/answer_error.hpp"
#include "json/lenient_json.hpp"
#include "json/write_json.hpp"

namespace cloche::cli {

namespace {

// A session that is ended gently may wait a minute for its calls.
constexpr std::chrono::seconds call_patience{120};
constexpr std::chrono::seconds probe_patience{5};
// Two outputs of a run, a MiB each, in base64 beside the text.
constexpr Bytes longest_answer = mib(32);

std::string text_of_endpoint(const http::Endpoint& endpoint) {
  if (const auto* local = std::get_if<http::UnixEndpoint>(&endpoint)) return "unix:" + local->path;
  const bool is_secure = std::holds_alternative<http::TlsEndpoint>(endpoint);
  return (is_secure ? "https://" : "http://") + http::host_header(endpoint);
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    if (is_plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += digits[byte >> 4];
    encoded += digits[byte & 0xf];
  }
  return encoded;
}

Service::Service(Executor executor, ServerAccess access)
    : executor_(executor), token_(std::move(access.token)), client_(std::move(executor), std::move(access.endpoint)) {}

std::string Service::place() const { return text_of_endpoint(client_.endpoint()); }

void Service::sign(http::Request& request) const {
  if (!token_.empty()) request.fields.emplace_back("Authorization", "Bearer " + token_);
}

// A second connection shows whether the service is not running, or only closed this connection.
Task<Error> Service::explained(Error error) {
  if (error.code == ErrorCode::permission_denied) {
    if (std::holds_alternative<http::UnixEndpoint>(client_.endpoint())) {
      error.message += "; the socket belongs to the user of the service: run this as that user or as root";
    }
    co_return error;
  }
  if (error.code != ErrorCode::unavailable) co_return error;
  const Deadline soon = Deadline::after(probe_patience);
  auto probe = co_await http::open_stream(executor_, client_.endpoint(), soon);
  if (probe) {
    error.message = place() + " closed the connection in the middle of the call: " + error.message;
  } else {
    error.message = "no service responds at " + place() + " (" + probe.error().message +
                    "): start one with `cloche serve`, or give its address with --server or $CLOCHE_SERVER";
  }
  co_return error;
}

Task<Result<http::Response>> Service::ask(http::Request request, http::BodySink sink, Deadline deadline) {
  sign(request);
  auto answered = co_await client_.stream(std::move(request), std::move(sink), deadline);
  if (answered) co_return answered;
  Error error = std::move(answered).error();
  Error told = co_await explained(std::move(error));
  co_return fail(std::move(told));
}

Task<Result<http::Response>> Service::send(http::Request request, http::BodySink sink, Deadline deadline) {
  auto answered = co_await ask(std::move(request), std::move(sink), deadline);
  if (!answered || answered->success()) co_return answered;
  co_return fail(error_of_answer(*answered, token_.empty() ? Shown::no_token : Shown::token));
}

Task<Result<http::Upgrade>> Service::upgrade(http::Request request, std::string protocol, Deadline deadline) {
  sign(request);
  auto upgraded = co_await client_.upgrade(std::move(request), std::move(protocol), deadline);
  if (upgraded && upgraded->stream) co_return upgraded;
  if (upgraded) co_return fail(error_of_answer(upgraded->response, token_.empty() ? Shown::no_token : Shown::token));
  Error error = std::move(upgraded).error();
  Error told = co_await explained(std::move(error));
  co_return fail(std::move(told));
}

Task<Result<json::value>> Service::call(http::Request request) {
  request.body_limit = longest_answer;
  request.fields.emplace_back("Accept", "application/json");
  const http::BodySink none;
  const Deadline deadline = Deadline::after(call_patience);
  CLOCHE_CO_TRY(const http::Response response, co_await send(std::move(request), none, deadline));
  auto body = json::parse(response.body);
  if (!body)
    co_return fail(ErrorCode::protocol, place() + " sent a response that is not JSON; is it a Cloche service?");
  co_return body;
}

Task<Result<json::value>> Service::get(std::string target) {
  http::Request request;
  request.method = "GET";
  request.target = std::move(target);
  auto answered = co_await call(std::move(request));
  co_return answered;
}

Task<Result<json::value>> Service::post(std::string target, json::value body) {
  http::Request request;
  request.method = "POST";
  request.target = std::move(target);
  request.fields.emplace_back("Content-Type", "application/json");
  request.body = write_json(body);
  auto answered = co_await call(std::move(request));
  co_return answered;
}

Task<Result<json::value>> Service::remove(std::string target) {
  http::Request request;
  request.method = "DELETE";
  request.target = std::move(target);
  auto answered = co_await call(std::move(request));
  co_return answered;
}

}  // namespace cloche::cli

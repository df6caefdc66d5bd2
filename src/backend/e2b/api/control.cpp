#include "backend/e2b/api/control.hpp"

#include <algorithm>

#include "core/async/event.hpp"
#include "core/percent_encoding.hpp"

namespace cloche::e2b {

namespace {

using namespace std::chrono_literals;

constexpr auto first_pause = 200ms;
constexpr auto longest_pause = 5s;
// A service that does not say when to come back.
constexpr auto usual_rate_pause = 1s;
// Of one attempt. A sandbox is made in less; a connection that has died without a word must not cost the whole
// deadline.
constexpr auto longest_silence = 60s;
constexpr std::size_t page_size = 100;
constexpr std::size_t most_pages = 100;
constexpr std::size_t longest_cursor = 4096;

std::string tell(const std::string& method, const std::string& target, unsigned status, std::string_view body) {
  const std::string words = read_message(body);
  return method + " " + target.substr(0, target.find('?')) + ": " + std::to_string(status) +
         (words.empty() ? "" : " ") + words;
}

bool passes_by_itself(unsigned status) { return status == 502 || status == 503 || status == 504; }

ErrorCode code_of_status(unsigned status) {
  switch (status) {
    case 400: return ErrorCode::invalid_argument;
    case 401:
    case 403: return ErrorCode::permission_denied;
    case 404: return ErrorCode::not_found;
    case 409: return ErrorCode::already_exists;
    case 429: return ErrorCode::limit_reached;
    case 501: return ErrorCode::unsupported;
    default: return status >= 500 ? ErrorCode::unavailable : ErrorCode::protocol;
  }
}

Error error_of(const std::string& method, const std::string& target, const http::Response& response) {
  Error error{code_of_status(response.status), tell(method, target, response.status, response.body)};
  if (response.status == 401 || response.status == 403)
    error.message += " (E2B rejects the API key: check E2B_API_KEY)";
  if (response.status == 400 && error.message.find("secured access") != std::string::npos) {
    error.message +=
        " (rebuild the template, or set E2B_SECURE_ACCESS=false if its sandboxes may be reached by their id "
        "alone)";
  }
  return error;
}

// Waits, unless the deadline would pass before.
Task<bool> pause_within(Deadline::Clock::duration span, Deadline deadline) {
  if (!deadline.is_never() && span >= deadline.left()) co_return false;
  co_await pause_for(span);
  co_return true;
}

}  // namespace

Control::Control(Executor executor, E2bSettings settings, Address address)
    : settings_(std::move(settings)), address_(std::move(address)), client_(std::move(executor), address_.endpoint) {}

std::string Control::describe() const { return http::describe(address_.endpoint); }

http::Request Control::request_for(const Call& call) const {
  http::Request request;
  request.method = call.method;
  request.target = address_.prefix + call.target;
  request.body = call.body;
  request.patience = longest_silence;
  request.fields.emplace_back("X-API-Key", settings_.api_key);
  request.fields.emplace_back("User-Agent", "cloche");
  request.fields.emplace_back("Accept", "application/json");
  if (!request.body.empty()) request.fields.emplace_back("Content-Type", "application/json");
  return request;
}

Task<Result<http::Response>> Control::send(Call call, Deadline deadline) {
  if (settings_.api_key.empty()) {
    if (call.has_answered != nullptr) *call.has_answered = true;
    co_return fail(ErrorCode::invalid_argument, "the E2B backend has no API key: set E2B_API_KEY");
  }
  Deadline::Clock::duration pause = first_pause;
  for (;;) {
    http::Request request = request_for(call);
    auto response = co_await client_.send(std::move(request), deadline);
    if (response && !passes_by_itself(response->status) && response->status != 429) {
      if (call.has_answered != nullptr) *call.has_answered = true;
      if (response->success()) co_return std::move(*response);
      co_return fail(error_of(call.method, call.target, *response));
    }
    const bool is_rate = response && response->status == 429;
    // 503 and 429 say that nothing was done. After others it may have been.
    const bool may_be_done = !is_rate && !(response && response->status == 503);
    Error error =
        response ? error_of(call.method, call.target, *response)
                 : std::move(response).error().at(call.method + " " + call.target.substr(0, call.target.find('?')));
    const bool can_pass = response || error.code == ErrorCode::unavailable;
    if (!can_pass || (may_be_done && !response && !call.is_repeatable)) co_return fail(std::move(error));
    if (may_be_done && call.was_swallowed != nullptr) *call.was_swallowed = true;
    Deadline::Clock::duration wait = pause;
    if (is_rate) {
      const std::uint32_t asked = read_retry_after(response->field("Retry-After"));
      wait = asked > 0 ? std::chrono::seconds(asked) : std::max<Deadline::Clock::duration>(pause, usual_rate_pause);
    }
    const bool waited = co_await pause_within(wait, deadline);
    if (!waited) {
      const bool is_certain = !may_be_done && (call.was_swallowed == nullptr || !*call.was_swallowed);
      if (call.has_answered != nullptr && is_certain) *call.has_answered = true;
      co_return fail(std::move(error));
    }
    pause = std::min<Deadline::Clock::duration>(pause * 2, longest_pause);
  }
}

Task<Result<Control::Created>> Control::create(NewSandbox wanted, bool& has_answered, Deadline deadline) {
  Created created;
  Call call;
  call.method = "POST";
  call.target = "/sandboxes";
  call.body = write_new_sandbox(wanted);
  call.is_repeatable = false;
  call.has_answered = &has_answered;
  call.was_swallowed = &created.may_have_twin;
  auto response = co_await send(std::move(call), deadline);
  if (!response && response.error().code == ErrorCode::not_found) {
    co_return fail(ErrorCode::not_found, "E2B has no template '" + wanted.template_name +
                                             "': set `image` of the profile, or E2B_TEMPLATE (" +
                                             response.error().message + ")");
  }
  if (!response) co_return fail(std::move(response).error());
  auto sandbox = read_sandbox(response->body);
  if (!sandbox) co_return fail(std::move(sandbox).error().at("POST /sandboxes"));
  created.sandbox = std::move(*sandbox);
  co_return created;
}

Task<Result<RemoteSandbox>> Control::detail(std::string sandbox, Deadline deadline) {
  Call call;
  call.method = "GET";
  call.target = "/sandboxes/" + sandbox;
  CLOCHE_CO_TRY(const http::Response response, co_await send(std::move(call), deadline));
  auto read = read_sandbox(response.body);
  if (!read) co_return fail(std::move(read).error().at("GET /sandboxes/" + sandbox));
  if (read->id != sandbox) co_return fail(ErrorCode::protocol, "GET /sandboxes/" + sandbox + ": another sandbox came");
  co_return read;
}

Task<Result<std::vector<RemoteSandbox>>> Control::list(Metadata wanted, Deadline deadline) {
  std::vector<RemoteSandbox> all;
  std::string cursor;
  for (std::size_t page = 0; page < most_pages; ++page) {
    Call call;
    call.method = "GET";
    call.target = "/v2/sandboxes?state=running,paused&limit=" + std::to_string(page_size);
    if (!wanted.empty()) call.target += "&metadata=" + percent_encoded(write_metadata_filter(wanted));
    if (!cursor.empty()) call.target += "&nextToken=" + percent_encoded(cursor);
    CLOCHE_CO_TRY(const http::Response response, co_await send(std::move(call), deadline));
    auto some = read_sandboxes(response.body, page_size);
    if (!some) co_return fail(std::move(some).error().at("GET /v2/sandboxes"));
    // The filter is the service's; whose a sandbox is decides what happens to it.
    const auto is_other = [&wanted](const RemoteSandbox& sandbox) {
      return !std::ranges::all_of(wanted, [&sandbox](const auto& pair) {
        const auto found = sandbox.metadata.find(pair.first);
        return found != sandbox.metadata.end() && found->second == pair.second;
      });
    };
    std::erase_if(*some, is_other);
    std::ranges::move(*some, std::back_inserter(all));
    const std::string next(response.field("x-next-token"));
    if (next.empty()) co_return all;
    if (next == cursor || next.size() > longest_cursor)
      co_return fail(ErrorCode::protocol, "GET /v2/sandboxes: the list does not end");
    cursor = next;
  }
  co_return fail(ErrorCode::limit_reached,
                 "GET /v2/sandboxes: more than " + std::to_string(most_pages * page_size) + " sandboxes");
}

Task<Status> Control::check_key(Deadline deadline) {
  Call call;
  call.method = "GET";
  call.target = "/v2/sandboxes?limit=1";
  CLOCHE_CO_CHECK(co_await send(std::move(call), deadline));
  co_return Status{};
}

Task<Status> Control::set_lifetime(std::string sandbox, std::uint32_t seconds, Deadline deadline) {
  Call call;
  call.method = "POST";
  call.target = "/sandboxes/" + sandbox + "/timeout";
  call.body = R"({"timeout":)" + std::to_string(seconds) + "}";
  CLOCHE_CO_CHECK(co_await send(std::move(call), deadline));
  co_return Status{};
}

Task<Status> Control::remove(std::string sandbox, Deadline deadline) {
  Call call;
  call.method = "DELETE";
  call.target = "/sandboxes/" + sandbox;
  auto removed = co_await send(std::move(call), deadline);
  if (removed || removed.error().code == ErrorCode::not_found) co_return Status{};
  co_return fail(std::move(removed).error());
}

}  // namespace cloche::e2b

#include "backend/kubernetes/api/api.hpp"

#include <algorithm>

#include "backend/kubernetes/api/status.hpp"
#include "core/async/event.hpp"
#include "core/percent_encoding.hpp"
#include "json/write_json.hpp"

namespace cloche::kubernetes {

namespace {

using namespace std::chrono_literals;

constexpr double requests_per_second = 50;
constexpr double requests_at_once = 100;
constexpr auto first_pause = 100ms;
constexpr auto longest_pause = 5s;
// Of one attempt: a connection that has died without a word must not cost the whole deadline.
constexpr auto longest_silence = 30s;
constexpr std::size_t page_size = 250;
constexpr std::size_t most_pages = 200;
constexpr Bytes largest_response = mib(64);
constexpr Bytes no_limit = {std::uint64_t{1} << 50};
constexpr const char* stream_protocol = "v5.channel.k8s.io";
// A program's output comes in messages of 32 KiB; a server may join some.
constexpr Bytes largest_message = mib(4);

bool passes_by_itself(unsigned status) {
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

std::string without_query(const std::string& target) { return target.substr(0, target.find('?')); }

Task<bool> pause_within(Deadline::Clock::duration span, Deadline deadline) {
  if (!deadline.is_never() && span >= deadline.left()) co_return false;
  co_await pause_for(span);
  co_return true;
}

bool same_files(const http::TlsFiles& a, const http::TlsFiles& b) {
  return a.authority == b.authority && a.certificate == b.certificate && a.key == b.key;
}

}  // namespace

Api::Api(Executor executor, asio::thread_pool& pool, const KubernetesSettings& settings)
    : executor_(executor),
      namespace_(settings.namespace_name),
      missing_(missing_setting(settings)),
      pace_(requests_per_second, requests_at_once) {
  if (!settings.access) return;
  auto address = http::parse_address(settings.access->server, "");
  if (!address) {
    missing_ = address.error().message;
    return;
  }
  address_ = std::move(*address);
  if (auto* tls = std::get_if<http::TlsEndpoint>(&address_.endpoint)) tls->server_name = settings.access->server_name;
  credentials_ = std::make_unique<Credentials>(executor, pool, *settings.access);
}

std::string Api::describe() const { return credentials_ ? http::describe(address_.endpoint) : "no cluster"; }

std::string Api::pods(std::string_view name, std::string_view subresource) const {
  std::string path = "/api/v1/namespaces/" + namespace_ + "/pods";
  if (!name.empty()) path += "/" + std::string(name);
  if (!subresource.empty()) path += "/" + std::string(subresource);
  return path;
}

Task<Result<Api::Connected>> Api::connect(Deadline deadline) {
  if (!credentials_) co_return fail(ErrorCode::invalid_argument, "the kubernetes backend cannot be used: " + missing_);
  CLOCHE_CO_TRY(Login login, co_await credentials_->login(deadline));
  if (!client_ || !same_files(login.files, client_files_)) {
    http::Endpoint endpoint = address_.endpoint;
    if (auto* tls = std::get_if<http::TlsEndpoint>(&endpoint)) tls->files = login.files;
    client_ = std::make_shared<http::Client>(executor_, std::move(endpoint));
    client_files_ = login.files;
  }
  Connected connected;
  connected.client = client_;
  connected.token = std::move(login.token);
  co_return connected;
}

http::Request Api::request_for(const Call& call, const std::string& token) const {
  http::Request request;
  request.method = call.method;
  request.target = address_.prefix + call.target;
  request.body = call.body;
  request.body_limit = largest_response;
  request.patience = longest_silence;
  if (!token.empty()) request.fields.emplace_back("Authorization", "Bearer " + token);
  request.fields.emplace_back("User-Agent", "cloche");
  request.fields.emplace_back("Accept", "application/json");
  if (!request.body.empty()) request.fields.emplace_back("Content-Type", call.type);
  return request;
}

Task<Result<http::Response>> Api::send(Call call, Deadline deadline) {
  const std::string what = call.method + " " + without_query(call.target);
  Deadline::Clock::duration pause = first_pause;
  bool is_refreshed = false;
  for (;;) {
    const bool has_turn = co_await pace_.take(deadline);
    if (!has_turn) co_return fail(ErrorCode::limit_reached, what + ": too many requests to the cluster at once");
    CLOCHE_CO_TRY(const Connected connected, co_await connect(deadline));
    http::Request request = request_for(call, connected.token);
    auto response = co_await connected.client->send(std::move(request), deadline);
    if (response && response->status == 401 && !is_refreshed) {
      // A token may have been replaced.
      is_refreshed = true;
      credentials_->forget();
      continue;
    }
    if (response && !passes_by_itself(response->status)) co_return std::move(*response);
    if (call.was_sent != nullptr && !(response && (response->status == 429 || response->status == 503)))
      *call.was_sent = true;
    if (!response && response.error().code != ErrorCode::unavailable)
      co_return fail(std::move(response).error().at(what));
    Deadline::Clock::duration wait = pause;
    if (response) wait = std::max<Deadline::Clock::duration>(wait, retry_after(*response));
    const bool waited = co_await pause_within(wait, deadline);
    if (!waited && response) co_return fail(error_of(what, response->status, response->body));
    if (!waited) co_return fail(std::move(response).error().at(what));
    pause = std::min<Deadline::Clock::duration>(pause * 2, longest_pause);
  }
}

Task<Result<json::value>> Api::send_for_object(Call call, Deadline deadline) {
  const std::string what = call.method + " " + without_query(call.target);
  CLOCHE_CO_TRY(const http::Response response, co_await send(std::move(call), deadline));
  if (!response.success()) co_return fail(error_of(what, response.status, response.body));
  auto object = json::parse(response.body);
  if (!object || !object->is_object()) co_return fail(ErrorCode::protocol, what + ": the response is not an object");
  co_return std::move(*object);
}

Task<Result<json::value>> Api::get(std::string path, Deadline deadline) {
  Call call;
  call.method = "GET";
  call.target = std::move(path);
  co_return co_await send_for_object(std::move(call), deadline);
}

Task<Result<json::value>> Api::create(std::string path, json::value body, Deadline deadline, bool* was_sent) {
  Call call;
  call.method = "POST";
  call.target = std::move(path);
  call.body = write_json(body);
  call.was_sent = was_sent;
  co_return co_await send_for_object(std::move(call), deadline);
}

Task<Result<json::value>> Api::patch(std::string path, PatchType type, json::value body, Deadline deadline) {
  Call call;
  call.method = "PATCH";
  call.target = std::move(path);
  call.body = write_json(body);
  call.type = type == PatchType::json ? "application/json-patch+json" : "application/strategic-merge-patch+json";
  co_return co_await send_for_object(std::move(call), deadline);
}

Task<Status> Api::remove(std::string path, std::string uid, Deadline deadline) {
  json::object options{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", 0}};
  if (!uid.empty()) options["preconditions"] = json::object{{"uid", uid}};
  Call call;
  call.method = "DELETE";
  call.target = std::move(path);
  call.body = write_json(options);
  const std::string what = "DELETE " + call.target;
  CLOCHE_CO_TRY(const http::Response response, co_await send(std::move(call), deadline));
  // 409: the object with this uid is gone, and another one has its name.
  if (response.success() || response.status == 404 || response.status == 409) co_return Status{};
  co_return fail(error_of(what, response.status, response.body));
}

Task<Result<Listed>> Api::list(std::string path, std::string query, Deadline deadline) {
  Listed listed;
  std::string next;
  for (std::size_t page = 0; page < most_pages; ++page) {
    Call call;
    call.method = "GET";
    call.target = path + "?limit=" + std::to_string(page_size) + (query.empty() ? "" : "&") + query;
    if (!next.empty()) call.target += "&continue=" + percent_encoded(next);
    CLOCHE_CO_TRY(const http::Response response, co_await send(std::move(call), deadline));
    if (response.status == 410 && !next.empty()) {
      // The server has forgotten the version that this list is of.
      listed = {};
      next.clear();
      continue;
    }
    if (!response.success()) co_return fail(error_of("GET " + path, response.status, response.body));
    const auto body = json::parse(response.body);
    const json::value* items = body ? json::find(*body, "items") : nullptr;
    if (items == nullptr) co_return fail(ErrorCode::protocol, "GET " + path + ": the response is not a list");
    if (items->is_array()) std::ranges::copy(items->get_array(), std::back_inserter(listed.items));
    listed.resource_version = json::text(json::find(*body, "metadata", "resourceVersion"));
    const std::string following = json::text(json::find(*body, "metadata", "continue"));
    if (following.empty()) co_return listed;
    if (following == next) break;
    next = following;
  }
  co_return fail(ErrorCode::protocol, "GET " + path + ": the list does not end");
}

Task<Result<Api::Watching>> Api::watch(std::string path, std::string query, std::string resource_version,
                                       Deadline deadline) {
  Call call;
  call.method = "GET";
  call.target = path + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=" +
                percent_encoded(resource_version) + (query.empty() ? "" : "&") + query;
  const bool has_turn = co_await pace_.take(deadline);
  if (!has_turn) co_return fail(ErrorCode::limit_reached, "GET " + path + ": too many requests to the cluster at once");
  CLOCHE_CO_TRY(const Connected connected, co_await connect(deadline));
  http::Request request = request_for(call, connected.token);
  request.body_limit = no_limit;
  request.patience = Deadline::Clock::duration::max();
  Watching watching;
  CLOCHE_CO_TRY(watching.events, co_await connected.client->open(std::move(request), deadline));
  const http::Response& head = watching.events->head();
  if (head.success()) co_return watching;
  if (head.status == 410) {
    watching.events.reset();
    watching.is_expired = true;
    co_return watching;
  }
  if (head.status == 401) credentials_->forget();
  CLOCHE_CO_TRY(const std::string body, co_await watching.events->next(deadline));
  co_return fail(error_of("GET " + path + " (watch)", head.status, body));
}

Task<Result<std::unique_ptr<http::ClientWebSocket>>> Api::exec(std::string pod, std::string container,
                                                               std::vector<std::string> argv, Deadline deadline) {
  std::string target =
      pods(pod, "exec") + "?container=" + percent_encoded(container) + "&stdin=true&stdout=true&stderr=true&tty=false";
  const std::string what = "GET " + without_query(target);
  for (const std::string& word : argv) target += "&command=" + percent_encoded(word);
  const bool has_turn = co_await pace_.take(deadline);
  if (!has_turn) co_return fail(ErrorCode::limit_reached, what + ": too many requests to the cluster at once");
  CLOCHE_CO_TRY(const Connected connected, co_await connect(deadline));
  http::ClientWebSocketOptions options;
  options.message = largest_message;
  options.protocols = {stream_protocol};
  options.fields.emplace_back("User-Agent", "cloche");
  if (!connected.token.empty()) options.fields.emplace_back("Authorization", "Bearer " + connected.token);
  auto opened = co_await http::open_websocket(*connected.client, executor_, address_.prefix + target,
                                              std::move(options), deadline);
  if (!opened) co_return fail(std::move(opened).error().at(what));
  if (opened->socket) co_return std::move(opened->socket);
  if (opened->response.status == 401) credentials_->forget();
  co_return fail(error_of(what, opened->response.status, opened->response.body));
}

}  // namespace cloche::kubernetes

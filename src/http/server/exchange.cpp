#include "http/server/exchange.hpp"

#include "core/ids.hpp"
#include "http/server/exchange_parts.hpp"
#include "http/server/upgraded_stream.hpp"

namespace cloche::http {

namespace {

// Ids go into logs and answers: nothing in them may need quoting there.
bool is_sane_id(std::string_view id) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
           c == '.';
  };
  return !id.empty() && id.size() <= 64 && std::ranges::all_of(id, fits);
}

std::string id_of(const RequestHead& head) {
  const std::string_view theirs = field_value(head.fields, "X-Request-Id");
  return is_sane_id(theirs) ? std::string(theirs) : random_hex(8);
}

bool is_worth_a_retry(unsigned status) { return status == 429 || status == 503; }

}  // namespace

ErrorBody ServerState::error_body(unsigned status, std::string_view why, std::string_view request_id) const {
  if (options.error_body) return options.error_body(status, why, request_id);
  return ErrorBody{"text/plain; charset=utf-8", std::string(why) + "\n"};
}

std::string ServerState::rejection_bytes(const RequestError& refusal, std::string_view request_id) const {
  const ErrorBody body = error_body(refusal.status, refusal.why, request_id);
  Fields fields;
  fields.emplace_back("Content-Type", body.content_type);
  if (is_worth_a_retry(refusal.status)) fields.emplace_back("Retry-After", "1");
  const AnswerHead head{refusal.status, fields, AnswerFraming::length, body.text.size(), "close", request_id};
  auto bytes = serialise_answer_head(head);
  return bytes ? *bytes + body.text : "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n";
}

ExchangeParts::ExchangeParts(ServerState& s, std::shared_ptr<ClientStream> w, RequestHead h, const Peer& p,
                             bool is_last)
    : server(s),
      shared_stream(std::move(w)),
      client_stream(*shared_stream),
      head(std::move(h)),
      peer(p),
      request_id(id_of(head)),
      last_of_connection(is_last),
      shared_share(std::make_shared<BodyShare>(server.budget)),
      share(*shared_share),
      body(client_stream, head, share),
      answer(client_stream, AnswerTo{head.method == "HEAD", head.version, request_id,
                                     [this] {
                                       return head.keeps_alive && !last_of_connection && !server.stopping &&
                                              body.can_be_drained();
                                     },
                                     s.options.role}) {}

Exchange::Exchange(std::unique_ptr<ExchangeParts> parts) : parts_(std::move(parts)) {}
Exchange::~Exchange() = default;

const std::string& Exchange::method() const { return parts_->head.method; }
const Target& Exchange::target() const { return parts_->head.target; }
const std::string& Exchange::authority() const { return parts_->head.authority; }
const Fields& Exchange::fields() const { return parts_->head.fields; }
std::string_view Exchange::field(std::string_view name) const { return field_value(parts_->head.fields, name); }
const Peer& Exchange::peer() const { return parts_->peer; }
const std::string& Exchange::request_id() const { return parts_->request_id; }

Result<Query> Exchange::query() const {
  auto query = parse_query(parts_->head.target.query);
  if (!query) return fail(ErrorCode::invalid_argument, "query: " + query.error().why);
  return std::move(*query);
}

bool Exchange::has_body() const { return parts_->head.framing.chunked || parts_->head.framing.length.value_or(0) > 0; }

std::optional<Bytes> Exchange::announced_size() const {
  if (parts_->head.framing.chunked) return std::nullopt;
  return Bytes{parts_->head.framing.length.value_or(0)};
}

void Exchange::allow_body(Bytes most) { parts_->body.allow(most); }
void Exchange::reject_body(unsigned status, std::string why) { parts_->body.reject(status, std::move(why)); }
const std::optional<RequestError>& Exchange::body_refusal() const { return parts_->body.refusal(); }

void Exchange::charge_to(const std::string& tenant) {
  const Bytes most = parts_->server.options.tenant_bodies.of(tenant);
  parts_->share.charge_to(parts_->server.budget->account(tenant, most));
}

Status Exchange::hold_body(Bytes most) {
  parts_->body.allow(most);
  return parts_->body.hold_all();
}

Status Exchange::hold(Bytes more) {
  auto refusal = parts_->share.take(more.count);
  if (!refusal) return {};
  parts_->body.reject(refusal->status, refusal->why);
  return fail(ErrorCode::limit_reached, std::move(refusal->why));
}

std::function<void()> Exchange::release_of_body() const {
  return [weak = std::weak_ptr<BodyShare>(parts_->shared_share)] {
    if (const auto share = weak.lock()) share->give_back();
  };
}

asio::thread_pool* Exchange::workers() const { return parts_->server.options.workers; }

Task<Result<std::string>> Exchange::read_body(Bytes most) {
  parts_->body.allow(most);
  return parts_->body.read_all();
}

Task<Result<std::string>> Exchange::read_some() { return parts_->body.read_some(); }

Task<Status> Exchange::respond(unsigned status, Fields fields, std::string body) {
  parts_->share.take_anyway(body.size());
  co_return co_await parts_->answer.respond(status, fields, body);
}

Task<Status> Exchange::refuse(unsigned status, std::string why, Fields fields) {
  const ErrorBody body = parts_->server.error_body(status, why, parts_->request_id);
  fields.emplace_back("Content-Type", body.content_type);
  if (is_worth_a_retry(status) && field_value(fields, "Retry-After").empty()) fields.emplace_back("Retry-After", "1");
  co_return co_await parts_->answer.respond(status, fields, body.text);
}

Task<Status> Exchange::begin(unsigned status, Fields fields, std::optional<Bytes> size) {
  std::optional<std::uint64_t> length;
  if (size) length = size->count;
  co_return co_await parts_->answer.begin(status, fields, length);
}

Task<Status> Exchange::write(std::string_view piece) { return parts_->answer.write(piece); }
Task<Status> Exchange::end() { return parts_->answer.end(); }

Task<Result<std::unique_ptr<Stream>>> Exchange::switch_protocols(Fields fields) {
  if (!parts_->body.done())
    co_return fail(ErrorCode::invalid_argument, "cannot switch protocols: the request has a body");
  CLOCHE_CO_CHECK(co_await parts_->answer.switch_protocols(fields));
  co_return std::make_unique<UpgradedStream>(parts_->client_stream);
}

Task<Result<std::unique_ptr<Stream>>> Exchange::accept_tunnel() {
  if (!parts_->body.done()) co_return fail(ErrorCode::invalid_argument, "CONNECT must not have a body");
  CLOCHE_CO_CHECK(co_await parts_->answer.accept_tunnel());
  parts_->client_stream.inflow().hand_over();
  co_return std::make_unique<UpgradedStream>(parts_->client_stream);
}

void Exchange::label(std::string name, std::string value) {
  parts_->labels.emplace_back(std::move(name), std::move(value));
}

bool Exchange::is_answered() const { return parts_->answer.begun(); }
bool Exchange::client_is_gone() const {
  return parts_->client_stream.inflow().ended() || parts_->client_stream.broken();
}
void Exchange::break_off() { parts_->broken_off = true; }

void Exchange::outlive_client() { parts_->outlives_client = true; }
bool Exchange::server_stops() const { return parts_->server.stopping; }

Task<> Exchange::wait_until_server_stops() const {
  while (!parts_->server.stopping) co_await parts_->server.stopped.wait();
}

}  // namespace cloche::http

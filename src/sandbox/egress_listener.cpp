#include "sandbox/egress_listener.hpp"

#include <algorithm>

#include "core/redirected_socket.hpp"
#include "sandbox/agent_link.hpp"
#include "sandbox/channel_connection.hpp"

namespace cloche {

namespace {

// A name or an address: whether it is a sound one is the policy's question.
bool is_possible_host(std::string_view host) {
  return host.size() <= wire::max_egress_host &&
         std::ranges::all_of(host, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

bool is_possible(const wire::EgressOffer& offer) {
  if (offer.host.empty()) return offer.port == 0;
  return is_possible_host(offer.host) && offer.port > 0 && offer.port <= 65535;
}

Error violation(std::string what) {
  return {ErrorCode::protocol, "the sandbox's agent violated the protocol: " + std::move(what)};
}

}  // namespace

namespace {

// Lets the agent listen, or only answer questions for names.
Task<Result<std::unique_ptr<AgentStream>>> ask_agent(AgentLink& link, wire::EgressRequest request, Deadline deadline) {
  auto stream = link.open(wire::encode(request));
  if (!stream) co_return fail(std::move(stream).error());
  auto answer = co_await (*stream)->next(deadline);
  if (!answer) {
    Error error = std::move(answer).error();
    if (error.code == ErrorCode::unsupported) error.message = "the sandbox's agent is too old for egress";
    co_return fail(std::move(error).at("open egress"));
  }
  const auto* message = std::get_if<StreamMessage>(&*answer);
  if (message == nullptr || !wire::decode<wire::EgressListening>(message->bytes))
    co_return fail(violation("no response to an egress request").at("open egress"));
  co_return std::move(*stream);
}

wire::EgressRequest request_for(const EgressListenSpec& spec) {
  wire::EgressRequest request;
  request.proxy_port = spec.proxy_port;
  request.transparent = spec.transparent;
  return request;
}

}  // namespace

EgressListener::EgressListener(AgentLink& link, std::unique_ptr<AgentStream> stream)
    : link_(link), stream_(std::move(stream)) {}

EgressListener::~EgressListener() { cut({ErrorCode::cancelled, "egress was closed"}); }

Task<Result<std::unique_ptr<EgressListener>>> EgressListener::open(AgentLink& link, EgressListenSpec spec,
                                                                   Deadline deadline) {
  wire::EgressRequest request = request_for(spec);
  request.with_first = true;
  CLOCHE_CO_TRY(auto stream, co_await ask_agent(link, request, deadline));
  co_return std::unique_ptr<EgressListener>(new EgressListener(link, std::move(stream)));
}

Task<Result<std::unique_ptr<EgressListener>>> EgressListener::open(AgentLink& link, EgressListenSpec spec,
                                                                   InsideListeners listeners, Deadline deadline) {
  wire::EgressRequest request = request_for(spec);
  request.names_only = true;
  CLOCHE_CO_TRY(auto stream, co_await ask_agent(link, request, deadline));
  std::unique_ptr<EgressListener> listener(new EgressListener(link, std::move(stream)));
  CLOCHE_CO_CHECK(listener->listen(std::move(listeners)));
  co_return listener;
}

Status EgressListener::listen(InsideListeners listeners) {
  connections_ = std::make_shared<SocketConnections>(link_.frozen_time());
  CLOCHE_CHECK(add_acceptor(std::move(listeners.proxy), &EgressListener::take_proxied));
  for (UniqueFd& each : listeners.redirected)
    CLOCHE_CHECK(add_acceptor(std::move(each), &EgressListener::take_redirected));
  return {};
}

Status EgressListener::add_acceptor(UniqueFd listener, void (EgressListener::*arrived)(asio::ip::tcp::socket)) {
  InsideAcceptor::Taker taker{
      .has_room = [this] { return has_room(); },
      .take = [this, arrived](asio::ip::tcp::socket socket) { (this->*arrived)(std::move(socket)); },
  };
  CLOCHE_TRY(auto acceptor, InsideAcceptor::start(link_.executor(), std::move(listener), std::move(taker)));
  acceptors_.push_back(std::move(acceptor));
  return {};
}

void EgressListener::take_proxied(asio::ip::tcp::socket socket) { announce({std::move(socket), {}, 0}); }

void EgressListener::take_redirected(asio::ip::tcp::socket socket) {
  auto from = redirected_from(socket.native_handle());
  if (!from || from->port == 0) return reset_socket(socket);
  Arrived arrived{std::move(socket), std::move(from->address), from->port};
  if (!wire::means_a_name(from->v4)) return announce(std::move(arrived));
  if (!stream_) return reset_socket(arrived.socket);
  // Each is asked for: the agent forgets the name that was not used for the longest time.
  unnamed_[from->v4].push_back(std::move(arrived));
  ++unnamed_count_;
  wire::EgressAsk question;
  question.address = from->v4;
  stream_->send_message(wire::encode(question));
}

void EgressListener::announce(Arrived arrived) {
  arrived_.push_back(std::move(arrived));
  if (stream_) stream_->interrupt();
}

bool EgressListener::has_room() const {
  return arrived_.size() + unnamed_count_ + offered_.size() < wire::max_egress_offers;
}

void EgressListener::make_room() {
  for (const auto& each : acceptors_) each->resume();
}

Task<Result<EgressOffer>> EgressListener::next(Deadline deadline) {
  for (;;) {
    if (!stream_) co_return fail(ErrorCode::protocol, "the sandbox's agent violated the protocol earlier");
    if (!arrived_.empty()) co_return offer_arrived();
    auto event = co_await stream_->next_or_interrupted(deadline);
    if (!event) {
      if (event.error().code != ErrorCode::timeout) cut(event.error());
      co_return fail(std::move(event).error());
    }
    if (!*event) continue;
    if (std::holds_alternative<StreamClosed>(**event)) {
      Error stopped{ErrorCode::cancelled, "the sandbox's agent stopped listening"};
      cut(stopped);
      co_return fail(std::move(stopped));
    }
    Result<std::optional<EgressOffer>> offer = fail(violation("unexpected frame on an egress stream"));
    if (const auto* message = std::get_if<StreamMessage>(&**event)) offer = take_message(message->bytes);
    if (!offer) {
      stream_.reset();  // connections that the agent has are reset
      cut(offer.error());
      co_return fail(std::move(offer).error());
    }
    if (*offer) co_return std::move(**offer);
  }
}

EgressOffer EgressListener::offer_arrived() {
  Arrived arrived = std::move(arrived_.front());
  arrived_.pop_front();
  offered_.emplace(++last_id_, std::move(arrived.socket));
  return {last_id_, std::move(arrived.host), arrived.port};
}

Result<std::optional<EgressOffer>> EgressListener::take_message(std::string_view message) {
  if (connections_) {
    CLOCHE_CHECK(take_name(message));
    return std::optional<EgressOffer>();
  }
  CLOCHE_TRY(EgressOffer offer, take_offer(message));
  return std::optional(std::move(offer));
}

Result<EgressOffer> EgressListener::take_offer(std::string_view message) {
  CLOCHE_TRY(wire::EgressOffer offer, wire::decode<wire::EgressOffer>(message));
  if (!is_possible(offer)) return fail(violation("impossible destination of a connection"));
  if (offer.id <= last_id_) return fail(violation("connection offered twice"));
  if (offer.first.size() > wire::max_egress_first) return fail(violation("too many bytes with an offer"));
  if (offered_.size() >= wire::max_egress_offers) return fail(violation("too many connections offered"));
  last_id_ = offer.id;
  offered_.emplace(offer.id, std::move(offer.first));
  return EgressOffer{offer.id, std::move(offer.host), static_cast<std::uint16_t>(offer.port)};
}

Status EgressListener::take_name(std::string_view message) {
  CLOCHE_TRY(wire::EgressName answer, wire::decode<wire::EgressName>(message));
  const auto found = unnamed_.find(answer.address);
  if (found == unnamed_.end()) return fail(violation("name of an address that was not asked for"));
  if (!is_possible_host(answer.host)) return fail(violation("impossible name of an address"));
  Arrived arrived = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) unnamed_.erase(found);
  --unnamed_count_;
  if (answer.host.empty()) {
    reset_socket(arrived.socket);
    make_room();
  } else {
    arrived.host = std::move(answer.host);
    arrived_.push_back(std::move(arrived));
  }
  return {};
}

void EgressListener::cut(const Error& why) {
  acceptors_.clear();
  for (Arrived& each : arrived_) reset_socket(each.socket);
  arrived_.clear();
  for (auto& [address, all] : unnamed_) {
    for (Arrived& each : all) reset_socket(each.socket);
  }
  unnamed_.clear();
  unnamed_count_ = 0;
  for (auto& [id, each] : offered_) {
    if (auto* socket = std::get_if<asio::ip::tcp::socket>(&each)) reset_socket(*socket);
  }
  offered_.clear();
  if (connections_) connections_->cut(why);
}

Result<std::unique_ptr<TcpConnection>> EgressListener::take(std::uint64_t id) {
  auto offer = offered_.extract(id);
  if (!offer) return fail(ErrorCode::not_found, "no such connection is offered");
  if (auto* socket = std::get_if<asio::ip::tcp::socket>(&offer.mapped())) {
    auto connection = connections_->add(std::move(*socket));
    make_room();
    return connection;
  }
  wire::EgressTakeRequest request;
  request.id = id;
  CLOCHE_TRY(auto stream, link_.open(wire::encode(request)));
  return std::make_unique<ChannelConnection>(std::move(stream), std::move(std::get<std::string>(offer.mapped())));
}

void EgressListener::refuse(std::uint64_t id) {
  auto offer = offered_.extract(id);
  if (!offer) return;
  if (auto* socket = std::get_if<asio::ip::tcp::socket>(&offer.mapped())) {
    reset_socket(*socket);
    return make_room();
  }
  if (!stream_) return;
  wire::EgressRefuse refusal;
  refusal.id = id;
  stream_->send_message(wire::encode(refusal));
}

}  // namespace cloche

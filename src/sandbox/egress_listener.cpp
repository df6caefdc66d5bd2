#include "sandbox/egress_listener.hpp"

#include <algorithm>

#include "sandbox/agent_link.hpp"

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

EgressListener::EgressListener(AgentLink& link, std::unique_ptr<AgentStream> stream)
    : link_(link), stream_(std::move(stream)) {}

EgressListener::~EgressListener() = default;

Task<Result<std::unique_ptr<EgressListener>>> EgressListener::open(AgentLink& link, EgressListenSpec spec,
                                                                   Deadline deadline) {
  wire::EgressRequest request;
  request.proxy_port = spec.proxy_port;
  request.transparent = spec.transparent;
  request.with_first = true;
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
  co_return std::unique_ptr<EgressListener>(new EgressListener(link, std::move(*stream)));
}

Task<Result<EgressOffer>> EgressListener::next(Deadline deadline) {
  if (!stream_) co_return fail(ErrorCode::protocol, "the sandbox's agent violated the protocol earlier");
  auto event = co_await stream_->next(deadline);
  if (!event) co_return fail(std::move(event).error());
  if (std::holds_alternative<StreamClosed>(*event))
    co_return fail(ErrorCode::cancelled, "the sandbox's agent stopped listening");
  Result<wire::EgressOffer> offer = fail(violation("unexpected frame on an egress stream"));
  if (const auto* message = std::get_if<StreamMessage>(&*event))
    offer = wire::decode<wire::EgressOffer>(message->bytes);
  if (offer && !is_possible(*offer)) offer = fail(violation("impossible destination of a connection"));
  if (offer && offer->id <= last_id_) offer = fail(violation("connection offered twice"));
  if (offer && offer->first.size() > wire::max_egress_first) offer = fail(violation("too many bytes with an offer"));
  if (offer && offered_.size() >= wire::max_egress_offers) offer = fail(violation("too many connections offered"));
  if (!offer) {
    stream_.reset();  // its connections are reset
    offered_.clear();
    co_return fail(std::move(offer).error());
  }
  last_id_ = offer->id;
  offered_.emplace(offer->id, std::move(offer->first));
  co_return EgressOffer{offer->id, std::move(offer->host), static_cast<std::uint16_t>(offer->port)};
}

Result<std::unique_ptr<TcpConnection>> EgressListener::take(std::uint64_t id) {
  auto offer = offered_.extract(id);
  if (!offer) return fail(ErrorCode::not_found, "no such connection is offered");
  wire::EgressTakeRequest request;
  request.id = id;
  CLOCHE_TRY(auto stream, link_.open(wire::encode(request)));
  return std::make_unique<TcpConnection>(std::move(stream), std::move(offer.mapped()));
}

void EgressListener::refuse(std::uint64_t id) {
  if (offered_.erase(id) == 0 || !stream_) return;
  wire::EgressRefuse refusal;
  refusal.id = id;
  stream_->send_message(wire::encode(refusal));
}

}  // namespace cloche

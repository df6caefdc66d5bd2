#include "agent/egress/egress.hpp"

#include <sys/socket.h>

#include <array>

#include "agent/egress/meant_destination.hpp"
#include "agent/link/socket_relay.hpp"

namespace cloche::agent {

namespace {

// What the program has sent by now: the server need not ask for it.
std::string take_first_bytes(int socket) {
  std::array<char, wire::max_egress_first> bytes;
  const ssize_t n = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  return n > 0 ? std::string(bytes.data(), static_cast<std::size_t>(n)) : std::string();
}

}  // namespace

// Says what was accepted. All of it ends with this stream.
class Egress::OfferStream final : public Stream {
 public:
  OfferStream(ServerLink& link, wire::StreamId id, Egress& egress) : Stream(link, id), egress_(egress) {
    egress_.offers_ = this;
  }
  ~OfferStream() override { end(); }
  OfferStream(const OfferStream&) = delete;
  OfferStream& operator=(const OfferStream&) = delete;

  void on_message(std::string_view message) override {
    if (const auto asked = wire::decode<wire::EgressAsk>(message)) return egress_.say_name(asked->address);
    const auto refusal = wire::decode<wire::EgressRefuse>(message);
    if (refusal && egress_.pending_.erase(refusal->id) > 0) egress_.make_room();
  }
  void on_cancel() override {
    end();
    close();
  }

 private:
  void end() {
    if (egress_.offers_ == this) egress_.close();
  }

  Egress& egress_;
};

class Egress::ConnectionStream final : public Stream {
 public:
  ConnectionStream(ServerLink& link, wire::StreamId id, Egress& egress) : Stream(link, id), egress_(egress) {
    egress_.taken_.insert(this);
  }
  ~ConnectionStream() override {
    relay_.reset();
    egress_.taken_.erase(this);
    egress_.make_room();
  }
  ConnectionStream(const ConnectionStream&) = delete;
  ConnectionStream& operator=(const ConnectionStream&) = delete;

  Status start(UniqueFd socket) {
    CLOCHE_TRY(relay_, SocketRelay::start(*this, egress_.loop_, std::move(socket)));
    return {};
  }
  // Resets the connection now; the stream itself is destroyed later.
  void cut() {
    close(Error{ErrorCode::cancelled, "egress was closed"});
    if (relay_) relay_->reset_when_closed();
    relay_.reset();
  }

  void on_data(std::uint8_t, std::string_view bytes) override {
    if (relay_) relay_->on_data(bytes);
  }
  void on_eof(std::uint8_t) override {
    if (relay_) relay_->on_eof();
  }
  void on_writable(std::uint8_t) override {
    if (relay_) relay_->on_writable();
  }
  void on_cancel() override {
    if (relay_) relay_->on_cancel();
  }

 private:
  Egress& egress_;
  std::unique_ptr<SocketRelay> relay_;
};

Result<std::unique_ptr<Stream>> Egress::open(ServerLink& link, wire::StreamId id, const wire::EgressRequest& request) {
  if (is_open()) return fail(ErrorCode::already_exists, "egress is already open in this sandbox");
  if (request.proxy_port == 0 || request.proxy_port > 65535)
    return fail(ErrorCode::invalid_argument, "invalid port " + std::to_string(request.proxy_port));
  auto stream = std::make_unique<OfferStream>(link, id, *this);  // closes what was opened if a step fails
  CLOCHE_CHECK(listen(request));
  with_first_ = request.with_first;
  stream->send(wire::EgressListening{});
  return stream;
}

Status Egress::listen(const wire::EgressRequest& request) {
  if (!request.names_only) {
    const auto proxy_port = static_cast<std::uint16_t>(request.proxy_port);
    CLOCHE_CHECK(add_acceptor(LoopbackFamily::v4, proxy_port, &Egress::take_proxied));
  }
  if (!request.transparent) return {};
  names_ = std::make_unique<NameTable>();
  CLOCHE_TRY(name_server_, NameServer::listen(loop_, wire::name_server_port, *names_));
  if (request.names_only) return {};
  CLOCHE_CHECK(add_acceptor(LoopbackFamily::v4, wire::transparent_port, &Egress::take_redirected));
  // A kernel without IPv6 redirects no such connection either.
  const Status v6 = add_acceptor(LoopbackFamily::v6, wire::transparent_port, &Egress::take_redirected);
  if (!v6 && v6.error().code == ErrorCode::already_exists) return v6;
  return {};
}

Status Egress::add_acceptor(LoopbackFamily family, std::uint16_t port, Accepted accepted) {
  Acceptor::Taker taker{
      .has_room = [this] { return has_room(); },
      .take = [this, accepted](UniqueFd socket) { (this->*accepted)(std::move(socket)); },
  };
  CLOCHE_TRY(auto acceptor, Acceptor::listen(loop_, family, port, std::move(taker)));
  acceptors_.push_back(std::move(acceptor));
  return {};
}

Result<std::unique_ptr<Stream>> Egress::take(ServerLink& link, wire::StreamId id,
                                             const wire::EgressTakeRequest& request) {
  const auto found = pending_.find(request.id);
  if (found == pending_.end()) return fail(ErrorCode::not_found, "no such connection is offered");
  UniqueFd socket = std::move(found->second);
  pending_.erase(found);
  auto stream = std::make_unique<ConnectionStream>(link, id, *this);
  CLOCHE_CHECK(stream->start(std::move(socket)));
  make_room();
  return stream;
}

void Egress::take_proxied(UniqueFd socket) { offer(std::move(socket), {}, 0); }

void Egress::take_redirected(UniqueFd socket) {
  auto meant = meant_destination(socket.get(), *names_);
  if (meant && meant->port != 0) offer(std::move(socket), std::move(meant->host), meant->port);
}

void Egress::say_name(std::uint32_t address) {
  wire::EgressName answer;
  answer.address = address;
  if (names_) answer.host = names_->name_of(address).value_or("");
  offers_->send(answer);
}

void Egress::offer(UniqueFd socket, std::string host, std::uint16_t port) {
  wire::EgressOffer offered;
  offered.id = ++last_id_;
  offered.host = std::move(host);
  offered.port = port;
  if (with_first_) offered.first = take_first_bytes(socket.get());
  pending_.emplace(offered.id, std::move(socket));
  offers_->send(offered);
}

bool Egress::has_room() const {
  return pending_.size() < wire::max_egress_offers && pending_.size() + taken_.size() < wire::max_egress_connections;
}

void Egress::make_room() {
  if (!has_room()) return;
  for (const auto& acceptor : acceptors_) acceptor->resume();
}

void Egress::close() {
  offers_ = nullptr;
  acceptors_.clear();
  name_server_.reset();
  names_.reset();
  pending_.clear();
  for (ConnectionStream* connection : taken_) connection->cut();
}

}  // namespace cloche::agent

#include "egress/broker/sandbox_egress.hpp"

#include <array>

#include "core/async/first_of.hpp"
#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/log.hpp"
#include "egress/broker/http_front.hpp"
#include "egress/broker/prefixed_stream.hpp"
#include "egress/broker/sandbox_stream.hpp"
#include "egress/broker/socks.hpp"
#include "egress/broker/socks_front.hpp"
#include "egress/broker/tunnel.hpp"
#include "sandbox/egress_listener.hpp"

namespace cloche::egress {

namespace {

// A program that uses no proxy cannot receive a reason: it sees a reset.
Task<> carry_transparent(Live& live, std::unique_ptr<http::Stream> program, Destination destination) {
  TunnelFront front;
  front.accept = [&program]() -> Task<Result<std::unique_ptr<http::Stream>>> { co_return std::move(program); };
  front.refuse = [&program](const Refusal&) -> Task<> {
    program->close();
    co_return;
  };
  co_await carry_tunnel(live, Protocol::tcp, std::move(destination), std::move(front));
}

Task<> carry_proxied(Live& live, std::unique_ptr<http::Stream> program) {
  std::string first(512, '\0');
  auto count = co_await program->read_some(first, Deadline::after(live.sandbox.broker->options.head));
  if (!count || *count == 0) co_return;
  first.resize(*count);
  if (first.front() == socks_version) {
    co_await serve_socks(live, std::move(program), std::move(first));
    co_return;
  }
  auto stream = std::make_unique<PrefixedStream>(std::move(first), std::move(program));
  co_await serve_requests(live, std::move(stream), std::nullopt);
}

Task<Status> carry(Live& live, std::unique_ptr<http::Stream> program, std::optional<Destination> meant) {
  if (meant) {
    co_await carry_transparent(live, std::move(program), std::move(*meant));
  } else {
    co_await carry_proxied(live, std::move(program));
  }
  co_return Status{};
}

// Why no connection more is carried; empty: one is.
std::string full(const SandboxState& state) {
  if (state.closing) return "the sandbox is being returned";
  const std::size_t most = state.broker->options.connections;
  if (state.live.size() < most) return {};
  return "connection limit of the sandbox reached (" + std::to_string(state.live.size()) + " of " +
         std::to_string(most) + ")";
}

void note_refused(SandboxState& state, const std::optional<Destination>& meant, const Refusal& refusal) {
  Account account(state.books, meant ? state.event_for(Protocol::tcp, *meant) : state.event_for(Protocol::tcp));
  account.refuse(refusal);
}

}  // namespace

struct SandboxEgress::Impl : SandboxState {
  using SandboxState::SandboxState;
};

SandboxEgress::SandboxEgress(std::shared_ptr<BrokerState> broker, SandboxEgressOptions options)
    : impl_(std::make_shared<Impl>(std::move(broker), std::move(options))) {}

SandboxEgress::~SandboxEgress() = default;

void SandboxEgress::set_policy(Policy policy) {
  impl_->policy = std::make_shared<const Policy>(std::move(policy));
  for (Live* live : impl_->live) {
    if (!live->use) continue;
    const Decision decision = decide_again(*impl_->policy, *live->use);
    if (!decision.allowed) live->end("the policy changed: " + decision.reason);
  }
}

const Policy& SandboxEgress::policy() const { return *impl_->policy; }
Books& SandboxEgress::books() { return *impl_->books; }
std::shared_ptr<Books> SandboxEgress::shared_books() { return impl_->books; }

Task<> SandboxEgress::serve(std::unique_ptr<http::Stream> program, std::optional<Destination> meant) {
  const auto state = impl_;
  if (const std::string why = full(*state); !why.empty()) {
    note_refused(*state, meant, Refusal::over_quota(why));
    program->close();
    co_return;
  }
  Live live(*state);
  auto work = [&] { return carry(live, std::move(program), std::move(meant)); };
  // A bug ends one connection; guarded() logs it.
  co_await first_of(guarded("egress connection of " + state->where, std::move(work)), live.wait_for_end());
}

Task<> SandboxEgress::run(EgressListener& listener) {
  const auto state = impl_;
  for (;;) {
    auto offer = co_await listener.next(Deadline::never());
    if (!offer) {
      log::debug("egress of {}: {}", state->where, offer.error().message);
      co_return;
    }
    std::optional<Destination> meant;
    if (!offer->host.empty()) {
      auto destination = parse_destination(offer->host, offer->port);
      if (!destination) {
        note_refused(*state, std::nullopt, Refusal::invalid(std::move(destination).error().message));
        listener.refuse(offer->id);
        continue;
      }
      meant = std::move(*destination);
    }
    if (const std::string why = full(*state); !why.empty()) {
      note_refused(*state, meant, Refusal::over_quota(why));
      listener.refuse(offer->id);
      continue;
    }
    auto connection = listener.take(offer->id);
    if (!connection) continue;
    auto stream =
        std::make_shared<std::unique_ptr<http::Stream>>(std::make_unique<SandboxStream>(std::move(*connection)));
    state->tasks.spawn("egress connection", [this, stream, meant] { return serve(std::move(*stream), meant); });
  }
}

Task<> SandboxEgress::close() {
  const auto state = impl_;
  state->closing = true;
  for (Live* live : state->live) live->end("the sandbox is being returned");
  auto work = [state]() -> Task<> {
    co_await state->tasks.shut_down();
    while (!state->live.empty()) co_await state->one_ended.wait();
  };
  co_await shielded(std::move(work));
  state->books->close();
}

std::map<std::string, std::string> SandboxEgress::proxy_variables(std::uint16_t port) {
  const std::string proxy = "http://127.0.0.1:" + std::to_string(port);
  const std::string none = "localhost,127.0.0.1,::1";
  return {{"HTTP_PROXY", proxy}, {"http_proxy", proxy}, {"HTTPS_PROXY", proxy}, {"https_proxy", proxy},
          {"ALL_PROXY", proxy},  {"all_proxy", proxy},  {"NO_PROXY", none},     {"no_proxy", none}};
}

}  // namespace cloche::egress

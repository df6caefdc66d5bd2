#include "api/session_auth_check.hpp"

#include "api/call_origin.hpp"
#include "core/async/event.hpp"
#include "core/log.hpp"

namespace cloche::api {

namespace {

std::string_view code_of(auth::Reason reason) {
  switch (reason) {
    case auth::Reason::unavailable: return "unavailable";
    case auth::Reason::not_local: return "permission_denied";
    case auth::Reason::missing:
    case auth::Reason::no_bearer:
    case auth::Reason::malformed:
    case auth::Reason::unknown:
    case auth::Reason::expired:
    case auth::Reason::not_yet_valid:
    case auth::Reason::wrong_claims: break;
  }
  return "unauthenticated";
}

}  // namespace

SessionAuthCheck::SessionAuthCheck(const Call& call)
    : call_(call), due_(call.authenticator.needs_token() ? Deadline::after(check_interval) : Deadline::never()) {}

std::optional<Revoked> SessionAuthCheck::check() {
  if (!due_.passed()) return std::nullopt;
  due_ = Deadline::after(check_interval);
  std::optional<Revoked> out;
  const auto place = place_of(call_.exchange.peer());
  const auto principal = call_.authenticator.authenticate(call_.exchange.field("Authorization"), place);
  if (principal && *principal == call_.principal) {
    unreadable_until_.reset();
    return out;
  }
  if (principal) {
    out = Revoked{"unauthenticated", "the token now belongs to a different principal"};
  } else if (principal.error().reason != auth::Reason::unavailable) {
    out = Revoked{code_of(principal.error().reason), principal.error().message};
  } else {
    if (!unreadable_until_) unreadable_until_ = Deadline::after(unreadable_timeout);
    if (unreadable_until_->passed()) out = Revoked{"unavailable", principal.error().message};
  }
  if (out) log::info("request {}: caller no longer authorized: {}", call_.exchange.request_id(), out->message);
  return out;
}

Task<> SessionAuthCheck::wait_until_due() const {
  Event never(co_await asio::this_coro::executor);
  while (!due_.passed()) co_await never.wait(due_);
}

Task<Revoked> SessionAuthCheck::wait_until_over() {
  for (;;) {
    co_await wait_until_due();
    auto out = check();
    if (out) co_return std::move(*out);
  }
}

}  // namespace cloche::api

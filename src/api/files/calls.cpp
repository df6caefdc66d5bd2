#include "api/files/calls.hpp"

#include "api/errors.hpp"
#include "auth/names.hpp"

namespace cloche::api {

namespace {

struct Named {
  auth::AuthorizedTenant tenant;
  std::string session;
};

Result<Named> named_in_path(const Call& call) {
  const std::string session(call.path["session"]);
  CLOCHE_CHECK(auth::check_session_id(session));
  CLOCHE_TRY(auth::AuthorizedTenant tenant, call.tenant(std::string(call.path["tenant"])));
  return Named{std::move(tenant), session};
}

}  // namespace

Task<Status> answer_refusal(http::Exchange& exchange, unsigned status, std::string code, std::string message) {
  http::ErrorBody body = error_body(status, code, message, exchange.request_id());
  http::Fields fields;
  fields.emplace_back("Content-Type", body.content_type);
  co_return co_await exchange.respond(status, std::move(fields), std::move(body.text));
}

Task<Status> answer_file_error(http::Exchange& exchange, Error error) {
  // A quota would be worth another try; a file that is too large is not.
  const bool does_not_fit = error.code == ErrorCode::limit_reached && !exchange.body_failed();
  if (!does_not_fit || exchange.is_answered()) co_return fail(std::move(error));
  co_return co_await answer_refusal(exchange, 413, "too_large", error.message);
}

Task<Result<FileTurn>> begin_file_operation(session::Session& session) {
  CLOCHE_CO_TRY(auth::QuotaTicket ticket, session.take(auth::Quota::files));
  Gate::Pass pass = co_await session.begin_file_operation();
  FileTurn turn{std::move(ticket), std::move(pass)};
  co_return turn;
}

Result<session::SessionUse> find_session(const Call& call, session::SessionStore& store) {
  CLOCHE_TRY(const Named named, named_in_path(call));
  return store.find(named.tenant, named.session);
}

Task<Result<session::SessionUse>> use_session(const Call& call, session::SessionStore& store) {
  CLOCHE_CO_TRY(Named named, named_in_path(call));
  co_return co_await store.use(std::move(named.tenant), std::move(named.session), Deadline::after(session_patience));
}

}  // namespace cloche::api

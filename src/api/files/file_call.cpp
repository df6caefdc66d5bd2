#include "api/files/file_call.hpp"

#include "api/errors.hpp"

namespace cloche::api {

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

}  // namespace cloche::api

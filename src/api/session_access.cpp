#include "api/session_access.hpp"

#include "auth/names.hpp"

namespace cloche::api {

namespace {

struct NamedSession {
  auth::AuthorizedTenant tenant;
  std::string session;
};

Result<NamedSession> named_in_path(const Call& call) {
  const std::string session(call.path["session"]);
  CLOCHE_CHECK(auth::check_session_id(session));
  CLOCHE_TRY(auth::AuthorizedTenant tenant, call.tenant(std::string(call.path["tenant"])));
  return NamedSession{std::move(tenant), session};
}

}  // namespace

Result<session::SessionUse> find_session(const Call& call, session::SessionStore& store) {
  CLOCHE_TRY(const NamedSession named, named_in_path(call));
  return store.find(named.tenant, named.session);
}

Task<Result<session::SessionUse>> use_session(const Call& call, session::SessionStore& store) {
  CLOCHE_CO_TRY(NamedSession named, named_in_path(call));
  co_return co_await store.use(std::move(named.tenant), std::move(named.session), Deadline::after(session_timeout));
}

}  // namespace cloche::api

#include "egress/tls/client_sessions.hpp"

#include <algorithm>

namespace cloche::egress {

// What one connection knows of its server.
struct ClientSessions::Use {
  ClientSessions& sessions;
  std::string server;
  WallTime verified;  // in the session that is offered
};

void ClientSessions::prepare(SSL_CTX& context) {
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(&context, &ClientSessions::keep);
}

int ClientSessions::place_of_use() {
  static const int place = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &ClientSessions::forget_use);
  return place;
}

void ClientSessions::forget_use(void*, void* use, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<Use*>(use); }

bool ClientSessions::use(SSL& ssl, std::string server) {
  auto use = std::make_unique<Use>(Use{*this, std::move(server), WallTime()});
  const auto found = std::ranges::find(kept_, use->server, &Session::server);
  if (found != kept_.end()) {
    const bool is_offered = is_valid(*found) && SSL_set_session(&ssl, found->session.get()) == 1;
    if (is_offered) use->verified = found->verified;
    // From TLS 1.3 on the server gives a new one with each connection, and an observer must not see one twice.
    if (!is_offered || SSL_SESSION_get_protocol_version(found->session.get()) >= TLS1_3_VERSION) kept_.erase(found);
  }
  if (SSL_set_ex_data(&ssl, place_of_use(), use.get()) != 1) return false;
  use.release();  // forget_use() ends it, with the connection
  return true;
}

bool ClientSessions::is_valid(const Session& session) const {
  const WallTime now = clocks_.wall();
  if (now < session.verified || now - session.verified >= verified_for) return false;
  const X509* certificate = SSL_SESSION_get0_peer(session.session.get());
  const auto seconds = static_cast<std::time_t>(now.time_since_epoch().count());
  return certificate != nullptr && ASN1_TIME_cmp_time_t(X509_get0_notAfter(certificate), seconds) > 0;
}

// Called by OpenSSL, through which no exception may pass. Returns 1 if the session is ours now.
int ClientSessions::keep(SSL* ssl, SSL_SESSION* session) {
  const auto* use = static_cast<const Use*>(SSL_get_ex_data(ssl, place_of_use()));
  if (use == nullptr || SSL_SESSION_is_resumable(session) != 1) return 0;
  try {
    auto& kept = use->sessions.kept_;
    // A session that follows from another one is not more trustworthy than that one.
    const WallTime verified = SSL_session_reused(ssl) == 1 ? use->verified : use->sessions.clocks_.wall();
    kept.push_front({use->server, verified, {nullptr, &SSL_SESSION_free}});
    kept.front().session.reset(session);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  auto& kept = use->sessions.kept_;
  const auto older = std::find_if(std::next(kept.begin()), kept.end(),
                                  [use](const Session& each) { return each.server == use->server; });
  if (older != kept.end()) kept.erase(older);
  if (kept.size() > most_kept) kept.pop_back();
  return 1;
}

}  // namespace cloche::egress

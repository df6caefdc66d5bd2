#include "auth/authenticator.hpp"

#include <algorithm>

#include "auth/tokens/token.hpp"
#include "auth/tokens/token_file.hpp"

namespace cloche::auth {

namespace {

constexpr std::string_view scheme = "bearer";

Result<TokenTable> parse_book(const GuardedFile& file) {
  CLOCHE_TRY(auto records, parse_token_records(file.content));
  return TokenTable(std::move(records));
}

// The characters of RFC 6750's b64token.
bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~+/=").find(c) != std::string_view::npos;
}

bool is_scheme(std::string_view word) {
  return std::ranges::equal(word, scheme, {}, [](char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; });
}

}  // namespace

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  if (authorization.size() <= scheme.size() || !is_scheme(authorization.substr(0, scheme.size()))) return std::nullopt;
  std::string_view token = authorization.substr(scheme.size());
  const auto blanks = std::min(token.find_first_not_of(' '), token.size());
  token.remove_prefix(blanks);
  if (blanks == 0 || token.empty() || token.size() > longest_jwt) return std::nullopt;
  if (!std::ranges::all_of(token, is_token_character)) return std::nullopt;
  return token;
}

Authenticator::Authenticator(AuthOptions options, Clocks clocks) : clocks_(std::move(clocks)) {
  if (options.token_file) {
    tokens_.emplace(*std::move(options.token_file), token_file_rule, &parse_book, clocks_.steady);
  }
}

Result<Authenticator> Authenticator::open(AuthOptions options, Clocks clocks) {
  auto jwt_options = std::move(options.jwt);
  Authenticator authenticator(std::move(options), clocks);
  if (authenticator.tokens_) {
    if (auto read = authenticator.tokens_->get(); !read) return fail(std::move(read).error().at("read tokens"));
  }
  if (jwt_options) {
    CLOCHE_TRY(JwtVerifier verifier, JwtVerifier::open(*std::move(jwt_options), std::move(clocks)));
    authenticator.jwt_.emplace(std::move(verifier));
  }
  return authenticator;
}

Authenticated<Principal> Authenticator::check_token(std::string_view text) {
  const auto token = parse_token(text);
  if (!token) return refuse(Reason::malformed);
  if (!tokens_) return refuse(Reason::unknown, "a Cloche token was sent, but no token file is configured");
  const auto book = tokens_->get();
  if (!book) return refuse(Reason::unavailable, "read tokens: " + book.error().message);
  return (*book)->check(*token, clocks_.wall());
}

Authenticated<Principal> Authenticator::principal_of(const std::string& token_id) {
  if (!tokens_) return refuse(Reason::unknown, "no token file is configured");
  const auto book = tokens_->get();
  if (!book) return refuse(Reason::unavailable, "read tokens: " + book.error().message);
  return (*book)->principal_of(token_id, clocks_.wall());
}

Authenticated<Principal> Authenticator::authenticate(std::optional<std::string_view> authorization, PeerPlace peer) {
  const auto text = authorization ? bearer_token(*authorization) : std::nullopt;
  const bool is_own = text && (text->starts_with(token_prefix) || parse_token(*text));
  if (!needs_token() && !is_own) {
    if (peer != PeerPlace::local) return refuse(Reason::not_local);
    return Principal{.tenant = "default", .role = Role::admin, .token_id = {}};
  }
  if (!authorization) return refuse(Reason::missing);
  if (!text) return refuse(Reason::no_bearer);
  if (is_own) return check_token(*text);
  if (text->find('.') == text->npos) return refuse(Reason::malformed);
  if (!jwt_) return refuse(Reason::unknown, "a JWT was sent, but no JWT keys are configured");
  return jwt_->verify(*text);
}

}  // namespace cloche::auth

#include "dialect/e2b/keys.hpp"

#include "auth/guarded_file.hpp"
#include "core/ids.hpp"
#include "crypto/hmac.hpp"
#include "crypto/sha256.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr auth::FileRule key_file_rule{
    .secrecy = auth::Secrecy::secret, .links = auth::Links::refused, .most_bytes = 4096};
constexpr std::size_t key_bytes = 32;
constexpr std::chrono::seconds lock_timeout{10};

}  // namespace

Result<SandboxKeys> SandboxKeys::open(const std::string& path) {
  CLOCHE_TRY(const auth::FileLock lock, auth::FileLock::take(path, lock_timeout));
  auto file = auth::read_guarded(path, key_file_rule);
  if (!file && file.error().code == ErrorCode::not_found) {
    CLOCHE_CHECK(auth::replace_guarded(path, random_hex(key_bytes)));
    file = auth::read_guarded(path, key_file_rule);
  }
  if (!file) return fail(std::move(file).error().at("read the key of E2B's access tokens"));
  if (!digest_from_hex(file->content)) {
    return fail(ErrorCode::invalid_argument,
                path + " is damaged; remove it, and every access token of an E2B sandbox becomes invalid");
  }
  return SandboxKeys(std::move(file->content));
}

std::string SandboxKeys::derive(std::string_view purpose, const KeyHolder& holder) const {
  std::string text(purpose);
  // Neither names nor ids contain a line break.
  for (const std::string_view part : {holder.tenant, holder.sandbox, holder.api_key}) text.append("\n").append(part);
  return to_hex(hmac_sha256(key_, text));
}

std::string SandboxKeys::access_token(const KeyHolder& holder) const { return derive("e2b access", holder); }
std::string SandboxKeys::traffic_token(const KeyHolder& holder) const { return derive("e2b traffic", holder); }

bool is_same_token(std::string_view given, std::string_view expected) {
  // Digests have one length, so that not even the token's shows.
  return !expected.empty() && same_in_constant_time(sha256(given), sha256(expected));
}

}  // namespace cloche::dialect::e2b

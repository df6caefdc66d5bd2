#include "auth/tokens/token_file.hpp"

#include <algorithm>

#include "auth/names.hpp"
#include "core/utc_time.hpp"

namespace cloche::auth {

namespace {

constexpr std::chrono::seconds lock_wait{10};

}  // namespace

TokenFile::TokenFile(std::string path, Clocks clocks) : path_(std::move(path)), clocks_(std::move(clocks)) {}

Result<std::vector<TokenRecord>> TokenFile::read() const {
  CLOCHE_TRY(const GuardedFile file, read_guarded(path_, token_file_rule));
  auto records = parse_token_records(file.content);
  if (!records) return fail(std::move(records).error().at(path_));
  return records;
}

Status TokenFile::check(const TokenRequest& request) const {
  CLOCHE_CHECK(check_tenant(request.tenant));
  CLOCHE_CHECK(check_note(request.note));
  if (request.expires && (*request.expires <= clocks_.wall() || *request.expires > latest_time)) {
    return fail(ErrorCode::invalid_argument, "a token's expiry must be in the future and before the year 10000");
  }
  return {};
}

Result<NewToken> TokenFile::add(std::vector<TokenRecord> records, const TokenRequest& request) const {
  if (records.size() >= most_tokens) {
    return fail(ErrorCode::limit_reached, path_ + " holds " + std::to_string(most_tokens) + " tokens: revoke some");
  }
  Token token = make_token();
  const auto is_taken = [&](const TokenRecord& record) { return record.id == token.id; };
  while (std::ranges::any_of(records, is_taken)) token = make_token();
  records.push_back({.id = token.id,
                     .sha256 = sha256(token.secret),
                     .tenant = request.tenant,
                     .role = request.role,
                     .created = clocks_.wall(),
                     .expires = request.expires,
                     .note = request.note});
  CLOCHE_CHECK(replace_guarded(path_, write_token_records(records)));
  return NewToken{records.back(), token.text()};
}

Result<NewToken> TokenFile::create(const TokenRequest& request) {
  CLOCHE_CHECK(check(request));
  CLOCHE_TRY(const FileLock lock, FileLock::take(path_, lock_wait));
  auto records = read();
  if (!records && records.error().code != ErrorCode::not_found) return fail(std::move(records).error());
  return add(records ? *std::move(records) : std::vector<TokenRecord>{}, request);
}

Result<std::optional<NewToken>> TokenFile::create_first(const TokenRequest& request) {
  CLOCHE_CHECK(check(request));
  CLOCHE_TRY(const FileLock lock, FileLock::take(path_, lock_wait));
  const auto there = stamp_of(path_, Links::refused);
  if (there) return std::optional<NewToken>{};
  if (there.error().code != ErrorCode::not_found) return fail(there.error());
  CLOCHE_TRY(NewToken made, add({}, request));
  return std::optional(std::move(made));
}

Result<std::vector<TokenRecord>> TokenFile::list() const { return read(); }

Result<TokenRecord> TokenFile::revoke(std::string_view id) {
  // Before the lock, which would create a file beside a missing one.
  CLOCHE_CHECK(stamp_of(path_, Links::refused));
  CLOCHE_TRY(const FileLock lock, FileLock::take(path_, lock_wait));
  CLOCHE_TRY(auto records, read());
  const auto found = std::ranges::find(records, id, &TokenRecord::id);
  if (found == records.end()) return fail(ErrorCode::not_found, "no such token");
  TokenRecord gone = std::move(*found);
  records.erase(found);
  CLOCHE_CHECK(replace_guarded(path_, write_token_records(records)));
  return gone;
}

}  // namespace cloche::auth

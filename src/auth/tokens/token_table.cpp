#include "auth/tokens/token_table.hpp"

namespace cloche::auth {

TokenTable::TokenTable(std::vector<TokenRecord> records) {
  by_id_.reserve(records.size());
  for (TokenRecord& record : records) {
    std::string id = record.id;
    by_id_.emplace(std::move(id), std::move(record));
  }
}

Authenticated<Principal> TokenTable::check(const Token& token, WallTime now) const {
  static const TokenRecord nobody;
  const auto found = by_id_.find(token.id);
  const bool known = found != by_id_.end();
  const TokenRecord& record = known ? found->second : nobody;
  const bool same = same_in_constant_time(sha256(token.secret), record.sha256);
  if (!known || !same) return refuse(Reason::unknown);
  if (record.expires && now >= *record.expires) return refuse(Reason::expired);
  return Principal{record.tenant, record.role, record.id};
}

Authenticated<Principal> TokenTable::principal_of(const std::string& id, WallTime now) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return refuse(Reason::unknown);
  const TokenRecord& record = found->second;
  if (record.expires && now >= *record.expires) return refuse(Reason::expired);
  return Principal{record.tenant, record.role, record.id};
}

}  // namespace cloche::auth

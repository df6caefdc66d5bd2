// AccessTable: which tenant may use which resource. This is the only place that decides it. A resource that is not in
// the table is not available to any tenant, and cannot be distinguished from one that belongs to others.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "auth/access_list.hpp"

namespace cloche::auth {

// Things that a request can name, and that have owners.
enum class Resource { profile, secret, language, rule_set, network };
// The one resource of kind `network`: a network that a request describes, in place of the profile's.
inline constexpr std::string_view own_network = "own";

class AccessTable {
 public:
  using Lists = std::map<std::string, AccessList, std::less<>>;

  AccessTable() = default;  // no tenant may use anything
  // For a program that embeds the library: the caller is the program itself and may use everything it has configured.
  static AccessTable of_trusted_callers();

  void set(Resource resource, std::string name, AccessList list);
  bool allows(Resource resource, std::string_view name, std::string_view tenant) const;
  // Whether callers are the program that embeds the library.
  bool is_trusting() const { return trusting_; }
  // True when no tenant is kept from it.
  bool is_open(Resource resource, std::string_view name) const;

  // The lists by name, for administrators.
  const Lists& lists_of(Resource resource) const { return lists_[static_cast<std::size_t>(resource)]; }

 private:
  const AccessList* find(Resource resource, std::string_view name) const;

  bool trusting_ = false;
  std::array<Lists, 5> lists_;  // by Resource
};

}  // namespace cloche::auth

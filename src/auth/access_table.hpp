// AccessTable: which tenant may use which resource. The one place that decides it; what is not in the table is for
// nobody, and cannot be told apart from what belongs to others.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "auth/access_list.hpp"

namespace cloche::auth {

// Things that a request can name, and that have owners.
enum class Resource { profile, secret, language };

class AccessTable {
 public:
  using Lists = std::map<std::string, AccessList, std::less<>>;

  AccessTable() = default;  // nothing is for anybody
  // For a program that embeds the library: whoever claims is the program itself, and may use all it has configured.
  static AccessTable of_trusted_callers();

  void set(Resource resource, std::string name, AccessList list);
  bool allows(Resource resource, std::string_view name, std::string_view tenant) const;
  // True when no tenant is kept from it.
  bool is_open(Resource resource, std::string_view name) const;

  // By name, for those who administer them.
  const Lists& lists_of(Resource resource) const { return lists_[static_cast<std::size_t>(resource)]; }

 private:
  const AccessList* find(Resource resource, std::string_view name) const;

  bool trusting_ = false;
  std::array<Lists, 3> lists_;  // by Resource
};

}  // namespace cloche::auth

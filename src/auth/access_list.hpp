// AccessList: the tenants that may use a thing which callers can name: a secret, a profile. Closed until it lists some.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace cloche::auth {

class AccessList {
 public:
  using Tenants = std::set<std::string, std::less<>>;

  AccessList() = default;  // no tenant
  explicit AccessList(Tenants tenants) : tenants_(std::move(tenants)) {}
  static AccessList all();  // every tenant, those that are not known yet included

  bool allows(std::string_view tenant) const { return all_ || tenants_.contains(tenant); }

  bool is_all() const { return all_; }
  const Tenants& tenants() const { return tenants_; }  // empty when it is all

  bool operator==(const AccessList&) const = default;

 private:
  bool all_ = false;
  Tenants tenants_;
};

inline AccessList AccessList::all() {
  AccessList list;
  list.all_ = true;
  return list;
}

}  // namespace cloche::auth

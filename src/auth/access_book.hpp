// AccessBook: which tenant may use which thing. The one place that decides it; what is not in the book is for nobody,
// and cannot be told apart from what belongs to others.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "auth/access_list.hpp"

namespace cloche::auth {

// Things that a request can name, and that have owners.
enum class Thing { profile, secret, language };

class AccessBook {
 public:
  using Lists = std::map<std::string, AccessList, std::less<>>;

  AccessBook() = default;  // nothing is for anybody
  // For a program that embeds the library: whoever claims is the program itself, and may use all it has configured.
  static AccessBook of_trusted_callers();

  void set(Thing thing, std::string name, AccessList list);
  bool allows(Thing thing, std::string_view name, std::string_view tenant) const;
  // True when no tenant is kept from it.
  bool is_open(Thing thing, std::string_view name) const;

  // By name, for those who administer them.
  const Lists& lists_of(Thing thing) const { return lists_[static_cast<std::size_t>(thing)]; }

 private:
  const AccessList* find(Thing thing, std::string_view name) const;

  bool trusting_ = false;
  std::array<Lists, 3> lists_;  // by Thing
};

}  // namespace cloche::auth

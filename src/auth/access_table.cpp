#include "auth/access_table.hpp"

namespace cloche::auth {

AccessTable AccessTable::of_trusted_callers() {
  AccessTable table;
  table.trusting_ = true;
  return table;
}

void AccessTable::set(Resource resource, std::string name, AccessList list) {
  lists_[static_cast<std::size_t>(resource)].insert_or_assign(std::move(name), std::move(list));
}

bool AccessTable::allows(Resource resource, std::string_view name, std::string_view tenant) const {
  if (trusting_) return true;
  const AccessList* list = find(resource, name);
  return list != nullptr && list->allows(tenant);
}

bool AccessTable::is_open(Resource resource, std::string_view name) const {
  if (trusting_) return true;
  const AccessList* list = find(resource, name);
  return list != nullptr && list->is_all();
}

const AccessList* AccessTable::find(Resource resource, std::string_view name) const {
  const Lists& lists = lists_of(resource);
  const auto found = lists.find(name);
  return found == lists.end() ? nullptr : &found->second;
}

}  // namespace cloche::auth

#include "auth/access_book.hpp"

namespace cloche::auth {

AccessBook AccessBook::of_trusted_callers() {
  AccessBook book;
  book.trusting_ = true;
  return book;
}

void AccessBook::set(Thing thing, std::string name, AccessList list) {
  lists_[static_cast<std::size_t>(thing)].insert_or_assign(std::move(name), std::move(list));
}

bool AccessBook::allows(Thing thing, std::string_view name, std::string_view tenant) const {
  if (trusting_) return true;
  const AccessList* list = find(thing, name);
  return list != nullptr && list->allows(tenant);
}

bool AccessBook::is_open(Thing thing, std::string_view name) const {
  if (trusting_) return true;
  const AccessList* list = find(thing, name);
  return list != nullptr && list->is_all();
}

const AccessList* AccessBook::find(Thing thing, std::string_view name) const {
  const Lists& lists = lists_of(thing);
  const auto found = lists.find(name);
  return found == lists.end() ? nullptr : &found->second;
}

}  // namespace cloche::auth

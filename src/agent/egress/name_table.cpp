#include "agent/egress/name_table.hpp"

namespace cloche::agent {

std::uint32_t NameTable::address_of(std::string_view name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    use(found->second);
    return found->second->address;
  }
  if (entries_.size() >= most_names) {
    by_name_.erase(entries_.back().name);
    by_address_.erase(entries_.back().address);
    entries_.pop_back();
  }
  // In turn, so that an address whose name is forgotten means no other name for a long time. Neither the first nor the
  // last of the range, which some programs take for the address of a network.
  do {
    next_ = next_ % (addresses - 2) + 1;
  } while (by_address_.contains(first_address + next_));
  entries_.push_front({std::string(name), first_address + next_});
  by_name_.emplace(entries_.front().name, entries_.begin());
  by_address_.emplace(entries_.front().address, entries_.begin());
  return entries_.front().address;
}

std::optional<std::string> NameTable::name_of(std::uint32_t address) {
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return std::nullopt;
  use(found->second);
  return found->second->name;
}

}  // namespace cloche::agent

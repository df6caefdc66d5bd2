// NameTable: an address of 198.18.0.0/15 for each name that programs asked for, so that a connection to the address is
// known to mean the name. The range is reserved for tests of networks: no real host has such an address.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "wire/egress_messages.hpp"

namespace cloche::agent {

class NameTable {
 public:
  // The oldest unused name goes when there is one too many.
  static constexpr std::size_t most_names = 4096;
  static constexpr std::uint32_t first_address = wire::first_name_address;
  static constexpr std::uint32_t addresses = wire::name_addresses;

  // In host byte order. The same for the same name while the table knows it.
  std::uint32_t address_of(std::string_view name);
  // nullopt for an address that means no name, or no longer does.
  std::optional<std::string> name_of(std::uint32_t address);

 private:
  struct Entry {
    std::string name;
    std::uint32_t address = 0;
  };
  using Entries = std::list<Entry>;

  void use(Entries::iterator entry) { entries_.splice(entries_.begin(), entries_, entry); }

  Entries entries_;  // the last used first
  std::unordered_map<std::string_view, Entries::iterator> by_name_;
  std::unordered_map<std::uint32_t, Entries::iterator> by_address_;
  std::uint32_t next_ = 0;
};

}  // namespace cloche::agent

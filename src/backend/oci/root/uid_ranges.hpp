// UidRanges: every sandbox has 65,536 uids and gids of the host that no other sandbox on this host has.
//
// A claim is a file named by its slot in one directory for the whole host, so that instances and processes that know
// nothing of each other do not meet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/claim_files.hpp"
#include "core/result.hpp"

namespace cloche::oci {

struct UidRange {
  static constexpr std::uint32_t size = 65536;
  static constexpr std::uint32_t base =
      0x7000'0000;  // far from users, from `nobody` and from the usual ranges of /etc/subuid
  static constexpr std::uint32_t slots = 4096;

  std::uint32_t slot = 0;

  std::uint32_t first() const { return base + slot * size; }
  bool operator==(const UidRange&) const = default;
};

class UidRanges {
 public:
  UidRanges(std::string directory, std::string instance);

  // A free range. limit_reached if all are in use.
  Result<UidRange> claim(const std::string& sandbox) const;
  // Gives the range back, if this sandbox of this instance has it.
  Status release(UidRange range, const std::string& sandbox) const;

  struct Claim {
    UidRange range;
    std::string sandbox;
  };
  // The ranges of this instance.
  Result<std::vector<Claim>> claims() const;
  struct OwnedClaim {
    std::string owner;
    Claim claim;
  };
  // The ranges of all instances.
  Result<std::vector<OwnedClaim>> all_claims() const;
  // How many are taken, by any instance.
  Result<std::uint32_t> taken() const;

 private:
  ClaimFiles files_;
  std::string instance_;
};

}  // namespace cloche::oci

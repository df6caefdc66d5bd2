// Lending: which GPU is lent to which sandbox, for all servers of a host.
//
// A GPU has one borrower at a time. The claim is a file in a directory that all servers share, and outlives the server:
// it is released with the sandbox, or by the next server of the same instance.
#pragma once

#include <string>
#include <vector>

#include "cloche/spec.hpp"
#include "core/claim_files.hpp"
#include "core/result.hpp"
#include "gpu/gpu.hpp"

namespace cloche::gpu {

class Lending {
 public:
  Lending(std::string directory, std::string instance);

  // Lends what is requested, all of it or nothing. unsupported if the host has no such GPU, or fewer; invalid_argument
  // for an id that more than one has; limit_reached if too few are free.
  Result<std::vector<Gpu>> lend(const Inventory& inventory, const GpuRequest& request,
                                const std::string& sandbox) const;
  // Takes back all that a sandbox of this instance has.
  Status take_back(const std::string& sandbox) const;

  // Of all instances; the name is the GPU's key, the holder the sandbox.
  Result<std::vector<ClaimFiles::Claim>> all() const { return files_.all(); }
  // The sandboxes of this instance that have a GPU.
  Result<std::vector<std::string>> borrowers() const;

 private:
  Result<bool> lend_one(const Gpu& gpu, const std::string& sandbox) const;

  ClaimFiles files_;
  std::string instance_;
};

}  // namespace cloche::gpu

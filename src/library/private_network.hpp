// PrivateNetwork: the way out of a sandbox that is not leased from a pool. The caller is the operator: its rules may
// name any address.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "pool/outlets.hpp"

namespace cloche {

// Close it before its sandbox is destroyed.
class PrivateNetwork {
 public:
  // Throws as other calls of the library do.
  static Task<std::unique_ptr<PrivateNetwork>> open(Executor executor, std::shared_ptr<LiveSandbox> sandbox,
                                                    NetworkPolicy network);

  // The environment by which programs find the proxy.
  const std::map<std::string, std::string>& variables() const { return variables_; }
  Task<> close();

 private:
  auth::AccessTable access_ = auth::AccessTable::of_trusted_callers();
  std::unique_ptr<pool::Outlets> outlets_;
  std::shared_ptr<egress::Books> books_;
  std::shared_ptr<pool::Outlet> outlet_;
  std::map<std::string, std::string> variables_;
};

}  // namespace cloche

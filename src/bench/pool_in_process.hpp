// A pool of sandboxes in this very process, as users of the library have it: no HTTP in between.
#pragma once

#include <memory>

#include "bench/surroundings.hpp"
#include "pool/manager.hpp"

namespace cloche::bench {

class PoolInProcess {
 public:
  // Warm when it returns: so many sandboxes, and never more.
  static Result<std::unique_ptr<PoolInProcess>> make(Surroundings& surroundings, const Target& target,
                                                     std::uint32_t size);
  ~PoolInProcess();
  PoolInProcess(const PoolInProcess&) = delete;
  PoolInProcess& operator=(const PoolInProcess&) = delete;

  Task<Result<pool::Lease>> claim();
  // Until all are idle again: none leased, none being reset.
  Task<Status> until_idle();

 private:
  PoolInProcess(Surroundings& surroundings, std::uint32_t size) : surroundings_(surroundings), size_(size) {}

  Surroundings& surroundings_;
  std::uint32_t size_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<pool::Manager> manager_;
};

// A backend for the target, with directories and an instance of its own.
Result<std::unique_ptr<Backend>> make_backend(Surroundings& surroundings, const Target& target);
// The spec of every sandbox of the benchmarks.
SandboxSpec sandbox_spec(const Surroundings& surroundings, const Target& target);

}  // namespace cloche::bench

// Resolver: addresses of names. An interface, so that tests can answer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/async/task.hpp"
#include "egress/policy/address.hpp"

namespace cloche::egress {

class Resolver {
 public:
  virtual ~Resolver() = default;

  // The addresses of a normalized name, in the order in which to try them, at least one. `not_found` if it has none,
  // `timeout`, `unavailable` if no name server responds.
  virtual Task<Result<std::vector<Address>>> resolve(std::string name, Deadline deadline) = 0;
};

struct SystemResolverOptions {
  std::size_t threads = 4;
  std::size_t waiting = 256;  // lookups that wait for a thread; more are refused
  std::chrono::steady_clock::duration kept = std::chrono::seconds(5);  // results are used again for so long
};

// The host's resolver (getaddrinfo), on threads of its own. Its destructor does not wait for lookups under way.
std::shared_ptr<Resolver> make_system_resolver(Executor executor, SystemResolverOptions options = {});

}  // namespace cloche::egress

// LeaseBook: leases that clients hold over HTTP, by ids that cannot be guessed and are never used twice. A client that
// vanished loses its lease by running_timeout; the book then forgets it.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "runner/code_runner.hpp"
#include "runner/container.hpp"
#include "runner/workplace.hpp"

namespace cloche::api {

class LeaseBook {
 public:
  // The runner outlives the book.
  explicit LeaseBook(runner::CodeRunner& runner) : runner_(runner) {}

  struct Entry {
    pool::Lease lease;
    std::unique_ptr<runner::Container> container;
    std::string language;
  };

  // A sandbox of the language's pool; fails at once when there is none to be had.
  Task<Result<std::string>> lend(Language language);
  // not_found when there is no such lease, or no more. Whoever uses it keeps it.
  Result<std::shared_ptr<Entry>> find(const std::string& id);
  // Both are not_found when there is no such lease.
  Status give_back(const std::string& id);
  Status destroy(const std::string& id);
  // All are given back.
  void clear() { entries_.clear(); }

 private:
  void forget_ended();

  runner::CodeRunner& runner_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace cloche::api

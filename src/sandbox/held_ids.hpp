// HeldId: a sandbox that this process makes or holds, for backends that search a service for theirs.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace cloche {

// Ids of the sandboxes that this process makes or holds: what `recover` leaves alone.
using HeldIds = std::set<std::string>;

class HeldId {
 public:
  HeldId(std::shared_ptr<HeldIds> held, std::string id) : held_(std::move(held)), id_(std::move(id)) {
    held_->insert(id_);
  }
  HeldId(HeldId&&) = default;
  HeldId& operator=(HeldId&&) = delete;
  ~HeldId() {
    if (held_) held_->erase(id_);
  }

 private:
  std::shared_ptr<HeldIds> held_;
  std::string id_;
};

}  // namespace cloche

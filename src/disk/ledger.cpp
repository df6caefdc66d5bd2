#include "disk/ledger.hpp"

namespace cloche::disk {

Bytes Ledger::sum() const {
  Bytes all;
  for (const auto& [id, size] : sizes_) all.count += size.count;
  return all;
}

Status Ledger::promise(const std::string& id, Bytes size, const Room& room) {
  const std::lock_guard lock(mutex_);
  const Bytes now = sum();
  if (size > room.most || now.count > room.most.count - size.count) {
    return fail(ErrorCode::limit_reached, "all disks together may have " + to_string(room.most) + " and have " +
                                              to_string(now) + ", so there is no room for one of " + to_string(size) +
                                              "; end a sandbox, or raise disk.max_total");
  }
  if (size > room.available) {
    return fail(ErrorCode::limit_reached, "a disk of " + to_string(size) +
                                              " does not fit into the free space of the host, which is " +
                                              to_string(room.available) + "; free some, or change disk.dir");
  }
  sizes_.insert_or_assign(id, size);
  return {};
}

void Ledger::note(const std::string& id, Bytes size) {
  const std::lock_guard lock(mutex_);
  sizes_.insert_or_assign(id, size);
}

void Ledger::release(const std::string& id) {
  const std::lock_guard lock(mutex_);
  sizes_.erase(id);
}

Bytes Ledger::promised() const {
  const std::lock_guard lock(mutex_);
  return sum();
}

}  // namespace cloche::disk

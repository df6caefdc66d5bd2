// Ledger: what the disks of one server may need of the host's, in the worst case. From any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "core/bytes.hpp"
#include "core/result.hpp"

namespace cloche::disk {

class Ledger {
 public:
  // What the file system that stores the disks has.
  struct Room {
    Bytes most;       // all disks together
    Bytes available;  // now
  };

  // limit_reached if all disks together would exceed the room, or if this one alone would not fit into what is
  // available. The id has one disk.
  Status promise(const std::string& id, Bytes size, const Room& room);
  // A disk that exists, whatever the room is.
  void note(const std::string& id, Bytes size);
  // Nothing happens if there is none.
  void release(const std::string& id);

  Bytes promised() const;

 private:
  Bytes sum() const;

  mutable std::mutex mutex_;
  std::map<std::string, Bytes> sizes_;
};

}  // namespace cloche::disk

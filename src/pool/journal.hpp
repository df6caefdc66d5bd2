// Journal: which sandboxes a manager has, and what it is about to do with each, in SQLite. Each change is on the disk's
// side of a crash of the process before its effect takes place, so that the next process knows what it finds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "database/database.hpp"

namespace cloche::pool {

enum class JournalState {
  making,
  idle,  // clean: fresh, or reset and proved
  lent,  // or not yet reset
  removing,
};

struct JournalEntry {
  std::string name;  // of the sandbox
  std::string profile;
  std::string fingerprint;  // of all that the profile asks of a sandbox
  JournalState state = JournalState::making;
  std::optional<std::string> tenant;
  std::uint32_t uses = 0;
  std::string holder;  // who takes it over after a crash; empty: no holder
};

class Journal {
 public:
  // Creates the file if it does not exist. A file that is damaged or belongs to another owner is moved aside and a new
  // one is started: living sandboxes are then found only by the owner's id. unsupported if a newer Cloche has written
  // it.
  static Result<std::unique_ptr<Journal>> open(const std::string& path, const std::string& owner = {});
  // For owners that leave nothing behind.
  static Result<std::unique_ptr<Journal>> open_in_memory() { return open(":memory:"); }

  Status begin(const JournalEntry& entry);
  Status set_state(const std::string& name, JournalState state);
  Status lend(const std::string& name, const std::string& tenant, std::uint32_t uses, const std::string& holder);
  Status forget(const std::string& name);
  Result<std::vector<JournalEntry>> entries();

 private:
  static Result<std::unique_ptr<Journal>> try_open(const std::string& path, const std::string& owner);

  std::unique_ptr<Database> database_;
  Statement begin_;
  Statement set_state_;
  Statement lend_;
  Statement forget_;
  Statement list_;
};

}  // namespace cloche::pool

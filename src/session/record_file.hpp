// RecordFile: which sessions exist and how each was created, in SQLite: what a restarted server needs to continue with
// them. It does not contain values of secrets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "database/database.hpp"
#include "session/session.hpp"

namespace cloche::session {

struct Record {
  SessionKey key;
  SessionOptions options;
  WallTime created;
  bool made = false;               // false: it was in the making
  std::optional<WallTime> paused;  // since when
};

class RecordFile {
 public:
  // Creates the file if it does not exist. A file that is damaged or belongs to another owner is moved aside and a new
  // one is started.
  static Result<std::unique_ptr<RecordFile>> open(const std::string& path, const std::string& owner = {});

  Status begin(const Record& record);
  Status set_made(const SessionKey& key);
  Status forget(const SessionKey& key);
  // Records that cannot be read are left out, and put aside.
  Result<std::vector<Record>> all();

 private:
  static Result<std::unique_ptr<RecordFile>> try_open(const std::string& path, const std::string& owner);
  Status put_aside(const SessionKey& key, const std::string& why);

  std::unique_ptr<Database> database_;
  Statement begin_;
  Statement set_made_;
  Statement forget_;
  Statement put_aside_;
  Statement list_;
};

// As stored in the file. `protocol` if the text does not have this form.
std::string write_options(const SessionOptions& options);
Result<SessionOptions> read_options(std::string_view text);

}  // namespace cloche::session

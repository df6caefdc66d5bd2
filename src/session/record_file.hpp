// RecordFile: which sessions there are, and how each was made, in SQLite: what a restarted server needs to know to go
// on with them. Values of secrets are not in it.
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
  bool made = false;  // false: it was in the making
};

class RecordFile {
 public:
  // Makes the file where there is none. One that is damaged, or that belongs to another
  // owner, is put aside, and a new one begun.
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

// As it is kept in the file. `protocol` when the text is not of this form.
std::string write_options(const SessionOptions& options);
Result<SessionOptions> read_options(std::string_view text);

}  // namespace cloche::session

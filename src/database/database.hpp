// Database: one SQLite file of ours, its version checked. What a process has written survives its end without fsync;
// after a loss of power the file can still be read, and that is enough: no sandbox lives any more.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace cloche {

class Database;

// A prepared statement. Numbers of parameters begin with 1, those of columns with 0.
class Statement {
 public:
  Statement() = default;  // none

  void bind(int parameter, std::string_view text);
  void bind(int parameter, std::int64_t number);
  void bind_null(int parameter);
  // Runs it to its end; it can then be run again.
  Status run();
  // The next row; false at the end, after which it can be run again.
  Result<bool> next();

  std::string text(int column) const;
  std::int64_t number(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };

  const Database* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

class Database {
 public:
  struct Schema {
    const char* name;  // what it holds, for messages
    // SQL, a step for each version: the first makes the tables of version 1, each further one changes those of the
    // version before. A step that has been released is never changed.
    std::span<const char* const> steps;

    std::int64_t version() const { return static_cast<std::int64_t>(steps.size()); }
  };

  // Creates the file if it does not exist; ":memory:" is a private one. A file of an older version is migrated to this
  // one, by all missing steps or by none. `protocol` if it is damaged, `unsupported` if a newer Cloche has written it.
  static Result<std::unique_ptr<Database>> open(const std::string& path, const Schema& schema);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Notes whose it is, at the first call. `protocol` when it is another owner's.
  Status belong_to(std::string_view owner);

  // Must not outlive the database.
  Result<Statement> prepare(const char* sql);
  Error error(std::string_view step) const;

 private:
  explicit Database(sqlite3* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  Status execute(const char* sql);
  Result<std::int64_t> read_version();
  Status check();
  Status set_up(const Schema& schema);
  Status migrate(const Schema& schema);

  sqlite3* handle_;
  std::string name_;
};

// Moves a file that cannot be used out of the way, with all that belongs to it, and says so in the log.
Status put_aside(const std::string& path, std::string_view name, std::string_view why);

// Opens what `open` opens at the path. A file that is damaged, or another owner's (`protocol`), is put aside, and a new
// one begun.
template <class Open>
auto open_or_begin_anew(const std::string& path, std::string_view name, Open open) -> decltype(open()) {
  auto opened = open();
  if (opened || opened.error().code != ErrorCode::protocol) return opened;
  CLOCHE_CHECK(put_aside(path, name, opened.error().message));
  return open();
}

}  // namespace cloche

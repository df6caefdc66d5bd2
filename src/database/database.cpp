#include "database/database.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "core/log.hpp"

namespace cloche {

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::bind(int parameter, std::int64_t number) { sqlite3_bind_int64(statement_.get(), parameter, number); }

void Statement::bind_null(int parameter) { sqlite3_bind_null(statement_.get(), parameter); }

Status Statement::run() {
  const int stepped = sqlite3_step(statement_.get());
  sqlite3_reset(statement_.get());
  if (stepped != SQLITE_DONE) return fail(database_->error("write"));
  return {};
}

Result<bool> Statement::next() {
  const int stepped = sqlite3_step(statement_.get());
  if (stepped == SQLITE_ROW) return true;
  sqlite3_reset(statement_.get());
  if (stepped != SQLITE_DONE) return fail(database_->error("read"));
  return false;
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return "";
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const Schema& schema) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
  const int opened = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(handle, schema.name));
  if (opened != SQLITE_OK) return fail(database->error("open").at(path));
  if (auto ready = database->set_up(schema); !ready) return fail(std::move(ready).error().at(path));
  return database;
}

Database::~Database() { sqlite3_close(handle_); }

Error Database::error(std::string_view step) const {
  const int code = sqlite3_errcode(handle_);
  ErrorCode kind = ErrorCode::internal;
  if (code == SQLITE_FULL) kind = ErrorCode::unavailable;  // the server's disk: not the caller's fault
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR) kind = ErrorCode::protocol;
  if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_PERM) kind = ErrorCode::permission_denied;
  return {kind, name_ + ": " + std::string(step) + ": " + sqlite3_errmsg(handle_)};
}

Status Database::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return fail(error("set up"));
  return {};
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  const int prepared = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (prepared != SQLITE_OK) return fail(error("prepare"));
  Statement statement;
  statement.database_ = this;
  statement.statement_.reset(raw);
  return statement;
}

Result<std::int64_t> Database::read_version() {
  CLOCHE_TRY(Statement query, prepare("PRAGMA user_version"));
  CLOCHE_TRY(const bool known, query.next());
  if (!known) return fail(error("read version"));
  return query.number(0);
}

// Pages that cannot be read are found now, when the file can still be put aside, and not by a query in the middle of
// something.
Status Database::check() {
  CLOCHE_TRY(Statement query, prepare("PRAGMA quick_check(1)"));
  CLOCHE_TRY(const bool known, query.next());
  if (known && query.text(0) == "ok") return {};
  return fail(ErrorCode::protocol, name_ + ": damaged: " + (known ? query.text(0) : "no result"));
}

Status Database::set_up(const Schema& schema) {
  CLOCHE_CHECK(execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;"));
  CLOCHE_CHECK(check());
  CLOCHE_CHECK(execute("BEGIN IMMEDIATE"));
  if (auto migrated = migrate(schema); !migrated) {
    (void)execute("ROLLBACK");
    return migrated;
  }
  return execute("COMMIT");
}

Status Database::migrate(const Schema& schema) {
  CLOCHE_TRY(const std::int64_t version, read_version());
  if (version > schema.version()) {
    return fail(ErrorCode::unsupported, name_ + ": written by a newer version of Cloche (schema " +
                                            std::to_string(version) + ", this one knows " +
                                            std::to_string(schema.version()) +
                                            "); run that version, or move the file away");
  }
  if (version < 0) return fail(ErrorCode::protocol, name_ + ": invalid schema version " + std::to_string(version));
  for (std::int64_t next = version; next < schema.version(); ++next) {
    CLOCHE_CHECK(execute(schema.steps[static_cast<std::size_t>(next)]));
  }
  return execute(("PRAGMA user_version = " + std::to_string(schema.version())).c_str());
}

Status Database::belong_to(std::string_view owner) {
  CLOCHE_CHECK(
      execute("CREATE TABLE IF NOT EXISTS owner (only INTEGER PRIMARY KEY CHECK (only = 1), id TEXT NOT NULL) STRICT"));
  CLOCHE_TRY(Statement note, prepare("INSERT OR IGNORE INTO owner VALUES (1, ?1)"));
  note.bind(1, owner);
  CLOCHE_CHECK(note.run());
  CLOCHE_TRY(Statement query, prepare("SELECT id FROM owner"));
  CLOCHE_TRY(const bool known, query.next());
  if (known && query.text(0) == owner) return {};
  return fail(ErrorCode::protocol, name_ + ": it belongs to " + query.text(0) + ", not to " + std::string(owner));
}

Status put_aside(const std::string& path, std::string_view name, std::string_view why) {
  const std::string first = path + ".damaged-" + std::to_string(std::time(nullptr));
  std::string aside = first;
  for (int i = 2; ::access(aside.c_str(), F_OK) == 0; ++i) aside = first + "-" + std::to_string(i);
  // The last changes may be in the write-ahead log alone. SQLite finds it by its name, so it keeps its ending.
  for (const char* ending : {"-wal", "-shm", ""}) {
    const std::string from = path + ending;
    if (::rename(from.c_str(), (aside + ending).c_str()) != 0 && errno != ENOENT) return fail_errno("rename " + from);
  }
  log::warn("{} cannot be used and is kept as {}: {}", name, aside, why);
  return {};
}

}  // namespace cloche

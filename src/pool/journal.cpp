#include "pool/journal.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "core/log.hpp"

namespace cloche::pool {

namespace {

constexpr int schema_version = 1;
constexpr const char* schema =
    "CREATE TABLE sandboxes ("
    " name TEXT PRIMARY KEY,"
    " profile TEXT NOT NULL,"
    " fingerprint TEXT NOT NULL,"
    " state INTEGER NOT NULL,"
    " tenant TEXT,"
    " uses INTEGER NOT NULL,"
    " holder TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "PRAGMA user_version = 1;";

void bind_text(sqlite3_stmt* statement, int index, const std::string& text) {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr ? "" : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

// Moves a damaged file out of the way, with what belongs to it.
Status put_aside(const std::string& path) {
  const std::string aside = path + ".damaged-" + std::to_string(std::time(nullptr));
  if (::rename(path.c_str(), aside.c_str()) != 0 && errno != ENOENT) return fail_errno("rename " + path);
  ::unlink((path + "-wal").c_str());
  ::unlink((path + "-shm").c_str());
  log::warn("the journal of sandboxes was damaged; it is kept as {}", aside);
  return {};
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path) {
  auto opened = try_open(path);
  if (opened || opened.error().code != ErrorCode::protocol) return opened;
  CLOCHE_CHECK(put_aside(path));
  return try_open(path);
}

Result<std::unique_ptr<Journal>> Journal::try_open(const std::string& path) {
  sqlite3* database = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
  const int opened = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  std::unique_ptr<Journal> journal(new Journal(database));
  if (opened != SQLITE_OK) return fail(journal->error("open").at(path));
  if (auto ready = journal->prepare(); !ready) return fail(std::move(ready).error().at(path));
  return journal;
}

Journal::~Journal() {
  for (sqlite3_stmt* statement : {begin_, set_state_, lend_, forget_, list_}) sqlite3_finalize(statement);
  sqlite3_close(database_);
}

Error Journal::error(const char* step) const {
  const int code = sqlite3_errcode(database_);
  ErrorCode kind = ErrorCode::internal;
  if (code == SQLITE_FULL) kind = ErrorCode::limit_reached;
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR) kind = ErrorCode::protocol;
  if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_PERM) kind = ErrorCode::permission_denied;
  return {kind, std::string("journal: ") + step + ": " + sqlite3_errmsg(database_)};
}

Status Journal::prepare() {
  const auto execute = [this](const char* sql) -> Status {
    if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return fail(error("set up"));
    return {};
  };
  const auto compile = [this](const char* sql, sqlite3_stmt*& statement) -> Status {
    if (sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
      return fail(error("prepare"));
    }
    return {};
  };
  // What a process has written survives its end without fsync. After a loss of power no sandbox lives any more; all
  // that is needed then is a file that can be read, which WAL grants at this level.
  CLOCHE_CHECK(execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;"));
  sqlite3_stmt* version_query = nullptr;
  CLOCHE_CHECK(compile("PRAGMA user_version", version_query));
  const int version = sqlite3_step(version_query) == SQLITE_ROW ? sqlite3_column_int(version_query, 0) : -1;
  sqlite3_finalize(version_query);
  if (version < 0) return fail(error("read version"));
  if (version > schema_version) {
    return fail(ErrorCode::unsupported,
                "journal: written by a newer version of Cloche (" + std::to_string(version) + ")");
  }
  if (version == 0) CLOCHE_CHECK(execute(schema));
  CLOCHE_CHECK(compile("INSERT OR REPLACE INTO sandboxes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", begin_));
  CLOCHE_CHECK(compile("UPDATE sandboxes SET state = ?2 WHERE name = ?1", set_state_));
  CLOCHE_CHECK(compile("UPDATE sandboxes SET state = ?2, tenant = ?3, uses = ?4, holder = ?5 WHERE name = ?1", lend_));
  CLOCHE_CHECK(compile("DELETE FROM sandboxes WHERE name = ?1", forget_));
  return compile("SELECT name, profile, fingerprint, state, tenant, uses, holder FROM sandboxes", list_);
}

Status Journal::run(sqlite3_stmt* statement) {
  const int stepped = sqlite3_step(statement);
  sqlite3_reset(statement);
  if (stepped != SQLITE_DONE) return fail(error("write"));
  return {};
}

Status Journal::begin(const JournalEntry& entry) {
  bind_text(begin_, 1, entry.name);
  bind_text(begin_, 2, entry.profile);
  bind_text(begin_, 3, entry.fingerprint);
  sqlite3_bind_int(begin_, 4, static_cast<int>(entry.state));
  if (entry.tenant) {
    bind_text(begin_, 5, *entry.tenant);
  } else {
    sqlite3_bind_null(begin_, 5);
  }
  sqlite3_bind_int64(begin_, 6, entry.uses);
  bind_text(begin_, 7, entry.holder);
  return run(begin_);
}

Status Journal::set_state(const std::string& name, JournalState state) {
  bind_text(set_state_, 1, name);
  sqlite3_bind_int(set_state_, 2, static_cast<int>(state));
  return run(set_state_);
}

Status Journal::lend(const std::string& name, const std::string& tenant, std::uint32_t uses,
                     const std::string& holder) {
  bind_text(lend_, 1, name);
  sqlite3_bind_int(lend_, 2, static_cast<int>(JournalState::lent));
  bind_text(lend_, 3, tenant);
  sqlite3_bind_int64(lend_, 4, uses);
  bind_text(lend_, 5, holder);
  return run(lend_);
}

Status Journal::forget(const std::string& name) {
  bind_text(forget_, 1, name);
  return run(forget_);
}

Result<std::vector<JournalEntry>> Journal::entries() {
  std::vector<JournalEntry> all;
  int stepped = SQLITE_ROW;
  while ((stepped = sqlite3_step(list_)) == SQLITE_ROW) {
    JournalEntry entry;
    entry.name = text_of(list_, 0);
    entry.profile = text_of(list_, 1);
    entry.fingerprint = text_of(list_, 2);
    entry.state = static_cast<JournalState>(sqlite3_column_int(list_, 3));
    if (sqlite3_column_type(list_, 4) != SQLITE_NULL) entry.tenant = text_of(list_, 4);
    entry.uses = static_cast<std::uint32_t>(sqlite3_column_int64(list_, 5));
    entry.holder = text_of(list_, 6);
    all.push_back(std::move(entry));
  }
  sqlite3_reset(list_);
  if (stepped != SQLITE_DONE) return fail(error("read"));
  return all;
}

}  // namespace cloche::pool

#include "session/record_file.hpp"

#include "core/log.hpp"

namespace cloche::session {

namespace {

constexpr const char* schema_steps[] = {
    "CREATE TABLE sessions ("
    " tenant TEXT NOT NULL,"
    " id TEXT NOT NULL,"
    " options TEXT NOT NULL,"
    " created INTEGER NOT NULL,"  // seconds since the epoch
    " made INTEGER NOT NULL,"
    " PRIMARY KEY (tenant, id)"
    ") STRICT, WITHOUT ROWID",
    // Records that could not be read, as they were.
    "CREATE TABLE unreadable ("
    " tenant TEXT NOT NULL,"
    " id TEXT NOT NULL,"
    " options TEXT NOT NULL,"
    " created INTEGER NOT NULL,"
    " made INTEGER NOT NULL,"
    " why TEXT NOT NULL,"
    " put_aside INTEGER NOT NULL"  // seconds since the epoch
    ") STRICT",
    // Since when it is paused, in seconds since the epoch; 0 if it is not.
    "ALTER TABLE sessions ADD COLUMN paused INTEGER NOT NULL DEFAULT 0"};

constexpr Database::Schema schema{.name = "sessions", .steps = schema_steps};

}  // namespace

Result<std::unique_ptr<RecordFile>> RecordFile::open(const std::string& path, const std::string& owner) {
  return open_or_begin_anew(path, "the records of sessions", [&] { return try_open(path, owner); });
}

Result<std::unique_ptr<RecordFile>> RecordFile::try_open(const std::string& path, const std::string& owner) {
  auto file = std::make_unique<RecordFile>();
  CLOCHE_TRY(file->database_, Database::open(path, schema));
  Database& database = *file->database_;
  if (!owner.empty()) CLOCHE_CHECK(database.belong_to(owner));
  CLOCHE_TRY(file->begin_, database.prepare("INSERT OR REPLACE INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  CLOCHE_TRY(file->set_made_, database.prepare("UPDATE sessions SET made = 1 WHERE tenant = ?1 AND id = ?2"));
  CLOCHE_TRY(file->forget_, database.prepare("DELETE FROM sessions WHERE tenant = ?1 AND id = ?2"));
  CLOCHE_TRY(file->put_aside_, database.prepare("INSERT INTO unreadable SELECT tenant, id, options, created, made, ?3,"
                                                " unixepoch() FROM sessions WHERE tenant = ?1 AND id = ?2"));
  CLOCHE_TRY(file->list_, database.prepare("SELECT tenant, id, options, created, made, paused FROM sessions"));
  return file;
}

Status RecordFile::begin(const Record& record) {
  begin_.bind(1, record.key.tenant);
  begin_.bind(2, record.key.id);
  begin_.bind(3, write_options(record.options));
  begin_.bind(4, std::int64_t{std::chrono::system_clock::to_time_t(record.created)});
  begin_.bind(5, std::int64_t{record.made ? 1 : 0});
  begin_.bind(6, record.paused ? std::int64_t{std::chrono::system_clock::to_time_t(*record.paused)} : std::int64_t{0});
  return begin_.run();
}

Status RecordFile::set_made(const SessionKey& key) {
  set_made_.bind(1, key.tenant);
  set_made_.bind(2, key.id);
  return set_made_.run();
}

Status RecordFile::forget(const SessionKey& key) {
  forget_.bind(1, key.tenant);
  forget_.bind(2, key.id);
  return forget_.run();
}

Result<std::vector<Record>> RecordFile::all() {
  std::vector<Record> records;
  std::vector<std::pair<SessionKey, std::string>> unreadable;
  for (;;) {
    CLOCHE_TRY(const bool more, list_.next());
    if (!more) break;
    Record record;
    record.key = {list_.text(0), list_.text(1)};
    auto options = read_options(list_.text(2));
    if (!options) {
      unreadable.emplace_back(std::move(record.key), std::move(options).error().message);
      continue;
    }
    record.options = std::move(*options);
    record.created = std::chrono::system_clock::from_time_t(list_.number(3));
    record.made = list_.number(4) != 0;
    if (const auto paused = list_.number(5); paused != 0)
      record.paused = std::chrono::system_clock::from_time_t(paused);
    records.push_back(std::move(record));
  }
  // One that cannot be read is lost alone.
  for (const auto& [key, why] : unreadable) CLOCHE_CHECK(put_aside(key, why));
  return records;
}

// It is kept for inspection, and is not read again.
Status RecordFile::put_aside(const SessionKey& key, const std::string& why) {
  log::error("session '{}' of tenant '{}' is lost; its record is kept in the table 'unreadable': {}", key.id,
             key.tenant, why);
  put_aside_.bind(1, key.tenant);
  put_aside_.bind(2, key.id);
  put_aside_.bind(3, why);
  CLOCHE_CHECK(put_aside_.run());
  return forget(key);
}

}  // namespace cloche::session

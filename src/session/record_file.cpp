#include "session/record_file.hpp"

namespace cloche::session {

namespace {

constexpr Database::Schema schema{.name = "sessions",
                                  .version = 1,
                                  .tables =
                                      "CREATE TABLE sessions ("
                                      " tenant TEXT NOT NULL,"
                                      " id TEXT NOT NULL,"
                                      " options TEXT NOT NULL,"
                                      " created INTEGER NOT NULL,"  // seconds since the epoch
                                      " made INTEGER NOT NULL,"
                                      " PRIMARY KEY (tenant, id)"
                                      ") STRICT, WITHOUT ROWID"};

}  // namespace

Result<std::unique_ptr<RecordFile>> RecordFile::open(const std::string& path, const std::string& owner) {
  return open_or_begin_anew(path, "the records of sessions", [&] { return try_open(path, owner); });
}

Result<std::unique_ptr<RecordFile>> RecordFile::try_open(const std::string& path, const std::string& owner) {
  auto file = std::make_unique<RecordFile>();
  CLOCHE_TRY(file->database_, Database::open(path, schema));
  Database& database = *file->database_;
  if (!owner.empty()) CLOCHE_CHECK(database.belong_to(owner));
  CLOCHE_TRY(file->begin_, database.prepare("INSERT OR REPLACE INTO sessions VALUES (?1, ?2, ?3, ?4, ?5)"));
  CLOCHE_TRY(file->set_made_, database.prepare("UPDATE sessions SET made = 1 WHERE tenant = ?1 AND id = ?2"));
  CLOCHE_TRY(file->forget_, database.prepare("DELETE FROM sessions WHERE tenant = ?1 AND id = ?2"));
  CLOCHE_TRY(file->list_, database.prepare("SELECT tenant, id, options, created, made FROM sessions"));
  return file;
}

Status RecordFile::begin(const Record& record) {
  begin_.bind(1, record.key.tenant);
  begin_.bind(2, record.key.id);
  begin_.bind(3, write_options(record.options));
  begin_.bind(4, std::int64_t{std::chrono::system_clock::to_time_t(record.created)});
  begin_.bind(5, std::int64_t{record.made ? 1 : 0});
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
  for (;;) {
    CLOCHE_TRY(const bool more, list_.next());
    if (!more) return records;
    Record record;
    record.key = {list_.text(0), list_.text(1)};
    CLOCHE_TRY(record.options, read_options(list_.text(2)));
    record.created = std::chrono::system_clock::from_time_t(list_.number(3));
    record.made = list_.number(4) != 0;
    records.push_back(std::move(record));
  }
}

}  // namespace cloche::session

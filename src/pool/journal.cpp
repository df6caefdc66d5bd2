#include "pool/journal.hpp"

namespace cloche::pool {

namespace {

constexpr const char* steps[] = {
    "CREATE TABLE sandboxes ("
    " name TEXT PRIMARY KEY,"
    " profile TEXT NOT NULL,"
    " fingerprint TEXT NOT NULL,"
    " state INTEGER NOT NULL,"
    " tenant TEXT,"
    " uses INTEGER NOT NULL,"
    " holder TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID"};

constexpr Database::Schema schema{.name = "journal", .steps = steps};

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path, const std::string& owner) {
  return open_or_begin_anew(path, "the journal of sandboxes", [&] { return try_open(path, owner); });
}

Result<std::unique_ptr<Journal>> Journal::try_open(const std::string& path, const std::string& owner) {
  auto journal = std::make_unique<Journal>();
  CLOCHE_TRY(journal->database_, Database::open(path, schema));
  Database& database = *journal->database_;
  if (!owner.empty()) CLOCHE_CHECK(database.belong_to(owner));
  CLOCHE_TRY(journal->begin_, database.prepare("INSERT OR REPLACE INTO sandboxes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  CLOCHE_TRY(journal->set_state_, database.prepare("UPDATE sandboxes SET state = ?2 WHERE name = ?1"));
  CLOCHE_TRY(journal->lend_, database.prepare("UPDATE sandboxes SET state = ?2, tenant = ?3, uses = ?4, holder = ?5"
                                              " WHERE name = ?1"));
  CLOCHE_TRY(journal->forget_, database.prepare("DELETE FROM sandboxes WHERE name = ?1"));
  CLOCHE_TRY(journal->list_,
             database.prepare("SELECT name, profile, fingerprint, state, tenant, uses, holder FROM sandboxes"));
  return journal;
}

Status Journal::begin(const JournalEntry& entry) {
  begin_.bind(1, entry.name);
  begin_.bind(2, entry.profile);
  begin_.bind(3, entry.fingerprint);
  begin_.bind(4, static_cast<std::int64_t>(entry.state));
  if (entry.tenant) {
    begin_.bind(5, *entry.tenant);
  } else {
    begin_.bind_null(5);
  }
  begin_.bind(6, std::int64_t{entry.uses});
  begin_.bind(7, entry.holder);
  return begin_.run();
}

Status Journal::set_state(const std::string& name, JournalState state) {
  set_state_.bind(1, name);
  set_state_.bind(2, static_cast<std::int64_t>(state));
  return set_state_.run();
}

Status Journal::lend(const std::string& name, const std::string& tenant, std::uint32_t uses,
                     const std::string& holder) {
  lend_.bind(1, name);
  lend_.bind(2, static_cast<std::int64_t>(JournalState::lent));
  lend_.bind(3, tenant);
  lend_.bind(4, std::int64_t{uses});
  lend_.bind(5, holder);
  return lend_.run();
}

Status Journal::forget(const std::string& name) {
  forget_.bind(1, name);
  return forget_.run();
}

Result<std::vector<JournalEntry>> Journal::entries() {
  std::vector<JournalEntry> all;
  for (;;) {
    CLOCHE_TRY(const bool more, list_.next());
    if (!more) return all;
    JournalEntry entry;
    entry.name = list_.text(0);
    entry.profile = list_.text(1);
    entry.fingerprint = list_.text(2);
    entry.state = static_cast<JournalState>(list_.number(3));
    if (!list_.is_null(4)) entry.tenant = list_.text(4);
    entry.uses = static_cast<std::uint32_t>(list_.number(5));
    entry.holder = list_.text(6);
    all.push_back(std::move(entry));
  }
}

}  // namespace cloche::pool

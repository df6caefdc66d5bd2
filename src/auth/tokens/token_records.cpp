#include "auth/tokens/token_records.hpp"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <unordered_set>

#include "auth/names.hpp"
#include "auth/tokens/token.hpp"
#include "core/utc_time.hpp"
#include "json/members.hpp"
#include "json/strict_json.hpp"

namespace cloche::auth {

namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 7> known_members = {"id",      "sha256",  "tenant", "role",
                                                           "created", "expires", "note"};

std::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::invalid_argument, "damaged token file: " + std::string(what));
}

Status check_members(const json::object& entry) {
  for (const auto& member : entry) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::ranges::find(known_members, key) == known_members.end()) return damaged("unknown member");
    if (!member.value().is_string()) return damaged("`" + std::string(key) + "` is not a string");
  }
  for (const std::string_view needed : {"id", "sha256", "tenant", "role", "created"}) {
    if (!text_member(entry, needed)) return damaged("`" + std::string(needed) + "` is missing");
  }
  return {};
}

Result<TokenRecord> parse_record(const json::value& value) {
  const json::object* entry = value.if_object();
  if (!entry) return damaged("not an object");
  CLOCHE_CHECK(check_members(*entry));
  TokenRecord record;
  record.id = *text_member(*entry, "id");
  if (!is_token_id(record.id)) return damaged("`id` is not 16 hexadecimal digits");
  const auto hash = digest_from_hex(*text_member(*entry, "sha256"));
  if (!hash) return damaged("`sha256` is not 64 hexadecimal digits");
  record.sha256 = *hash;
  record.tenant = *text_member(*entry, "tenant");
  if (!is_valid_name(record.tenant)) return damaged("`tenant` is not a valid tenant name");
  const auto role = parse_role(*text_member(*entry, "role"));
  if (!role) return damaged("`role` must be user or admin");
  record.role = *role;
  const auto created = parse_utc_text(*text_member(*entry, "created"));
  if (!created) return damaged("`created` is not a time like 2031-05-17T09:30:00Z");
  record.created = *created;
  if (const auto text = text_member(*entry, "expires")) {
    record.expires = parse_utc_text(*text);
    if (!record.expires) return damaged("`expires` is not a time like 2031-05-17T09:30:00Z");
  }
  record.note = text_member(*entry, "note").value_or("");
  if (!check_note(record.note)) return damaged("`note` must have at most 200 bytes and no control characters");
  return record;
}

json::object entry_of(const TokenRecord& record) {
  json::object entry;
  entry["id"] = record.id;
  entry["sha256"] = to_hex(record.sha256);
  entry["tenant"] = record.tenant;
  entry["role"] = json::string_view(to_string(record.role).data(), to_string(record.role).size());
  entry["created"] = to_utc_text(record.created);
  if (record.expires) entry["expires"] = to_utc_text(*record.expires);
  if (!record.note.empty()) entry["note"] = record.note;
  return entry;
}

}  // namespace

Status check_note(std::string_view note) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (note.size() > longest_note || std::ranges::any_of(note, is_control)) {
    return fail(ErrorCode::invalid_argument, "a note must have at most 200 bytes and no control characters");
  }
  // Text that is not UTF-8 could be written to the file, but not read back.
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(note, is_ascii)) return {};
  if (!parse_strict_object(json::serialize(json::object{{"note", json::string_view(note.data(), note.size())}}), 2)) {
    return fail(ErrorCode::invalid_argument, "a note must be UTF-8");
  }
  return {};
}

Result<std::vector<TokenRecord>> parse_token_records(std::string_view text) {
  auto parsed = parse_strict_object(text, 4);
  if (!parsed) return fail(std::move(parsed).error().at("damaged token file"));
  const auto version = number_member(*parsed, "version");
  if (!version) return damaged("`version` is missing");
  if (*version != 1) return damaged("written by another version of Cloche");
  const json::array* entries = array_member(*parsed, "tokens");
  if (!entries || parsed->size() != 2) return damaged("it must contain `version` and `tokens` only");
  if (entries->size() > most_tokens) return damaged("more than " + std::to_string(most_tokens) + " tokens");

  std::vector<TokenRecord> records;
  records.reserve(entries->size());
  std::unordered_set<std::string> ids;
  for (const json::value& entry : *entries) {
    auto record = parse_record(entry);
    if (!record) return fail(std::move(record).error().at("token " + std::to_string(records.size() + 1)));
    if (!ids.insert(record->id).second) return damaged("duplicate token id " + record->id);
    records.push_back(*std::move(record));
  }
  return records;
}

std::string write_token_records(const std::vector<TokenRecord>& records) {
  std::string text = "{\"version\":1,\"tokens\":[";
  for (const TokenRecord& record : records) {
    text += &record == records.data() ? "\n" : ",\n";
    text += json::serialize(entry_of(record));
  }
  return text + "\n]}\n";
}

}  // namespace cloche::auth

#include "dialect/e2b/control/listing.hpp"

#include <algorithm>
#include <charconv>

#include "core/base64.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::size_t most_of_page = 100;

std::unexpected<Error> bad_query(std::string_view name, std::string_view wanted) {
  return fail(ErrorCode::invalid_argument, "query: " + std::string(name) + " must be " + std::string(wanted));
}

Cursor cursor_of(const Listed& listed) { return {listed.info.created, listed.sandbox->id}; }

Status read_states(std::string_view text, ListQuery& query) {
  query.running = query.paused = false;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    const std::string_view state = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (state == "running") {
      query.running = true;
    } else if (state == "paused") {
      query.paused = true;
    } else if (!state.empty()) {
      return bad_query("state", "running, paused or both");
    }
  }
  if (!query.running && !query.paused) query.running = query.paused = true;
  return {};
}

bool fits(const Listed& listed, const ListQuery& query) {
  const bool is_paused = listed.info.state == session::SessionState::paused;
  if (is_paused ? !query.paused : !query.running) return false;
  if (query.started_after && listed.info.created < *query.started_after) return false;
  if (!query.template_id.empty() && listed.sandbox->attributes.template_id != query.template_id) return false;
  return std::ranges::all_of(query.metadata, [&](const auto& wanted) {
    const auto found = listed.info.metadata.find(wanted.first);
    return found != listed.info.metadata.end() && found->second == wanted.second;
  });
}

}  // namespace

std::string to_text(const Cursor& cursor) {
  return encode_base64url(std::to_string(cursor.created.time_since_epoch().count()) + "." + cursor.id);
}

std::optional<Cursor> parse_cursor(std::string_view text) {
  if (text.size() > 400) return std::nullopt;
  const auto decoded = decode_base64url(text);
  if (!decoded) return std::nullopt;
  const auto dot = decoded->find('.');
  if (dot == decoded->npos) return std::nullopt;
  Moment::rep ticks = 0;
  const auto [end, error] = std::from_chars(decoded->data(), decoded->data() + dot, ticks);
  if (error != std::errc() || end != decoded->data() + dot || dot == 0) return std::nullopt;
  return Cursor{Moment(Moment::duration(ticks)), decoded->substr(dot + 1)};
}

Result<std::map<std::string, std::string>> read_metadata_query(std::string_view text) {
  const auto pairs = http::parse_query(text);
  if (!pairs) return bad_query("metadata", "pairs such as key=value");
  const auto decoded_again = [](std::string part) -> std::optional<std::string> {
    // A plus sign that is left now is one.
    for (auto at = part.find('+'); at != part.npos; at = part.find('+', at)) part.replace(at, 1, "%2B");
    for (auto at = part.find_first_of("&="); at != part.npos; at = part.find_first_of("&=", at)) {
      part.replace(at, 1, part[at] == '&' ? "%26" : "%3D");
    }
    const auto once_more = http::parse_query(part + "=");
    if (!once_more) return std::nullopt;
    return once_more->items().empty() ? std::string() : once_more->items().front().first;
  };
  std::map<std::string, std::string> metadata;
  for (const auto& [name, value] : pairs->items()) {
    const auto key = decoded_again(name);
    const auto text_of_value = decoded_again(value);
    if (!key || !text_of_value) return bad_query("metadata", "pairs such as key=value");
    metadata.insert_or_assign(*key, *text_of_value);
  }
  return metadata;
}

Result<PageQuery> read_page_query(const http::Query& query) {
  PageQuery page;
  if (const auto limit = query.find("limit"); limit && !limit->empty()) {
    const auto [end, error] = std::from_chars(limit->data(), limit->data() + limit->size(), page.limit);
    const bool is_number = error == std::errc() && end == limit->data() + limit->size();
    if (!is_number || page.limit == 0 || page.limit > most_of_page) return bad_query("limit", "a number from 1 to 100");
  }
  if (const auto token = query.find("nextToken"); token && !token->empty()) {
    page.after = parse_cursor(*token);
    if (!page.after) return bad_query("nextToken", "the value of x-next-token");
  }
  return page;
}

Result<ListQuery> read_old_list_query(const http::Query& query) {
  ListQuery wanted;
  wanted.paused = false;
  wanted.limit = SIZE_MAX;
  if (const auto metadata = query.find("metadata")) {
    CLOCHE_TRY(wanted.metadata, read_metadata_query(*metadata));
  }
  return wanted;
}

Result<ListQuery> read_list_query(const http::Query& query) {
  CLOCHE_TRY(ListQuery wanted, read_old_list_query(query));
  wanted.paused = true;
  if (const auto states = query.find("state")) CLOCHE_CHECK(read_states(*states, wanted));
  if (const auto order = query.find("order"); order && !order->empty()) {
    if (*order != "asc" && *order != "desc") return bad_query("order", "asc or desc");
    wanted.ascending = *order == "asc";
  }
  if (const auto after = query.find("startedAfter"); after && !after->empty()) {
    wanted.started_after = parse_time_text(*after);
    if (!wanted.started_after) return bad_query("startedAfter", "a time such as 2031-05-17T09:30:00Z");
  }
  if (const auto name = query.find("template")) wanted.template_id = *name;
  CLOCHE_TRY(const PageQuery page, read_page_query(query));
  wanted.limit = page.limit;
  wanted.after = page.after;
  return wanted;
}

ListPage page_of(std::vector<Listed> all, const ListQuery& query) {
  std::erase_if(all, [&](const Listed& listed) { return !fits(listed, query); });
  const auto before = [&](const Cursor& a, const Cursor& b) { return query.ascending ? a < b : b < a; };
  std::ranges::sort(all, before, cursor_of);
  if (query.after) std::erase_if(all, [&](const Listed& listed) { return !before(*query.after, cursor_of(listed)); });
  ListPage page;
  const bool has_more = all.size() > query.limit;
  if (has_more) all.erase(all.begin() + static_cast<std::ptrdiff_t>(query.limit), all.end());
  if (has_more) page.next = to_text(cursor_of(all.back()));
  page.items = std::move(all);
  return page;
}

}  // namespace cloche::dialect::e2b

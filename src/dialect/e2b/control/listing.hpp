// The list of sandboxes: its query, its filters, its pages. No I/O.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "dialect/e2b/sandboxes.hpp"
#include "http/server/request/target.hpp"

namespace cloche::dialect::e2b {

// A place between two entries of a list, as clients get it: opaque, and valid while entries come and go.
struct Cursor {
  Moment created;
  std::string id;

  auto operator<=>(const Cursor&) const = default;
};
std::string to_text(const Cursor& cursor);
std::optional<Cursor> parse_cursor(std::string_view text);

struct ListQuery {
  std::map<std::string, std::string> metadata;  // all must match
  bool running = true;
  bool paused = true;
  bool ascending = false;
  std::optional<Moment> started_after;  // inclusive
  std::string template_id;              // empty: any
  std::size_t limit = 100;
  std::optional<Cursor> after;
};

// `invalid_argument` names the parameter.
Result<ListQuery> read_list_query(const http::Query& query);
// Of the old list, which has running sandboxes only and no pages.
Result<ListQuery> read_old_list_query(const http::Query& query);

// `k=v&k2=v2`, where keys and values are percent-encoded once more.
Result<std::map<std::string, std::string>> read_metadata_query(std::string_view text);

struct Listed {
  SandboxPtr sandbox;
  session::SessionInfo info;
};

struct ListPage {
  std::vector<Listed> items;
  std::string next;  // empty: it is the last one
};

ListPage page_of(std::vector<Listed> all, const ListQuery& query);

// Limit and cursor of any list.
struct PageQuery {
  std::size_t limit = 100;
  std::optional<Cursor> after;
};
Result<PageQuery> read_page_query(const http::Query& query);

}  // namespace cloche::dialect::e2b

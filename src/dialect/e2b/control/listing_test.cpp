#include "dialect/e2b/control/listing.hpp"

#include <gtest/gtest.h>

#include <set>

namespace cloche::dialect::e2b {
namespace {

using namespace std::chrono_literals;

const Moment start{std::chrono::sys_days{std::chrono::year{2031} / 5 / 17}};

Listed listed(const std::string& id, std::chrono::milliseconds age, const std::string& made_from = "base") {
  Attributes attributes;
  attributes.template_id = made_from;
  Listed one;
  one.sandbox = std::make_shared<Sandbox>(Sandbox{.tenant = *auth::AuthorizedTenant::of_record("acme"),
                                                  .id = id,
                                                  .attributes = attributes,
                                                  .access_token = {},
                                                  .traffic_token = {},
                                                  .log = {},
                                                  .cpu = {}});
  one.info.created = start + age;
  return one;
}

ListQuery query_of(const std::string& text) {
  const auto query = read_list_query(*http::parse_query(text));
  EXPECT_TRUE(query) << text << ": " << query.error().message;
  return query.value_or(ListQuery());
}

std::string ids(const ListPage& page) {
  std::string all;
  for (const Listed& each : page.items) all += (all.empty() ? "" : " ") + each.sandbox->id;
  return all;
}

TEST(ListQuery, NothingSaid_IsEverything) {
  const ListQuery query = query_of("");
  EXPECT_TRUE(query.running && query.paused);
  EXPECT_FALSE(query.ascending);
  EXPECT_EQ(query.limit, 100U);
}

TEST(ListQuery, InvalidValue_NamesTheParameter) {
  for (const auto& [text, name] :
       std::vector<std::pair<std::string, std::string>>{{"limit=0", "limit"},
                                                        {"limit=101", "limit"},
                                                        {"limit=x", "limit"},
                                                        {"limit=-1", "limit"},
                                                        {"state=dead", "state"},
                                                        {"order=up", "order"},
                                                        {"startedAfter=now", "startedAfter"},
                                                        {"nextToken=zz", "nextToken"},
                                                        {"metadata=a%3D%2525zz", "metadata"}}) {
    const auto query = read_list_query(*http::parse_query(text));
    ASSERT_FALSE(query) << text;
    EXPECT_NE(query.error().message.find(name), std::string::npos) << query.error().message;
  }
}

TEST(MetadataQuery, ClientsEncodeTwice) {
  // {a: "b c"} as the JavaScript client sends it.
  const ListQuery query = query_of("metadata=a%3Db%252520c");
  EXPECT_EQ(query.metadata, (std::map<std::string, std::string>{{"a", "b c"}}));
  EXPECT_EQ(query_of("metadata=k%253D%2526%3Dv%26x%3D1%25252B1").metadata,
            (std::map<std::string, std::string>{{"k=&", "v"}, {"x", "1+1"}}));
  EXPECT_EQ(query_of("metadata=a%3D1").metadata.at("a"), "1");
  EXPECT_TRUE(query_of("metadata=").metadata.empty());
}

TEST(ListPage, States_AreFiltered) {
  Listed paused = listed("b", 2s);
  paused.info.state = session::SessionState::paused;
  const std::vector<Listed> all{listed("a", 1s), paused};
  EXPECT_EQ(ids(page_of(all, query_of("state=running"))), "a");
  EXPECT_EQ(ids(page_of(all, query_of("state=paused"))), "b");
  EXPECT_EQ(ids(page_of(all, query_of("state=running,paused"))), "b a");
  const auto old = read_old_list_query(http::Query());
  EXPECT_EQ(ids(page_of(all, *old)), "a");
}

TEST(ListPage, MetadataTemplateAndTime_AreFiltered) {
  Listed marked = listed("a", 1s);
  marked.info.metadata = {{"k", "v"}, {"x", "y"}};
  const std::vector<Listed> all{marked, listed("b", 2s, "other"), listed("c", 3s)};
  EXPECT_EQ(ids(page_of(all, query_of("metadata=k%3Dv"))), "a");
  EXPECT_EQ(ids(page_of(all, query_of("metadata=k%3Dv%26x%3Dz"))), "");
  EXPECT_EQ(ids(page_of(all, query_of("template=other"))), "b");
  EXPECT_EQ(ids(page_of(all, query_of("startedAfter=2031-05-17T00:00:02Z"))), "c b") << "inclusive";
}

TEST(ListPage, AllPages_HaveEachEntryOnce) {
  std::vector<Listed> all;
  // Some were created at the same time.
  for (int i = 0; i < 10; ++i) all.push_back(listed("i" + std::to_string(i), std::chrono::seconds(i / 3)));
  for (const char* order : {"asc", "desc"}) {
    std::set<std::string> seen;
    std::string next;
    int pages = 0;
    do {
      ListQuery query = query_of(std::string("limit=3&order=") + order + "&nextToken=" + next);
      const ListPage page = page_of(all, query);
      for (const Listed& each : page.items) EXPECT_TRUE(seen.insert(each.sandbox->id).second);
      next = page.next;
      ++pages;
    } while (!next.empty());
    EXPECT_EQ(seen.size(), 10U);
    EXPECT_EQ(pages, 4);
  }
}

TEST(ListPage, EntriesThatComeAndGo_DoNotMoveTheOthers) {
  std::vector<Listed> all{listed("a", 4s), listed("b", 3s), listed("c", 2s), listed("d", 1s)};
  const ListPage first = page_of(all, query_of("limit=2"));
  EXPECT_EQ(ids(first), "a b");
  // The one that the cursor is made of has gone, and there is a new one.
  all.erase(all.begin() + 1);
  all.insert(all.begin(), listed("e", 5s));
  EXPECT_EQ(ids(page_of(all, query_of("limit=2&nextToken=" + first.next))), "c d");
}

TEST(ListPage, LastPage_HasNoToken) {
  const std::vector<Listed> all{listed("a", 1s), listed("b", 2s)};
  EXPECT_EQ(page_of(all, query_of("limit=2")).next, "");
  EXPECT_NE(page_of(all, query_of("limit=1")).next, "");
}

TEST(Cursor, ForeignText_IsRefused) {
  const Cursor cursor{start, "iabc"};
  EXPECT_EQ(parse_cursor(to_text(cursor)), cursor);
  for (const char* text : {"", "abc", "!", "LmE", "MTIz"}) EXPECT_FALSE(parse_cursor(text)) << text;
  EXPECT_FALSE(parse_cursor(std::string(401, 'A')));
}

}  // namespace
}  // namespace cloche::dialect::e2b

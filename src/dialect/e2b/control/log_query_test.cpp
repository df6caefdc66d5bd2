#include "dialect/e2b/control/log_query.hpp"

#include <gtest/gtest.h>

namespace cloche::dialect::e2b {
namespace {

std::string messages(const SandboxLog& log, const std::string& query) {
  const auto wanted = read_log_query(*http::parse_query(query));
  EXPECT_TRUE(wanted) << query;
  std::string all;
  for (const LogEntry& entry : select(log, *wanted)) all += entry.message;
  return all;
}

TEST(LogQuery, Entries_AreSelected) {
  SandboxLog log;
  log.add("info", "a");
  log.add("debug", "b");
  log.add("error", "c");
  EXPECT_EQ(messages(log, ""), "abc");
  EXPECT_EQ(messages(log, "direction=backward"), "cba");
  EXPECT_EQ(messages(log, "limit=2"), "ab");
  EXPECT_EQ(messages(log, "limit=0"), "");
  EXPECT_EQ(messages(log, "level=warn"), "c");
  EXPECT_EQ(messages(log, "search=b"), "b");
  EXPECT_EQ(messages(log, "cursor=0"), "abc");
  EXPECT_EQ(messages(log, "cursor=99999999999999"), "");
  EXPECT_EQ(messages(log, "cursor=99999999999999&direction=backward"), "cba");
}

TEST(LogQuery, InvalidValue_IsRefused) {
  for (const char* text : {"limit=-1", "limit=x", "cursor=1e9", "direction=up", "level=fatal"}) {
    EXPECT_FALSE(read_log_query(*http::parse_query(text))) << text;
  }
  EXPECT_FALSE(read_old_log_query(*http::parse_query("start=x")));
}

}  // namespace
}  // namespace cloche::dialect::e2b

#include "dialect/e2b/sandbox_log.hpp"

#include <gtest/gtest.h>

namespace cloche::dialect::e2b {
namespace {

TEST(SandboxLog, ManyEntries_KeepTheLast) {
  SandboxLog log;
  for (std::size_t i = 0; i < SandboxLog::most_entries + 10; ++i) log.add("info", std::to_string(i));
  EXPECT_EQ(log.entries().size(), SandboxLog::most_entries);
  EXPECT_EQ(log.entries().front().message, "10");
}

TEST(SandboxLog, LongOrInvalidText_IsCutToUtf8) {
  SandboxLog log;
  log.add("info", std::string(SandboxLog::most_bytes - 1, 'a') + "\xc3\xa4", {{"k", "\xff"}});
  EXPECT_EQ(log.entries().back().message, std::string(SandboxLog::most_bytes - 1, 'a'));
  EXPECT_EQ(log.entries().back().fields.at("k"), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace cloche::dialect::e2b

#include "bench/system_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::bench {
namespace {

TEST(StraceTable, CallsWithAndWithoutErrors_AreCounted) {
  const SystemCalls calls = parse_strace_table(
      "% time     seconds  usecs/call     calls    errors syscall\n"
      "------ ----------- ----------- --------- --------- ----------------\n"
      " 52.17    0.001200          12       100           epoll_wait\n"
      " 47.83    0.001100           5       220        20 read\n"
      "------ ----------- ----------- --------- --------- ----------------\n"
      "100.00    0.002300           7       320        20 total\n");
  EXPECT_THAT(calls, ::testing::UnorderedElementsAre(::testing::Pair("epoll_wait", 100), ::testing::Pair("read", 220)));
}

TEST(StraceTable, Nothing_IsNoCalls) { EXPECT_TRUE(parse_strace_table("").empty()); }

}  // namespace
}  // namespace cloche::bench

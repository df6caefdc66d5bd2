#include "context/call_output.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

ContextCaps small_caps() {
  ContextCaps caps;
  caps.keep_output = Bytes{5};
  caps.stop_output = Bytes{8};
  return caps;
}

void print(CallOutput& output) {
  output.take({Stream::out, "abc"});
  output.take({Stream::err, "x"});
  output.take({Stream::out, "defg"});
  EXPECT_FALSE(output.over_limit());
  output.take({Stream::out, "hi"});
  EXPECT_TRUE(output.over_limit());
}

CallResult result_of(CallOutput& output) {
  CallResult result;
  output.move_into(result);
  EXPECT_EQ(result.out_totals.produced.count, 9u);
  EXPECT_EQ(result.out_totals.dropped.count, 4u);
  EXPECT_TRUE(result.truncated());
  return result;
}

TEST(CallOutput, BytesOverTheCap_AreCountedAndDropped) {
  CallOutput output(small_caps(), {});
  print(output);
  const CallResult result = result_of(output);
  EXPECT_EQ(result.out, "abcde");
  EXPECT_EQ(result.err, "x");
}

TEST(CallOutput, OutputForASink_IsNotKept) {
  std::string told;
  CallOutput output(small_caps(), [&](const Output& part) { told += part.bytes + "|"; });
  print(output);
  EXPECT_EQ(told, "abc|x|de|");
  const CallResult result = result_of(output);
  EXPECT_EQ(result.out + result.err, "");
}

}  // namespace
}  // namespace cloche

#include "context/call_output.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

ContextOutput piece(ContextOutput::Source source, std::string bytes) {
  ContextOutput output;
  output.source = source;
  output.bytes = std::move(bytes);
  return output;
}

TEST(CallOutput, BytesOverTheCap_AreCountedAndNobodyIsTold) {
  std::string told;
  ContextCaps caps;
  caps.keep_output = Bytes{5};
  caps.stop_output = Bytes{8};
  CallOutput output(caps, [&](const ContextOutput& part) { told += part.bytes + "|"; });
  output.take(piece(ContextOutput::Source::out, "abc"));
  output.take(piece(ContextOutput::Source::err, "x"));
  output.take(piece(ContextOutput::Source::out, "defg"));
  EXPECT_FALSE(output.over_limit());
  output.take(piece(ContextOutput::Source::out, "hi"));
  EXPECT_TRUE(output.over_limit());
  EXPECT_EQ(told, "abc|x|de|");
  CallResult result;
  output.move_into(result);
  EXPECT_EQ(result.out, "abcde");
  EXPECT_EQ(result.err, "x");
  EXPECT_EQ(result.out_totals.produced.count, 9u);
  EXPECT_EQ(result.out_totals.dropped.count, 4u);
  EXPECT_TRUE(result.truncated());
}

}  // namespace
}  // namespace cloche

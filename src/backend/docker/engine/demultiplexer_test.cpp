#include "backend/docker/engine/demultiplexer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cloche::docker {
namespace {

std::string frame(char kind, std::string_view payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::string bytes{kind, 0, 0, 0};
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xff);
  return bytes.append(payload);
}

struct Heard {
  std::string out;
  std::string err;
};

Result<Heard> hear(Demultiplexer& demultiplexer, const std::vector<std::string_view>& parts) {
  Heard heard;
  for (std::string_view part : parts) {
    for (;;) {
      CLOCHE_TRY(const auto piece, demultiplexer.next(part));
      if (!piece) break;
      EXPECT_FALSE(piece->bytes.empty());
      (piece->stream == Stream::out ? heard.out : heard.err) += piece->bytes;
    }
    EXPECT_TRUE(part.empty());
  }
  return heard;
}

const std::string sample =
    frame(1, "first") + frame(2, "complaint") + frame(1, "") + frame(1, std::string("\0\1\2\xff", 4)) + frame(2, "x");

TEST(Demultiplexer, EverySplitInTwo_YieldsSameStreams) {
  for (std::size_t at = 0; at <= sample.size(); ++at) {
    Demultiplexer demultiplexer;
    const std::string_view all = sample;
    const auto heard = hear(demultiplexer, {all.substr(0, at), all.substr(at)});
    ASSERT_TRUE(heard) << at;
    EXPECT_EQ(heard->out, std::string("first\0\1\2\xff", 9)) << at;
    EXPECT_EQ(heard->err, "complaintx") << at;
    EXPECT_TRUE(demultiplexer.is_between_pieces());
  }
}

TEST(Demultiplexer, EverySplitInThree_YieldsSameStreams) {
  const std::string_view all = sample;
  for (std::size_t first = 0; first <= all.size(); ++first) {
    for (std::size_t second = first; second <= all.size(); ++second) {
      Demultiplexer demultiplexer;
      const auto heard =
          hear(demultiplexer, {all.substr(0, first), all.substr(first, second - first), all.substr(second)});
      ASSERT_TRUE(heard);
      ASSERT_EQ(heard->out.size(), 9u);
      ASSERT_EQ(heard->err, "complaintx");
    }
  }
}

TEST(Demultiplexer, ByteByByte_YieldsSameStreams) {
  Demultiplexer demultiplexer;
  std::vector<std::string_view> parts;
  parts.reserve(sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i) parts.push_back(std::string_view(sample).substr(i, 1));
  const auto heard = hear(demultiplexer, parts);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->err, "complaintx");
}

TEST(Demultiplexer, CutAnywhereInsideAPiece_IsNoticed) {
  const std::string one = frame(1, "abc");
  for (std::size_t at = 1; at < one.size(); ++at) {
    Demultiplexer demultiplexer;
    ASSERT_TRUE(hear(demultiplexer, {std::string_view(one).substr(0, at)}));
    EXPECT_FALSE(demultiplexer.is_between_pieces()) << at;
  }
}

TEST(Demultiplexer, UnknownKindOrFilledPadding_IsRefusedForGood) {
  for (const char kind : {0, 3, 4, 72, -1}) {
    Demultiplexer demultiplexer;
    const auto heard = hear(demultiplexer, {frame(kind, "abc")});
    ASSERT_FALSE(heard);
    EXPECT_EQ(heard.error().code, ErrorCode::protocol);
    EXPECT_FALSE(hear(demultiplexer, {frame(1, "abc")}));
  }
  for (std::size_t at = 1; at < 4; ++at) {
    Demultiplexer demultiplexer;
    std::string bytes = frame(1, "abc");
    bytes[at] = 1;
    EXPECT_FALSE(hear(demultiplexer, {bytes}));
  }
}

TEST(Demultiplexer, LargestLength_NeedsNoRoomAhead) {
  Demultiplexer demultiplexer;
  const std::string header = std::string("\1\0\0\0\xff\xff\xff\xff", 8);
  const auto heard = hear(demultiplexer, {header, "some of four gigabytes"});
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->out, "some of four gigabytes");
}

}  // namespace
}  // namespace cloche::docker

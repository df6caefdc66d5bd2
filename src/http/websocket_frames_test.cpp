#include "http/websocket_frames.hpp"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

using namespace std::string_literals;

// Feeds byte by byte, so that every place of a cut is tried.
Result<std::vector<ServerFrame>> read_all(std::string_view bytes, Bytes largest = kib(256)) {
  ServerFrames frames(largest);
  std::vector<ServerFrame> all;
  for (const char byte : bytes) {
    frames.feed(std::string_view(&byte, 1));
    for (;;) {
      CLOCHE_TRY(auto frame, frames.next());
      if (!frame) break;
      all.push_back(std::move(*frame));
    }
  }
  return all;
}

std::string server_frame(unsigned char first, std::string_view payload) {
  std::string frame(1, static_cast<char>(first));
  if (payload.size() <= 125) {
    frame += static_cast<char>(payload.size());
  } else {
    frame += "\x7e"s + static_cast<char>(payload.size() >> 8) + static_cast<char>(payload.size());
  }
  return frame + std::string(payload);
}

TEST(WebSocketFrames, ExampleOfTheStandard_IsMaskedAsThere) {
  const FrameMask mask{'\x37', '\xfa', '\x21', '\x3d'};
  EXPECT_EQ(client_frame(FrameKind::text, "Hello", mask), "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s);
}

TEST(WebSocketFrames, LengthsOfAllSizes_AreWrittenInTheirShortestForm) {
  const FrameMask none{};
  EXPECT_EQ(client_frame(FrameKind::binary, std::string(125, 'x'), none).substr(0, 2), "\x82\xfd"s);
  EXPECT_EQ(client_frame(FrameKind::binary, std::string(126, 'x'), none).substr(0, 4), "\x82\xfe\x00\x7e"s);
  EXPECT_EQ(client_frame(FrameKind::binary, std::string(65536, 'x'), none).substr(0, 10),
            "\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00"s);
}

TEST(WebSocketFrames, MessageInPieces_IsOneMessage_AndControlFramesComeBetween) {
  const auto frames = read_all(server_frame(0x02, "ab") + server_frame(0x89, "p") + server_frame(0x00, "cd") +
                               server_frame(0x80, "") + server_frame(0x82, std::string(300, 'z')));
  ASSERT_TRUE(frames) << frames.error().message;
  ASSERT_EQ(frames->size(), 3U);
  EXPECT_EQ(frames->at(0).kind, FrameKind::ping);
  EXPECT_EQ(frames->at(0).payload, "p");
  EXPECT_EQ(frames->at(1).kind, FrameKind::binary);
  EXPECT_EQ(frames->at(1).payload, "abcd");
  EXPECT_EQ(frames->at(2).payload, std::string(300, 'z'));
}

TEST(WebSocketFrames, HostileFrames_AreAViolation) {
  const std::string bad[] = {
      server_frame(0xc2, "a"),                            // a reserved bit
      server_frame(0x83, "a"),                            // unknown kinds
      server_frame(0x8b, "a"),                            //
      "\x82\x81mmmma"s,                                   // masked
      server_frame(0x80, "a"),                            // a piece of nothing
      server_frame(0x02, "a") + server_frame(0x82, "b"),  // a message in a message
      server_frame(0x09, "a"),                            // a control frame in pieces
      server_frame(0x89, std::string(126, 'a')),          // a long one
      server_frame(0x88, "x"),                            // half a code
      "\x82\x7e\x00\x05hello"s,                           // a length in a longer form
      "\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x05hello"s,
  };
  for (const std::string& bytes : bad) {
    const auto frames = read_all(bytes);
    ASSERT_FALSE(frames) << ::testing::PrintToString(bytes);
    EXPECT_EQ(frames.error().code, ErrorCode::protocol);
  }
}

TEST(WebSocketFrames, MessageThatIsTooLarge_IsRejectedByItsHead) {
  const auto whole = read_all("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff"s);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, ErrorCode::limit_reached);
  const auto pieces =
      read_all(server_frame(0x02, std::string(80, 'a')) + server_frame(0x80, std::string(80, 'a')), Bytes{100});
  ASSERT_FALSE(pieces);
  EXPECT_EQ(pieces.error().code, ErrorCode::limit_reached);
}

TEST(WebSocketFrames, CloseCode_IsRead) {
  EXPECT_EQ(close_code_of("\x03\xe8 bye"s), 1000);
  EXPECT_EQ(close_code_of(""), 1005);
}

}  // namespace
}  // namespace cloche::http

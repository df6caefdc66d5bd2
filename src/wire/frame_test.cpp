#include "wire/frame.hpp"

#include <gtest/gtest.h>

#include <random>

namespace cloche::wire {
namespace {

std::string sample(std::size_t size = 5) {
  std::string bytes;
  const std::string payload(size, 'x');
  append_frame(bytes, {.type = FrameType::data, .lane = lane::err, .stream = 0x01020304, .payload = payload});
  return bytes;
}

TEST(FrameDecoder, WholeFrame_ComesBackAsItWas) {
  FrameDecoder decoder;
  decoder.feed(sample());
  const auto frame = decoder.next().value().value();
  EXPECT_EQ(frame.type, FrameType::data);
  EXPECT_EQ(frame.lane, lane::err);
  EXPECT_EQ(frame.stream, 0x01020304u);
  EXPECT_EQ(frame.payload, "xxxxx");
  EXPECT_FALSE(decoder.next().value());
}

TEST(FrameDecoder, EverySplitOfTwoFrames_YieldsBoth) {
  const std::string bytes = sample() + sample(0);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    FrameDecoder decoder;
    int frames = 0;
    for (const auto part : {std::string_view(bytes).substr(0, cut), std::string_view(bytes).substr(cut)}) {
      decoder.feed(part);
      while (decoder.next().value()) ++frames;
    }
    EXPECT_EQ(frames, 2) << cut;
  }
}

TEST(FrameDecoder, ByteByByte_YieldsTheFrame) {
  FrameDecoder decoder;
  int frames = 0;
  for (char c : sample(max_payload)) {
    decoder.feed({&c, 1});
    while (decoder.next().value()) ++frames;
  }
  EXPECT_EQ(frames, 1);
  EXPECT_EQ(decoder.buffered(), 0u);
}

TEST(FrameDecoder, BytesReadIntoItsRoom_AreThoseOfAFeed) {
  const std::string bytes = sample(max_payload) + sample(3);
  FrameDecoder decoder;
  int frames = 0;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::span<char> room = decoder.room(1000);
    ASSERT_EQ(room.size(), 1000u);
    const std::size_t count = rest.copy(room.data(), room.size());
    decoder.fed(count);
    rest.remove_prefix(count);
    while (decoder.next().value()) ++frames;
  }
  EXPECT_EQ(frames, 2);
  EXPECT_EQ(decoder.buffered(), 0u);
}

TEST(FrameDecoder, RoomThatIsNotUsed_ChangesNothing) {
  const std::string bytes = sample();
  FrameDecoder decoder;
  decoder.feed(std::string_view(bytes).substr(0, 7));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(decoder.room(1 << 20).size(), std::size_t{1} << 20);
  decoder.fed(0);
  EXPECT_EQ(decoder.buffered(), 7u);
  decoder.feed(std::string_view(bytes).substr(7));
  EXPECT_EQ(decoder.next().value()->payload, "xxxxx");
}

TEST(EnclosedPayload, IsTheFrameThatIsAppended) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{5}, max_payload}) {
    const std::string expected = sample(size);
    std::string bytes(expected.size() + 1, 'x');
    EXPECT_EQ(enclose_payload(bytes.data(), FrameType::data, lane::err, 0x01020304, size), expected.size());
    EXPECT_EQ(bytes, expected + "x");
  }
}

TEST(FrameDecoder, Padding_IsSkipped) {
  FrameDecoder decoder;
  decoder.feed(resync_padding() + sample());
  EXPECT_TRUE(decoder.next().value());
}

TEST(FrameDecoder, LengthOverTheLimit_IsAnErrorBeforeThePayloadIsThere) {
  std::string bytes = sample();
  bytes[10] = '\x7f';
  FrameDecoder decoder;
  decoder.feed(std::string_view(bytes).substr(0, header_size));
  EXPECT_EQ(decoder.next().error().code, ErrorCode::protocol);
}

TEST(FrameDecoder, WrongMagicTypeLaneOrFlags_IsAnError) {
  for (const auto& [at, value] : {std::pair{3, '\0'}, {0, '\x7f'}, {1, '\x09'}, {2, '\x80'}}) {
    std::string bytes = sample();
    bytes[static_cast<std::size_t>(at)] = value;
    FrameDecoder decoder;
    decoder.feed(bytes);
    EXPECT_FALSE(decoder.next()) << at;
  }
}

TEST(FrameDecoder, FrameCutOffAnywhereThenResync_DropsItAndGoesOn) {
  const std::string cut_off = sample(300);
  for (std::size_t cut = 0; cut < cut_off.size(); ++cut) {
    FrameDecoder decoder(FrameDecoder::OnBrokenSeal::drop);
    decoder.feed(cut_off.substr(0, cut) + resync_padding() + sample(7));
    const auto frame = decoder.next();
    ASSERT_TRUE(frame && *frame) << cut;
    EXPECT_EQ((*frame)->payload.size(), 7u);
  }
}

TEST(FrameDecoder, RandomBytes_NeverGrowWithoutBound) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    FrameDecoder decoder;
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? 0xc1 : random());
    decoder.feed(bytes);
    for (int i = 0; i < 50; ++i) {
      auto frame = decoder.next();
      if (!frame || !*frame) break;
    }
    EXPECT_LE(decoder.buffered(), bytes.size());
  }
}

TEST(MessageAssembler, LongMessage_IsJoined) {
  const std::string message(3 * max_payload + 17, 'm');
  std::string bytes;
  append_message(bytes, FrameType::message, 9, message);
  FrameDecoder decoder;
  decoder.feed(bytes);
  MessageAssembler assembler;
  std::optional<std::string> whole;
  while (auto frame = decoder.next().value()) {
    if (const auto joined = assembler.add(*frame).value()) whole = std::string(*joined);
  }
  EXPECT_EQ(whole, message);
}

TEST(MessageAssembler, EndlessMessage_IsAnError) {
  const std::string part(max_payload, 'm');
  MessageAssembler assembler;
  bool refused = false;
  for (std::size_t i = 0; i <= max_message / max_payload + 1 && !refused; ++i) {
    refused = !assembler.add({.type = FrameType::message, .more = true, .stream = 1, .payload = part});
  }
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace cloche::wire

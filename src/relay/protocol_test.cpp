#include "relay/protocol.hpp"

#include <gtest/gtest.h>

namespace cloche::relay {
namespace {

Handshake sample_handshake() {
  Handshake handshake{.kind = HandshakeKind::resume, .attempt = 0x0102030405060708, .consumed = 0xf1f2f3f4f5f6f7f8};
  for (std::size_t i = 0; i < handshake.conversation.size(); ++i)
    handshake.conversation[i] = static_cast<char>(0xf0 + i);
  return handshake;
}

Result<Handshake> decoded(const std::string& bytes) {
  return decode_handshake(std::span<const char, handshake_size>(bytes.data(), handshake_size));
}

TEST(Handshake, Encoded_IsDecodedAsItWas) {
  const std::string bytes = encode(sample_handshake());
  ASSERT_EQ(bytes.size(), handshake_size);
  EXPECT_EQ(decoded(bytes).value(), sample_handshake());
}

TEST(Handshake, Refusal_HasAReasonAndNothingElseHas) {
  Handshake refused = sample_handshake();
  refused.kind = HandshakeKind::refused;
  EXPECT_FALSE(decoded(encode(refused)));
  refused.reason = Reason::unknown;
  EXPECT_EQ(decoded(encode(refused)).value(), refused);
  refused.kind = HandshakeKind::accepted;
  EXPECT_FALSE(decoded(encode(refused)));
}

TEST(Handshake, AnyOtherMagicVersionKindReasonOrPadding_IsAnError) {
  for (std::size_t at = 0; at < 16; ++at) {
    std::string bytes = encode(sample_handshake());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    const auto handshake = decoded(bytes);
    ASSERT_FALSE(handshake) << at;
    EXPECT_EQ(handshake.error().code, ErrorCode::protocol) << at;
  }
}

std::string sample_frames() {
  std::string bytes;
  append_data(bytes, "hello");
  append_ack(bytes, 0x1122334455667788);
  append_data(bytes, std::string(max_payload, 'x'));
  append_end(bytes, Reason::agent_ended, 137 << 8);
  return bytes;
}

// Every frame, written again.
Result<std::string> heard(std::string_view bytes, std::size_t piece) {
  Decoder decoder;
  std::string again;
  while (!bytes.empty()) {
    const std::size_t taken = decoder.feed(bytes.substr(0, piece));
    EXPECT_GT(taken, 0u);
    bytes.remove_prefix(taken);
    for (;;) {
      CLOCHE_TRY(const auto frame, decoder.next());
      if (!frame) break;
      if (frame->type == FrameType::data) append_data(again, frame->payload);
      if (frame->type == FrameType::ack) append_ack(again, frame->consumed);
      if (frame->type == FrameType::end) append_end(again, frame->reason, frame->agent_status);
    }
  }
  return again;
}

TEST(RelayDecoder, FramesSplitAnywhere_ComeBackAsTheyWere) {
  const std::string bytes = sample_frames();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
    const auto again = heard(bytes, piece);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(*again == bytes) << piece;
  }
}

TEST(RelayDecoder, UnknownType_IsAnErrorAtItsFirstByte) {
  for (const char type : {'\0', '\x04', '\xff'}) EXPECT_FALSE(heard(std::string(1, type), 1));
}

TEST(RelayDecoder, LengthOutOfBounds_IsAnErrorBeforeThePayload) {
  const auto header = [](char type, std::uint32_t length) {
    std::string bytes(1, type);
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(length >> (8 * i));
    return bytes;
  };
  EXPECT_FALSE(heard(header(1, 0), 1));
  EXPECT_FALSE(heard(header(1, max_payload + 1), 1));
  EXPECT_FALSE(heard(header(1, UINT32_MAX), 1));
  EXPECT_FALSE(heard(header(2, 7), 1));
  EXPECT_FALSE(heard(header(2, 9), 1));
  EXPECT_FALSE(heard(header(3, 4), 1));
  EXPECT_TRUE(heard(header(1, max_payload), 1));
}

TEST(RelayDecoder, AnythingAfterTheEnd_IsAnError) {
  std::string bytes;
  append_end(bytes, Reason::replaced);
  EXPECT_TRUE(heard(bytes, 100));
  append_ack(bytes, 0);
  EXPECT_FALSE(heard(bytes, 100));
}

TEST(RelayDecoder, EndWithoutAReason_IsAnError) {
  std::string bytes;
  append_end(bytes, Reason::none);
  EXPECT_FALSE(heard(bytes, 100));
}

}  // namespace
}  // namespace cloche::relay

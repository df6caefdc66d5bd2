// Envelopes of streams.
#include "connect/envelope.hpp"

#include <gtest/gtest.h>

namespace cloche::connect {
namespace {

using namespace std::string_literals;

TEST(Envelope, Message_HasFlagsAndLengthInFront) {
  EXPECT_EQ(in_envelope(0, "{}"), "\x00\x00\x00\x00\x02{}"s);
  EXPECT_EQ(in_envelope(envelope_flags::end_of_stream, "{}"), "\x02\x00\x00\x00\x02{}"s);
  EXPECT_EQ(in_envelope(0, std::string(0x012345, 'x')).substr(0, 5), "\x00\x00\x01\x23\x45"s);
}

TEST(EnvelopeReader, MessagesInOnePiece_ComeOneByOne) {
  EnvelopeReader reader(Sender::client, 100);
  reader.feed(in_envelope(0, "one") + in_envelope(0, "") + in_envelope(0, "three"));
  EXPECT_EQ((*reader.next())->message, "one");
  EXPECT_EQ((*reader.next())->message, "");
  EXPECT_FALSE(reader.is_between_messages());
  EXPECT_EQ((*reader.next())->message, "three");
  EXPECT_TRUE(reader.is_between_messages());
  EXPECT_FALSE(*reader.next());
}

TEST(EnvelopeReader, MessageInSingleBytes_IsWhole) {
  EnvelopeReader reader(Sender::client, 100);
  const std::string bytes = in_envelope(0, "message");
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    reader.feed(bytes.substr(i, 1));
    ASSERT_FALSE(*reader.next()) << i;
    ASSERT_FALSE(reader.is_between_messages());
  }
  reader.feed(bytes.substr(bytes.size() - 1));
  EXPECT_EQ((*reader.next())->message, "message");
}

TEST(EnvelopeReader, TooLongMessage_IsRefusedByItsHead) {
  EnvelopeReader reader(Sender::client, 16);
  reader.feed("\x00\x00\x00\x00\x11"s);
  const auto next = reader.next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::limit_reached);
  EnvelopeReader largest(Sender::client, 16);
  largest.feed("\x00\xff\xff\xff\xff"s);
  EXPECT_FALSE(largest.next());
}

TEST(EnvelopeReader, CompressedOrUnknownFlags_AreRefused) {
  EnvelopeReader compressed(Sender::client, 16);
  compressed.feed("\x01\x00\x00\x00\x01x"s);
  EXPECT_EQ(compressed.next().error().code, ErrorCode::unsupported);
  for (const char flags : {'\x02', '\x04', '\x80'}) {
    EnvelopeReader reader(Sender::client, 16);
    reader.feed(std::string(1, flags) + "\x00\x00\x00\x00"s);
    EXPECT_EQ(reader.next().error().code, ErrorCode::protocol);
  }
}

TEST(EnvelopeReader, LastMessageOfAServer_EndsTheStream) {
  EnvelopeReader reader(Sender::server, 16);
  reader.feed(in_envelope(0, "one") + in_envelope(envelope_flags::end_of_stream, "{}"));
  EXPECT_FALSE((*reader.next())->is_last);
  const auto last = *reader.next();
  EXPECT_TRUE(last->is_last);
  EXPECT_EQ(last->message, "{}");
  EXPECT_FALSE(*reader.next());
  reader.feed("x");
  EXPECT_EQ(reader.next().error().code, ErrorCode::protocol);
}

TEST(EnvelopeReader, UnknownFlagsOfAServer_AreRefused) {
  for (const char flags : {'\x04', '\x06', '\x80'}) {
    EnvelopeReader reader(Sender::server, 16);
    reader.feed(std::string(1, flags) + "\x00\x00\x00\x00"s);
    EXPECT_EQ(reader.next().error().code, ErrorCode::protocol);
  }
  EnvelopeReader compressed(Sender::server, 16);
  compressed.feed("\x03\x00\x00\x00\x00"s);
  EXPECT_EQ(compressed.next().error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace cloche::connect

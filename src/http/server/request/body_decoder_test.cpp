#include "http/server/request/body_decoder.hpp"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

struct Outcome {
  std::string body;
  std::string rest;
  bool done = false;
};

OrRequestError<Outcome> decode(Framing framing, std::string_view bytes, std::size_t piece, std::size_t most = 1 << 20) {
  BodyDecoder decoder(framing);
  Outcome outcome;
  std::string buffer;
  while (!bytes.empty()) {
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (std::size_t used = 1; used > 0;) {
      std::string body;
      auto fed = decoder.feed(buffer, body, most);
      if (!fed) return std::unexpected(fed.error());
      EXPECT_LE(body.size(), most);
      outcome.body += body;
      used = *fed;
      buffer.erase(0, used);
    }
  }
  outcome.rest = buffer;
  outcome.done = decoder.done();
  return outcome;
}

Framing chunked() {
  Framing framing;
  framing.chunked = true;
  return framing;
}

TEST(BodyDecoder, EveryPieceSize_YieldsTheSameBodyAndLeavesTheRest) {
  const std::string_view bytes = "5\r\nhello\r\n6;ext=\"1\"\r\n world\r\n0\r\nTrailer: x\r\n\r\nGET /";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    for (const std::size_t most : {1, 3, 1000}) {
      const auto outcome = decode(chunked(), bytes, piece, most);
      ASSERT_TRUE(outcome) << piece << ": " << outcome.error().why;
      EXPECT_EQ(outcome->body, "hello world");
      EXPECT_EQ(outcome->rest, "GET /");
      EXPECT_TRUE(outcome->done);
    }
  }
}

TEST(BodyDecoder, EveryPieceSize_YieldsTheSameEmptyBody) {
  const std::string_view bytes = "0\r\n\r\nnext";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const auto outcome = decode(chunked(), bytes, piece);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->done);
    EXPECT_EQ(outcome->rest, "next");
  }
}

TEST(BodyDecoder, KnownLength_EndsThere) {
  Framing framing;
  framing.length = 4;
  for (const std::size_t piece : {1, 3, 100}) {
    const auto outcome = decode(framing, "bodynext", piece);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->body, "body");
    EXPECT_EQ(outcome->rest, "next");
    EXPECT_TRUE(outcome->done);
  }
  EXPECT_FALSE(decode(framing, "bod", 1)->done);
}

TEST(BodyDecoder, BrokenChunks_AreRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view bytes : {"x\r\n"sv,
                                       "\r\n"sv,
                                       " 5\r\n"sv,
                                       "5 \r\n"sv,
                                       "0x5\r\n"sv,
                                       "+5\r\n"sv,
                                       "-1\r\n"sv,
                                       "5\n"sv,
                                       "5\rhello"sv,
                                       "5\r\nhello5\r\n"sv,
                                       "5\r\nhello\n"sv,
                                       "5\r\nhello\r5"sv,
                                       "ffffffffffffffff\r\n"sv,
                                       "10000000000000000\r\n"sv,
                                       "00000000000000001\r\n"sv,
                                       "5;a\0b\r\n"sv,
                                       "5;a\nb\r\n"sv,
                                       "0\r\nno colon\r\n\r\n"sv,
                                       "0\r\nX : 1\r\n\r\n"sv,
                                       "0\r\n X: 1\r\n\r\n"sv,
                                       "0\r\n\rx"sv,
                                       "0\r\nX: \0\r\n\r\n"sv}) {
    const auto whole = decode(chunked(), bytes, bytes.size());
    ASSERT_FALSE(whole) << bytes;
    EXPECT_EQ(whole.error().status, 400u);
    EXPECT_FALSE(decode(chunked(), bytes, 1)) << bytes;
  }
}

TEST(BodyDecoder, ExtensionsAndTrailersWithoutEnd_AreRefused) {
  EXPECT_FALSE(decode(chunked(), "5;" + std::string(1000, 'x'), 100));
  std::string trailers = "0\r\n";
  for (int i = 0; i < 2000; ++i) trailers += "X: 12345\r\n";
  EXPECT_FALSE(decode(chunked(), trailers, 100));
}

TEST(BodyDecoder, ManyTinyChunks_AreRefused_AndSomeAreNot) {
  const auto chunks = [](int count, const std::string& chunk) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += chunk;
    return bytes + "0\r\n\r\n";
  };
  EXPECT_TRUE(decode(chunked(), chunks(40'000, "1\r\nx\r\n"), 4096));
  EXPECT_FALSE(decode(chunked(), chunks(80'000, "1\r\nx\r\n"), 4096));
  EXPECT_TRUE(decode(chunked(), chunks(80'000, "8\r\n12345678\r\n"), 4096));
}

}  // namespace
}  // namespace cloche::http

#include "http/response_reader.hpp"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

struct Outcome {
  Response head;
  std::string body;
  std::string rest;
  bool done = false;
  bool keeps_alive = false;
};

// Feeds the bytes in pieces of one size, as a connection does: what is not used is offered again.
Result<Outcome> read(std::string_view bytes, std::size_t piece, ReaderLimits limits = {},
                     BodyRule rule = BodyRule::as_announced) {
  ResponseReader reader(limits, rule);
  Outcome outcome;
  std::string buffer;
  while (!bytes.empty()) {
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (std::size_t used = 1; used > 0 && !reader.done();) {
      CLOCHE_TRY(used, reader.feed(buffer));
      buffer.erase(0, used);
    }
    outcome.body += reader.take_body();
  }
  outcome.head = reader.head();
  outcome.rest = buffer;
  outcome.done = reader.done();
  outcome.keeps_alive = reader.keeps_alive();
  return outcome;
}

constexpr std::string_view chunked =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nTrailer: x\r\n\r\n";
constexpr std::string_view plain = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone";

TEST(ResponseReader, EveryPieceSize_YieldsSameChunkedResponse) {
  for (std::size_t piece = 1; piece <= chunked.size(); ++piece) {
    const auto outcome = read(chunked, piece);
    ASSERT_TRUE(outcome) << piece << ": " << outcome.error().message;
    EXPECT_EQ(outcome->head.status, 200u);
    EXPECT_EQ(outcome->head.field("content-TYPE"), "text/plain");
    EXPECT_EQ(outcome->body, "hello world");
    EXPECT_TRUE(outcome->done);
    EXPECT_TRUE(outcome->keeps_alive);
  }
}

TEST(ResponseReader, EveryPieceSize_YieldsSameEmptyChunkedResponse) {
  const std::string_view bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: u\r\n\r\n";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const auto outcome = read(bytes, piece);
    ASSERT_TRUE(outcome) << piece;
    EXPECT_TRUE(outcome->done);
    EXPECT_EQ(outcome->body, "");
  }
}

TEST(ResponseReader, EveryPieceSize_YieldsSamePlainResponseAndLeavesTheRest) {
  const std::string bytes = std::string(plain) + "next";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const auto outcome = read(bytes, piece);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->head.status, 404u);
    EXPECT_EQ(outcome->body, "gone");
    EXPECT_EQ(outcome->rest, "next");
  }
}

TEST(ResponseReader, HeadTooLong_IsRefused) {
  ReaderLimits limits;
  limits.head = {128};
  const std::string bytes = "HTTP/1.1 200 OK\r\nX: " + std::string(500, 'x') + "\r\n\r\n";
  for (std::size_t piece : {std::size_t{1}, std::size_t{64}, bytes.size()}) {
    const auto outcome = read(bytes, piece, limits);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::limit_reached);
  }
}

TEST(ResponseReader, AnnouncedBodyTooLong_IsRefusedAtTheHead) {
  ReaderLimits limits;
  limits.body = {3};
  const auto outcome = read(plain.substr(0, plain.size() - 4), plain.size(), limits);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::limit_reached);
}

TEST(ResponseReader, ChunkedBodyTooLong_IsRefusedWhileItStreams) {
  ReaderLimits limits;
  limits.body = {10};
  for (std::size_t piece = 1; piece <= chunked.size(); ++piece) {
    const auto outcome = read(chunked, piece, limits);
    ASSERT_FALSE(outcome) << piece;
    EXPECT_EQ(outcome.error().code, ErrorCode::limit_reached);
  }
}

TEST(ResponseReader, Garbage_IsAProtocolError) {
  const std::string_view samples[] = {"SSH-2.0-OpenSSH_9.2\r\n\r\n",
                                      "HTTP/1.1 abc\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"};
  for (const auto sample : samples) {
    const auto outcome = read(sample, sample.size());
    ASSERT_FALSE(outcome) << sample;
    EXPECT_EQ(outcome.error().code, ErrorCode::protocol) << sample;
  }
}

TEST(ResponseReader, EndOfStreamInTheMiddle_IsAnError) {
  ResponseReader reader({}, BodyRule::as_announced);
  EXPECT_FALSE(reader.end_of_stream());
  const std::string_view half = plain.substr(0, plain.size() - 2);
  const auto head = reader.feed(half);
  ASSERT_TRUE(head);
  ASSERT_TRUE(reader.feed(half.substr(*head)));
  EXPECT_FALSE(reader.end_of_stream());
}

TEST(ResponseReader, BodyWithoutLength_EndsWithTheStreamAndKeepsNothingAlive) {
  ResponseReader reader({}, BodyRule::as_announced);
  const std::string_view bytes = "HTTP/1.1 200 OK\r\n\r\nall of it";
  const auto head = reader.feed(bytes);
  ASSERT_TRUE(head);
  ASSERT_TRUE(reader.feed(bytes.substr(*head)));
  EXPECT_FALSE(reader.done());
  EXPECT_TRUE(reader.end_of_stream());
  EXPECT_TRUE(reader.done());
  EXPECT_FALSE(reader.keeps_alive());
  EXPECT_EQ(reader.take_body(), "all of it");
}

TEST(ResponseReader, AnswerToHead_HasNoBody) {
  const auto outcome = read("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", 7, {}, BodyRule::none);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->done);
}

}  // namespace
}  // namespace cloche::http

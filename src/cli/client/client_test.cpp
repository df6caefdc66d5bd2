// Where the service is, what its errors say, its events, and the frames of its terminals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/client/answer_error.hpp"
#include "cli/client/event_parser.hpp"
#include "cli/client/server_place.hpp"
#include "cli/client/service.hpp"
#include "cli/client/websocket.hpp"
#include "cli/client/websocket_frames.hpp"

namespace cloche::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string described(std::string_view text) {
  const auto endpoint = parse_server_place(text, "");
  return endpoint ? http::describe(*endpoint) : "refused";
}

TEST(ServerPlace, UrlsAndSockets_AreUnderstood) {
  EXPECT_EQ(described("http://127.0.0.1:8080"), "tcp://127.0.0.1:8080");
  EXPECT_EQ(described("http://host/"), "tcp://host:80");
  EXPECT_EQ(described("http://[::1]:9000"), "tcp://[::1]:9000");
  EXPECT_EQ(described("https://cloche.example"), "tls://cloche.example:443");
  EXPECT_EQ(described("unix:/run/cloche.sock"), "unix:///run/cloche.sock");
  EXPECT_EQ(described("unix:///run/cloche.sock"), "unix:///run/cloche.sock");
  EXPECT_EQ(described("unix:socket"), "unix://socket");
}

TEST(ServerPlace, AnythingElse_IsRefused) {
  for (const char* text : {"", "host", "host:80", "ftp://host", "http://", "http://:80", "http://host:0",
                           "http://host:99999", "http://host:x", "http://host/path", "http://host?q", "http://a b",
                           "http://[::1", "unix:", "http://[::1]x", "unix://host/path"}) {
    EXPECT_EQ(described(text), "refused") << text;
  }
  const auto refused = parse_server_place("http://user:password@host", "");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, Not(HasSubstr("password")));
}

TEST(ServerPlace, Https_IsVouchedForByTheFileThatIsNamed) {
  const auto own = parse_server_place("https://host", "/own.pem");
  ASSERT_TRUE(own);
  EXPECT_EQ(std::get<http::TlsEndpoint>(*own).files.authority, "/own.pem");
  const auto usual = parse_server_place("https://host", "");
  ASSERT_TRUE(usual);
  EXPECT_EQ(std::get<http::TlsEndpoint>(*usual).files.authority, "/etc/ssl/certs/ca-certificates.crt");
}

http::Response answer(unsigned status, std::string body) {
  http::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

TEST(AnswerError, WhatToDo_IsSaid) {
  const std::string body = R"({"error":{"code":"unauthenticated","message":"missing token","request_id":"r1"}})";
  const Error without = error_of_answer(answer(401, body), Shown::no_token);
  EXPECT_EQ(without.code, ErrorCode::permission_denied);
  EXPECT_THAT(without.message, testing::StartsWith("missing token; create a token with `cloche token create"));
  EXPECT_THAT(error_of_answer(answer(401, body), Shown::token).message, HasSubstr("may have been revoked"));
  EXPECT_THAT(error_of_answer(answer(403, body), Shown::token).message, Not(HasSubstr("role admin")));
  const std::string of_other = R"({"error":{"code":"permission_denied","message":"another tenant's"}})";
  EXPECT_THAT(error_of_answer(answer(403, of_other), Shown::token).message, HasSubstr("role admin"));
  EXPECT_THAT(error_of_answer(answer(500, body), Shown::token).message, HasSubstr("(request r1)"));
}

TEST(AnswerError, LeaseFormAndStrangers_AreReadToo) {
  EXPECT_EQ(error_of_answer(answer(404, R"({"detail":"no such sandbox"})"), Shown::token).message, "no such sandbox");
  for (const char* body : {"", "<html>", "[]", "{}", R"({"error":3})", R"({"error":{"message":7}})"}) {
    const Error error = error_of_answer(answer(502, body), Shown::token);
    EXPECT_EQ(error.code, ErrorCode::unavailable) << body;
    EXPECT_THAT(error.message, HasSubstr("is it a Cloche service?")) << body;
  }
}

TEST(PercentEncoded, OnlyPlainLetters_StayAsTheyAre) {
  EXPECT_EQ(percent_encoded("a-b_c.~9"), "a-b_c.~9");
  EXPECT_EQ(percent_encoded("a/b c&\xff\n"), "a%2Fb%20c%26%FF%0A");
}

std::vector<StreamEvent> parse_all(std::string_view text, std::size_t piece) {
  EventParser parser;
  std::vector<StreamEvent> all;
  while (!text.empty()) {
    auto events = parser.feed(text.substr(0, piece));
    EXPECT_TRUE(events);
    if (!events) break;
    for (StreamEvent& event : *events) all.push_back(std::move(event));
    text.remove_prefix(std::min(piece, text.size()));
  }
  return all;
}

TEST(EventParser, AnyPieces_YieldTheSameEvents) {
  const std::string_view text =
      ":\n\nevent: run\nid: r-0\nretry: 1000\ndata: {\"a\":1}\n\nid: r-5\r\nevent:stdout\r\ndata: one\r\ndata:  "
      "two\r\n\r\n"
      "unknown: x\ndata\n\ndata: unfinished\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, text.size()}) {
    const auto events = parse_all(text, piece);
    ASSERT_EQ(events.size(), 3u) << piece;
    EXPECT_EQ(events[0].name, "run");
    EXPECT_EQ(events[0].id, "r-0");
    EXPECT_EQ(events[0].data, "{\"a\":1}");
    EXPECT_EQ(events[1].name, "stdout");
    EXPECT_EQ(events[1].data, "one\n two");
    EXPECT_EQ(events[2].name, "message");
    EXPECT_EQ(events[2].id, "r-5");
    EXPECT_EQ(events[2].data, "");
  }
}

TEST(EventParser, EventWithoutEnd_IsRefused) {
  EventParser parser(Bytes{100});
  EXPECT_TRUE(parser.feed("data: " + std::string(50, 'x') + "\n"));
  const auto more = parser.feed("data: " + std::string(60, 'x'));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::limit_reached);
}

TEST(WebSocket, AcceptKey_IsThatOfTheStandard) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketFrames, ClientFrames_AreMaskedAndMeasured) {
  const FrameMask mask{'\x37', '\xfa', '\x21', '\x3d'};
  EXPECT_EQ(encode_frame(Opcode::text, "Hello", mask), "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
  EXPECT_EQ(encode_frame(Opcode::binary, std::string(126, 'x'), mask).substr(0, 4),
            std::string_view("\x82\xfe\x00\x7e", 4));
  EXPECT_EQ(encode_frame(Opcode::binary, std::string(65'536, 'x'), mask).substr(0, 10),
            std::string_view("\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00", 10));
}

std::string server_frame(int head, std::string_view payload) {
  return std::string{static_cast<char>(head), static_cast<char>(payload.size())} + std::string(payload);
}

TEST(WebSocketFrames, PiecesOfAMessage_ArePutTogetherAroundAPing) {
  const std::string bytes = server_frame(0x01, "Hel") + server_frame(0x89, "p") + server_frame(0x80, "lo");
  FrameDecoder decoder;
  std::vector<WebSocketMessage> messages;
  for (const char c : bytes) {
    decoder.feed(std::string_view(&c, 1));
    auto next = decoder.next();
    ASSERT_TRUE(next) << next.error().message;
    if (*next) messages.push_back(**next);
  }
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].opcode, Opcode::ping);
  EXPECT_EQ(messages[1].opcode, Opcode::text);
  EXPECT_EQ(messages[1].data, "Hello");
}

TEST(WebSocketFrames, BrokenRules_AreRefused) {
  const std::string masked = std::string("\x81\x81", 2) + "abcdx";
  const std::string endless("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 10);
  for (const std::string& bytes :
       {masked, endless, server_frame(0xc1, "x"), server_frame(0x83, "x"), server_frame(0x80, "x"),
        server_frame(0x09, "x"), server_frame(0x01, "a") + server_frame(0x81, "b"),
        std::string("\x89\x7e\x00\x7e", 4) + std::string(126, 'x')}) {
    FrameDecoder decoder;
    decoder.feed(bytes);
    EXPECT_FALSE(decoder.next()) << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace cloche::cli

// Unary calls and streams over HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/e2b/connect/request_fields.hpp"
#include "dialect/e2b/connect/server_stream.hpp"
#include "http/server/testing/served.hpp"

namespace cloche::dialect::e2b::connect {
namespace {

using http::testing::RawClient;
using namespace std::string_literals;
using testing::EndsWith;
using testing::HasSubstr;

std::string post(std::string_view type, std::string_view body, std::string_view fields = "") {
  return "POST /x HTTP/1.1\r\nHost: h\r\nContent-Type: " + std::string(type) + "\r\n" + std::string(fields) +
         "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + std::string(body);
}

// Says hello to `name`, which must not be empty.
Task<Reply<json::value>> greet(const ProtoObject& message, Deadline) {
  CLOCHE_CO_TRY(const std::string name, message.text("name"));
  if (name.empty()) co_return failure(Code::not_found, "no name");
  json::object reply;
  reply["greeting"] = "hello " + name;
  co_return json::value(std::move(reply));
}

// Counts to `most`, then fails if asked to.
Task<Reply<>> count(const ProtoObject& message, ServerStream& stream) {
  CLOCHE_CO_TRY(const std::uint32_t most, message.uint32("most"));
  CLOCHE_CO_TRY(const bool fails, message.flag("fails"));
  CLOCHE_CO_TRY(const bool cuts, message.flag("cuts"));
  for (std::uint32_t i = 0; i < most; ++i) {
    json::object number;
    number["n"] = i;
    const json::value told = std::move(number);
    CLOCHE_CO_CHECK(co_await stream.send(told));
  }
  if (cuts) stream.cut();
  if (fails) co_return failure(Code::aborted, "enough");
  co_return Reply<>{};
}

// A request, and what its response is.
struct Case {
  std::string request;
  unsigned status = 200;
  std::string body;  // or a part of it
};

class Unary : public http::testing::Served {
 protected:
  Unary() {
    handler_ = [](http::Exchange& exchange) -> Task<> { co_await serve_unary(exchange, greet); };
  }
  void check(std::vector<Case> cases) {
    run([&]() -> Task<> {
      for (const Case& each : cases) {
        const auto answer = co_await ask(each.request);
        EXPECT_EQ(answer.status, each.status) << each.request;
        EXPECT_THAT(answer.body, HasSubstr(each.body)) << each.request;
      }
    });
  }
};

TEST_F(Unary, Message_IsAnswered) {
  check({{post("application/json", R"({"name":"x"})"), 200, R"({"greeting":"hello x"})"},
         {post("application/json; charset=UTF-8", R"({"name":"x"})"), 200, "hello"}});
}
TEST_F(Unary, Failure_HasStatusAndCode) {
  check({{post("application/json", "{}"), 404, R"({"code":"not_found","message":"no name"})"}});
}
TEST_F(Unary, OtherTypes_Are415) {
  std::vector<Case> cases;
  for (const char* type : {"application/proto", "application/grpc", "application/grpc-web+proto",
                           "application/connect+json", "text/plain"}) {
    cases.push_back({post(type, "{}"), 415, ""});
  }
  check(std::move(cases));
}
TEST_F(Unary, BrokenJson_IsInvalidArgument) {
  std::vector<Case> cases;
  for (const char* body : {"", "{", "[]", "null", R"({"name":1})", R"({"name":"a","name":"b"})", "{} {}"}) {
    cases.push_back({post("application/json", body), 400, R"("code":"invalid_argument")"});
  }
  check(std::move(cases));
}
TEST_F(Unary, OtherVersionCompressionOrTimeout_IsRefused) {
  check({{post("application/json", "{}", "Connect-Protocol-Version: 2\r\n"), 400, "connect-protocol-version"},
         {post("application/json", "{}", "Content-Encoding: gzip\r\n"), 501, "unimplemented"},
         {post("application/json", "{}", "Connect-Timeout-Ms: 1x\r\n"), 400, "invalid timeout"},
         {post("application/json", "{}", "Connect-Timeout-Ms: 99999999999\r\n"), 400, "invalid timeout"}});
}
TEST_F(Unary, TooLargeBody_IsRefusedByItsLength) {
  check(
      {{"POST /x HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 16777217\r\n"
        "Connection: close\r\n\r\n",
        429, "resource_exhausted"}});
}

class Streams : public http::testing::Served {
 protected:
  Streams() {
    handler_ = [](http::Exchange& exchange) -> Task<> { co_await serve_stream(exchange, count); };
  }
  void check(std::vector<Case> cases) {
    run([&]() -> Task<> {
      for (const Case& each : cases) {
        const auto answer = co_await ask(each.request);
        EXPECT_EQ(answer.status, each.status);
        EXPECT_EQ(answer.body, each.body);
      }
    });
  }
};

TEST_F(Streams, Messages_AreInEnvelopesAndEnd) {
  check({{post(stream_type, in_envelope(0, R"({"most":2})")), 200,
          in_envelope(0, R"({"n":0})") + in_envelope(0, R"({"n":1})") + in_envelope(2, "{}")}});
}
TEST_F(Streams, Failure_IsInTheLastEnvelope) {
  check({{post(stream_type, in_envelope(0, R"({"fails":true})")), 200,
          in_envelope(2, R"({"error":{"code":"aborted","message":"enough"}})")}});
}
TEST_F(Streams, OtherTypes_Are415) {
  std::vector<Case> cases;
  for (const char* type : {"application/json", "application/connect+proto", "application/grpc"}) {
    cases.push_back({post(type, in_envelope(0, "{}")), 415, ""});
  }
  check(std::move(cases));
}
TEST_F(Streams, BrokenEnvelopes_AreFailures) {
  const std::vector<std::pair<std::string, std::string>> bodies = {
      {"", "missing message"},
      {"\x00\x00"s, "incomplete envelope"},
      {in_envelope(0, "{}").substr(0, 6), "incomplete envelope"},
      {in_envelope(0, "{}") + in_envelope(0, "{}"), "more than one message"},
      {in_envelope(1, "{}"), "unimplemented"},
      {in_envelope(8, "{}"), "invalid flags"},
      {"\x00\xff\xff\xff\xff"s, "resource_exhausted"},
      {in_envelope(0, "[]"), "invalid_argument"},
      {in_envelope(0, "{"), "invalid_argument"},
  };
  run([&]() -> Task<> {
    for (const auto& [body, with] : bodies) {
      const auto answer = co_await ask(post(stream_type, body));
      EXPECT_EQ(answer.status, 200U);
      EXPECT_EQ(answer.body.substr(0, 1), "\x02");
      EXPECT_THAT(answer.body, HasSubstr(with));
    }
  });
}
TEST_F(Streams, Cut_BreaksOffWithoutAnEnd) {
  run([&]() -> Task<> {
    const auto client = co_await connect();
    co_await client->send(post(stream_type, in_envelope(0, R"({"most":1,"cuts":true})")));
    const std::string all = co_await client->rest();
    EXPECT_THAT(all, HasSubstr(in_envelope(0, R"({"n":0})")));
    EXPECT_THAT(all, testing::Not(EndsWith("0\r\n\r\n")));
    EXPECT_THAT(all, testing::Not(HasSubstr(in_envelope(2, "{}"))));
  });
}

class ClientStreams : public http::testing::Served {
 protected:
  ClientStreams() {
    handler_ = [this](http::Exchange& exchange) -> Task<> {
      MessageHandler take = [this](const ProtoObject& message) -> Task<Reply<>> {
        CLOCHE_CO_TRY(const std::string word, message.text("word"));
        if (word == "bad") co_return failure(Code::internal, "bad word");
        words_.push_back(word);
        co_return Reply<>{};
      };
      co_await serve_client_stream(exchange, std::move(take));
    };
  }
  std::vector<std::string> words_;
};

TEST_F(ClientStreams, AllMessages_AreTaken) {
  run([&]() -> Task<> {
    const auto answer =
        co_await ask(post(stream_type, in_envelope(0, R"({"word":"a"})") + in_envelope(0, R"({"word":"b"})")));
    EXPECT_EQ(answer.body, in_envelope(0, "{}") + in_envelope(2, "{}"));
    EXPECT_THAT(words_, testing::ElementsAre("a", "b"));
  });
}
TEST_F(ClientStreams, Failure_EndsIt) {
  run([&]() -> Task<> {
    const auto answer =
        co_await ask(post(stream_type, in_envelope(0, R"({"word":"bad"})") + in_envelope(0, R"({"word":"b"})")));
    EXPECT_EQ(answer.body, in_envelope(2, R"({"error":{"code":"internal","message":"bad word"}})"));
    EXPECT_TRUE(words_.empty());
  });
}

TEST(RequestFields, Keepalive_IsBounded) {
  const auto of = [](std::string value) {
    http::Fields fields;
    fields.emplace_back("Keepalive-Ping-Interval", std::move(value));
    return keepalive_interval(fields).count();
  };
  EXPECT_EQ(of("50"), 50);
  EXPECT_EQ(of("0"), 1);
  EXPECT_EQ(of("999999999999"), 3600);
  EXPECT_EQ(of("x"), 90);
  EXPECT_EQ(keepalive_interval({}).count(), 90);
}

}  // namespace
}  // namespace cloche::dialect::e2b::connect

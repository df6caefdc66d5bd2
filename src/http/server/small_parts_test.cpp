// Small parts of the server without I/O: ranges, events, heads of responses, JSON.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "http/server/answer/answer_head.hpp"
#include "http/server/answer/server_event.hpp"
#include "http/server/request/byte_range.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::http {
namespace {

std::string wanted(std::string_view range, std::uint64_t size) {
  const auto bytes = parse_range(range, size);
  if (const auto* part = std::get_if<ByteRange>(&bytes)) return content_range(*part, size);
  return std::holds_alternative<WholeContent>(bytes) ? "whole" : unsatisfied_range(size);
}

TEST(ByteRange, OneRange_IsCutToTheSize) {
  EXPECT_EQ(wanted("bytes=0-9", 100), "bytes 0-9/100");
  EXPECT_EQ(wanted("Bytes=90-", 100), "bytes 90-99/100");
  EXPECT_EQ(wanted("bytes=90-1000", 100), "bytes 90-99/100");
  EXPECT_EQ(wanted("bytes=-5", 100), "bytes 95-99/100");
  EXPECT_EQ(wanted("bytes=-500", 100), "bytes 0-99/100");
  EXPECT_EQ(wanted("bytes=0-99999999999999999999999", 100), "bytes 0-99/100");
}

TEST(ByteRange, RangeBehindTheEnd_IsUnsatisfiable) {
  EXPECT_EQ(wanted("bytes=100-", 100), "bytes */100");
  EXPECT_EQ(wanted("bytes=-0", 100), "bytes */100");
  EXPECT_EQ(wanted("bytes=0-", 0), "bytes */0");
  EXPECT_EQ(wanted("bytes=99999999999999999999999-", 100), "bytes */100");
}

TEST(ByteRange, WhatIsNotOneRange_IsIgnored) {
  for (const char* value : {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-1", "bytes=0-1,3-4", "lines=0-1",
                            "bytes=+1-2", "bytes=1--2"}) {
    EXPECT_EQ(wanted(value, 100), "whole") << value;
  }
}

TEST(ServerEvent, LinesOfTheData_EachGetTheirOwn) {
  ServerEvent event;
  event.name = "stdout";
  event.id = "7";
  event.data = "a\nb\r\nc\rd\n";
  EXPECT_EQ(*serialise_event(event), "event: stdout\nid: 7\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
  event = {};
  event.retry = std::chrono::milliseconds(500);
  EXPECT_EQ(*serialise_event(event), "retry: 500\ndata: \n\n");
}

TEST(ServerEvent, NameOrIdOfMoreThanALine_IsRefused) {
  ServerEvent event;
  event.name = "a\ndata: forged";
  EXPECT_FALSE(serialise_event(event));
  event.name = "";
  event.id = std::string("a\0b", 3);
  EXPECT_FALSE(serialise_event(event));
}

Result<std::string> head_with(const std::string& name, const std::string& value) {
  const Fields fields{{name, value}};
  return serialise_answer_head(AnswerHead{200, fields, AnswerFraming::length, 3, "", "id"});
}

TEST(AnswerHead, Fields_StandBetweenStatusAndLength) {
  const auto head = head_with("X-Resource", "1");
  ASSERT_TRUE(head);
  EXPECT_TRUE(head->starts_with("HTTP/1.1 200 OK\r\nDate: "));
  EXPECT_TRUE(head->ends_with(" GMT\r\nX-Resource: 1\r\nX-Request-Id: id\r\nContent-Length: 3\r\n\r\n"));
}

TEST(AnswerHead, FieldsThatBreakOutOrAreTheServersOwn_AreRefused) {
  EXPECT_FALSE(head_with("X", "1\r\nSet-Cookie: a"));
  EXPECT_FALSE(head_with("X\r\nY", "1"));
  EXPECT_FALSE(head_with("X Y", "1"));
  EXPECT_FALSE(head_with("content-length", "4"));
  EXPECT_FALSE(head_with("Transfer-Encoding", "chunked"));
}

TEST(HopByHop, FieldsOfOneConnection_AreNotPassedOn) {
  const Fields fields{
      {"Connection", "keep-alive, X-Mine"}, {"X-Mine", "1"},         {"Keep-Alive", "5"}, {"Upgrade", "h2c"},
      {"transfer-encoding", "chunked"},     {"Content-Length", "5"}, {"ETag", "\"a\""}};
  EXPECT_EQ(without_hop_by_hop(fields), (Fields{{"ETag", "\"a\""}}));
}

TEST(Json, ContentTypes_AreJsonInUtf8OrRefused) {
  for (const char* type : {"application/json", "Application/JSON; charset=UTF-8", "application/problem+json",
                           "application/json;charset=\"utf-8\"; x=y"}) {
    EXPECT_TRUE(check_json_type(type)) << type;
  }
  for (const char* type : {"", "text/plain", "application/jsonp", "text/json", "application/json; charset=latin1",
                           "+json", "application/x-www-form-urlencoded"}) {
    const auto status = check_json_type(type);
    ASSERT_FALSE(status) << type;
    EXPECT_EQ(status.error().code, ErrorCode::unsupported);
  }
}

TEST(Json, TextThatIsNoneOrTooDeep_IsRefused) {
  EXPECT_TRUE(parse_json(R"({"a":[1,2.5,"\u00e4"]})", 3));
  for (const char* text : {"", "{", "{}x", "{'a':1}", "[1,]", "nul", "\"\xff\"", "\"a\nb\"", "[[[[1]]]]",
                           "{\"a\":\"\xc3\"}", "{\"a\":1,\"a\":2}", "[{\"a\":1,\"\\u0061\":2}]"}) {
    const auto value = parse_json(text, 3);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(parse_json(std::string(1 << 20, '['), 32));
}

}  // namespace
}  // namespace cloche::http

// Messages of a service, as it sends them and as it must not.
#include "backend/e2b/api/messages.hpp"

#include <gtest/gtest.h>

namespace cloche::e2b {
namespace {

TEST(E2bMessages, SandboxOfACreation_IsRead) {
  const auto made = read_sandbox(
      R"({"templateID":"rki5dems9wqfm4r03t7g","alias":"base","sandboxID":"ixyz0123","clientID":"6532622b",)"
      R"("envdVersion":"0.6.13","envdAccessToken":"tok","domain":null,"trafficAccessToken":null})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->id, "ixyz0123");
  EXPECT_EQ(made->access_token, "tok");
  EXPECT_EQ(made->domain, "");
  EXPECT_EQ(made->envd_version, "0.6.13");
  EXPECT_EQ(made->memory.count, 0U);
}

TEST(E2bMessages, DescriptionOfASandbox_HasSizesStateAndMetadata) {
  const auto about = read_sandbox(
      R"({"sandboxID":"i1","cpuCount":2,"memoryMB":512,"diskSizeMB":1024,"state":"paused","metadata":{"a":"b","n":1}})");
  ASSERT_TRUE(about);
  EXPECT_EQ(about->cpus, 2);
  EXPECT_EQ(about->memory, mib(512));
  EXPECT_EQ(about->disk, mib(1024));
  EXPECT_TRUE(about->is_paused);
  EXPECT_EQ(about->metadata, (Metadata{{"a", "b"}}));
}

TEST(E2bMessages, WhatWouldBreakOutOfAnAddressOrAHead_IsRefused) {
  for (const char* body : {R"({})", R"([])", R"({"sandboxID":""})", R"({"sandboxID":"../x"})", R"({"sandboxID":"a/b"})",
                           R"({"sandboxID":"A"})", R"({"sandboxID":"-a"})", R"({"sandboxID":5})",
                           R"({"sandboxID":"a","envdAccessToken":"x\r\nHost: y"})",
                           R"({"sandboxID":"a","domain":"x/y"})", R"({"sandboxID":"a","domain":"x@y"})", "{", ""}) {
    const auto read = read_sandbox(body);
    EXPECT_TRUE(!read && read.error().code == ErrorCode::protocol) << body;
  }
  EXPECT_FALSE(read_sandbox(R"({"sandboxID":")" + std::string(65, 'a') + R"("})"));
}

TEST(E2bMessages, SizesThatNoMachineHas_AreNotKnown) {
  const auto about = read_sandbox(R"({"sandboxID":"i1","cpuCount":-1,"memoryMB":99999999999,"diskSizeMB":-5})");
  ASSERT_TRUE(about);
  EXPECT_EQ(about->cpus, 0);
  EXPECT_EQ(about->memory.count, 0U);
  EXPECT_EQ(about->disk.count, 0U);
}

TEST(E2bMessages, ListLongerThanAPage_IsRefused) {
  EXPECT_EQ(read_sandboxes(R"([{"sandboxID":"a"},{"sandboxID":"b"}])", 2)->size(), 2U);
  EXPECT_FALSE(read_sandboxes(R"([{"sandboxID":"a"},{"sandboxID":"b"}])", 1));
  EXPECT_FALSE(read_sandboxes(R"([5])", 2));
  EXPECT_FALSE(read_sandboxes(R"({})", 2));
}

TEST(E2bMessages, MetadataFilter_IsEncodedTwiceInItsPairs) {
  EXPECT_EQ(write_metadata_filter({{"a", "b c"}}), "a=b%2520c");
  EXPECT_EQ(write_metadata_filter({{"a", "1"}, {"b", "&"}}), "a=1&b=%2526");
}

TEST(E2bMessages, RetryAfter_IsSecondsOrNothing) {
  EXPECT_EQ(read_retry_after("3"), 3U);
  EXPECT_EQ(read_retry_after(""), 0U);
  EXPECT_EQ(read_retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), 0U);
  EXPECT_EQ(read_retry_after("999999"), 3600U);
}

TEST(E2bMessages, EventsOfAProgram_AreRead) {
  const auto start = read_event(R"({"event":{"start":{"pid":25463}}})");
  ASSERT_TRUE(start);
  EXPECT_EQ(std::get<ProgramStarted>(*start).pid, 25463U);
  const auto out = read_event(R"({"event":{"data":{"stdout":"b3V0CmJhcgo="}}})");
  ASSERT_TRUE(out);
  EXPECT_EQ(std::get<ProgramOutput>(*out).bytes, "out\nbar\n");
  EXPECT_FALSE(std::get<ProgramOutput>(*out).is_error_output);
  const auto err = read_event(R"({"event":{"data":{"stderr":"ZXJyCg=="}}})");
  ASSERT_TRUE(err);
  EXPECT_TRUE(std::get<ProgramOutput>(*err).is_error_output);
  const auto end = read_event(R"({"event":{"end":{"exited":true,"status":"exit status 0"}}})");
  ASSERT_TRUE(end);
  EXPECT_EQ(std::get<ProgramEnded>(*end).exit_code, 0);
  const auto killed = read_event(R"({"event":{"end":{"exitCode":-1,"status":"signal: killed"}}})");
  ASSERT_TRUE(killed);
  EXPECT_EQ(std::get<ProgramEnded>(*killed).exit_code, -1);
  for (const char* other :
       {R"({"event":{"keepalive":{}}})", R"({"event":{"data":{"pty":"eA=="}}})", R"({"event":{}})"}) {
    const auto read = read_event(other);
    ASSERT_TRUE(read) << other;
    EXPECT_TRUE(std::holds_alternative<KeepAlive>(*read)) << other;
  }
}

TEST(E2bMessages, MessagesThatAreNoEvents_AreRefused) {
  for (const char* message : {"", "{", "[]", "{}", R"({"event":5})", R"({"event":{"start":{}}})",
                              R"({"event":{"start":{"pid":-1}}})", R"({"event":{"data":{"stdout":"*"}}})"}) {
    EXPECT_FALSE(read_event(message)) << message;
  }
}

TEST(E2bMessages, LastMessage_IsSuccessOrTheError) {
  EXPECT_TRUE(read_end("{}"));
  EXPECT_TRUE(read_end(R"({"metadata":{"a":["b"]}})"));
  const auto missing = read_end(R"({"error":{"code":"not_found","message":"no\nsuch"}})");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().message, "no such");
  EXPECT_EQ(read_end(R"({"error":{"code":"made_up"}})").error().code, ErrorCode::internal);
  EXPECT_FALSE(read_end("x"));
}

TEST(E2bMessages, ErrorOfACall_HasItsCodeOrThatOfTheStatus) {
  EXPECT_EQ(read_call_error(404, R"({"code":"not_found","message":"x"})").code, ErrorCode::not_found);
  EXPECT_EQ(read_call_error(502, R"({"sandboxId":"i","message":"The sandbox was not found","code":502})").code,
            ErrorCode::unavailable);
  EXPECT_EQ(read_call_error(401, "").code, ErrorCode::permission_denied);
  EXPECT_EQ(read_call_error(507, "").code, ErrorCode::limit_reached);
  EXPECT_EQ(read_call_error(418, "").code, ErrorCode::protocol);
  EXPECT_LT(read_call_error(500, std::string(100'000, 'x')).message.size(), 1000U);
}

TEST(E2bMessages, RequestsHaveTheFormOfTheService) {
  EXPECT_EQ(write_new_sandbox({.template_name = "base",
                               .lifetime_s = 180,
                               .secure_access = true,
                               .allow_internet_access = false,
                               .metadata = {{"a", "b"}}}),
            R"({"templateID":"base","timeout":180,"secure":true,"allow_internet_access":false,"autoPause":false,)"
            R"("metadata":{"a":"b"}})");
  EXPECT_EQ(write_start({.argv = {"/bin/x", "a b"}, .tag = "", .has_stdin = true}),
            R"({"process":{"cmd":"/bin/x","args":["a b"],"cwd":"/"},"stdin":true})");
  EXPECT_EQ(write_input(7, "hi"), R"({"process":{"pid":7},"input":{"stdin":"aGk="}})");
}

}  // namespace
}  // namespace cloche::e2b

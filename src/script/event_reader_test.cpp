#include "script/event_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace cloche {
namespace {

using testing::HasSubstr;

std::vector<ScriptEvent> all_of(EventReader& reader, std::string_view bytes) {
  reader.feed(bytes);
  std::vector<ScriptEvent> events;
  while (auto event = reader.next()) events.push_back(std::move(*event));
  return events;
}

std::vector<ScriptEvent> all_of(std::string_view bytes) {
  EventReader reader({});
  return all_of(reader, bytes);
}

// The single event for an invalid line.
ErrorEvent fault_of(std::string_view line) {
  const auto events = all_of(std::string(line) + "\n");
  EXPECT_EQ(events.size(), 1u) << line;
  if (events.size() != 1 || !std::holds_alternative<ErrorEvent>(events[0])) {
    ADD_FAILURE() << "taken for an event: " << line;
    return {};
  }
  return std::get<ErrorEvent>(events[0]);
}

TEST(EventReader, LinesOfEachType_BecomeTheirEvents) {
  const auto events = all_of(
      "{\"type\":\"ready\"}\n"
      "{\"type\":\"log\",\"level\":\"warning\",\"message\":\"mind\\n\\u00fc\"}\n"
      "{\"type\": \"intermediate\", \"label\": \"rows\", \"data\": [1, {\"a\": \"]}\"}]}\n"
      "{\"type\":\"final_result\",\"data\":null}\n"
      "{\"type\":\"error\",\"kind\":\"data\",\"message\":\"m\",\"traceback\":\"t\"}\n");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0], ScriptEvent(ReadyEvent{}));
  EXPECT_EQ(events[1], ScriptEvent(LogEvent{LogEvent::Source::script, LogEvent::Level::warning, "mind\n\xc3\xbc"}));
  EXPECT_EQ(events[2], ScriptEvent(IntermediateEvent{"rows", "[1, {\"a\": \"]}\"}]"}));
  EXPECT_EQ(events[3], ScriptEvent(FinalResultEvent{"null"}));
  EXPECT_EQ(events[4], ScriptEvent(ErrorEvent{ScriptFault::data, "m", "t"}));
}

TEST(EventReader, EverySplit_YieldsTheSameEvents) {
  const std::string bytes =
      "{\"type\":\"ready\"}\n\n{\"type\":\"final_result\",\"data\":\"\\\"\\\\\"}\nrubbish\n"
      "{\"type\":\"intermediate\",\"label\":\"x\",\"data\":1}\n";
  const auto whole = all_of(bytes);
  ASSERT_EQ(whole.size(), 4u);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EventReader reader({});
    auto events = all_of(reader, std::string_view(bytes).substr(0, cut));
    const auto rest = all_of(reader, std::string_view(bytes).substr(cut));
    events.insert(events.end(), rest.begin(), rest.end());
    EXPECT_EQ(events, whole) << cut;
  }
}

TEST(EventReader, Data_StaysTheTextItWas) {
  const std::string number = "123456789012345678901234567890.10000000000000000001";
  const auto events = all_of("{\"data\":" + number + " ,\"type\":\"final_result\"}\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<FinalResultEvent>(events[0]).data, number);
}

TEST(EventReader, WhatOnlyTheServerMaySay_IsNoEvent) {
  EXPECT_EQ(fault_of(R"({"type":"script_done","exit_code":0})").fault, ScriptFault::protocol);
  EXPECT_EQ(fault_of(R"({"type":"error","kind":"timeout","message":"slow"})").fault, ScriptFault::protocol);
  EXPECT_EQ(fault_of(R"({"type":"error","kind":"memory","message":"full"})").fault, ScriptFault::protocol);
  const auto events = all_of("{\"type\":\"ready\"}\n{\"type\":\"ready\"}\n");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(std::get<ErrorEvent>(events[1]).fault, ScriptFault::protocol);
}

TEST(EventReader, Rubbish_IsAProtocolErrorThatDoesNotRepeatIt) {
  for (const char* line :
       {"SECRET", "[1]", "{\"type\":7}", "{\"type\":\"SECRET\"}", "{}", "\"SECRET\"", "{\"type\":\"log\"}",
        "{\"type\":\"final_result\"}", "{\"type\":\"intermediate\",\"data\":1}",
        "{\"type\":\"log\",\"message\":\"x\",\"level\":\"loud\"}", "{\"type\":\"error\"}",
        "{\"type\":\"log\",\"type\":\"final_result\",\"data\":1}", "{\"type\":\"final_result\",\"data\":NaN}",
        "{\"type\":\"final_result\",\"data\":1} {}", "{\"type\":\"final_result\",\"data\":\"\xff\"}",
        "{\"type\":\"final_result\",\"data\":\"\\ud800\"}"}) {
    const auto error = fault_of(line);
    EXPECT_EQ(error.fault, ScriptFault::protocol) << line;
    EXPECT_THAT(error.message, testing::Not(HasSubstr("SECRET")));
    EXPECT_LT(error.message.size(), 300u);
  }
}

TEST(EventReader, DataNestedTooDeep_IsAProtocolError) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(fault_of("{\"type\":\"final_result\",\"data\":" + deep).fault, ScriptFault::protocol);
  EXPECT_EQ(fault_of("{\"type\":\"final_result\",\"data\":" + deep + std::string(deep.size(), ']') + "}").fault,
            ScriptFault::protocol);
}

TEST(EventReader, ObjectOfManyMembers_IsAProtocolError) {
  std::string line = "{\"type\":\"final_result\",\"data\":1";
  for (int i = 0; i < 1000; ++i) line += ",\"m" + std::to_string(i) + "\":0";
  EXPECT_EQ(fault_of(line + "}").fault, ScriptFault::protocol);
}

TEST(EventReader, LineThatIsTooLong_IsOneErrorAndTheNextLineCounts) {
  EventReader reader({.line = 64});
  std::vector<ScriptEvent> events;
  for (int i = 0; i < 100; ++i) {
    for (auto& event : all_of(reader, std::string(10, 'x'))) events.push_back(std::move(event));
    EXPECT_LE(reader.buffered(), 80u) << "what is skipped is not kept";
  }
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(std::get<ErrorEvent>(events[0]).message, HasSubstr("64 bytes"));
  EXPECT_EQ(all_of(reader, "tail\n{\"type\":\"final_result\",\"data\":1}\n"),
            std::vector<ScriptEvent>{FinalResultEvent{"1"}});
}

TEST(EventReader, TooManyEvents_IsSaidOnceAndNothingMoreIsTaken) {
  EventReader reader({.events = 2});
  const std::string log = "{\"type\":\"log\",\"message\":\"m\"}\n";
  const auto events = all_of(reader, log + log + log + log);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(std::get<ErrorEvent>(events[2]).fault, ScriptFault::output_limit);
  EXPECT_TRUE(reader.exhausted());
  EXPECT_TRUE(all_of(reader, log).empty());
  EXPECT_EQ(reader.buffered(), 0u);
}

TEST(EventReader, TooManyBytes_IsSaidOnceAndNothingMoreIsTaken) {
  EventReader reader({.bytes = 40});
  const auto events = all_of(reader, std::string(41, '\n'));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<ErrorEvent>(events[0]).fault, ScriptFault::output_limit);
  EXPECT_TRUE(reader.exhausted());
}

TEST(EventReader, LastLineWithoutItsEnd_IsAProtocolErrorOnce) {
  EventReader reader({});
  EXPECT_TRUE(all_of(reader, R"({"type":"final_result","data":1})").empty());
  const auto event = reader.finish();
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<ErrorEvent>(*event).fault, ScriptFault::protocol);
  EXPECT_FALSE(reader.finish());
}

TEST(EventReader, RandomBytes_NeverCrash) {
  std::mt19937 random(5);
  const std::string alphabet = "{}[]\",:\\ \n\ntypeready1e0.-nul\xc3\xbf";
  for (int round = 0; round < 20'000; ++round) {
    EventReader reader({.line = 32, .bytes = 200, .events = 5});
    for (int piece = 0; piece < 4; ++piece) {
      std::string bytes(random() % 40, '\0');
      for (char& c : bytes) c = alphabet[random() % alphabet.size()];
      (void)all_of(reader, bytes);
    }
    while (reader.finish()) {
    }
  }
}

}  // namespace
}  // namespace cloche

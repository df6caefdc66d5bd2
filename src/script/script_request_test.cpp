#include "script/script_request.hpp"

#include <gtest/gtest.h>

#include "json/raw_json.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;

TEST(ScriptRequest, Defaults_AreSensible) {
  ScriptRequest request;
  EXPECT_TRUE(validate(request));
  EXPECT_EQ(request.wall_limit, 30s);
  EXPECT_EQ(request.mode, ScriptMode::plan);
}

TEST(ScriptRequest, WhatMakesNoSense_IsRefused) {
  const auto refused = [](auto change) {
    ScriptRequest request;
    change(request);
    const auto valid = validate(request);
    return !valid && valid.error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.source = "\xff"; }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.source.assign(mib(5).count, ' '); }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.name = ""; }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.name = "<string>"; }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.name = "a\nb"; }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.inputs = ""; }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.inputs = "{\"a\":}"; }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.inputs = "1, \"source\": 2"; }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.wall_limit = 0ms; }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.wall_limit = std::chrono::milliseconds::max(); }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.caps.event = kib(1); }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.caps.event = mib(5); }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.caps.keep_output = {}; }));
  EXPECT_TRUE(refused([](ScriptRequest& r) { r.caps.events = 0; }));
}

TEST(ScriptRequest, HarnessInput_IsOneJsonObjectWhateverTheSource) {
  ScriptRequest request;
  request.source = "print('\"}')\n\x01\x7f\\";
  request.inputs = "{\"n\": 12345678901234567890123}";
  const std::string input = to_harness_input(request);
  const auto members = JsonMembers::of(input);
  ASSERT_TRUE(members) << members.error().message;
  EXPECT_EQ(members->text("source"), request.source);
  EXPECT_EQ(members->text("inputs"), request.inputs);
  EXPECT_EQ(members->text("mode"), "plan");
}

TEST(ScriptRequest, Exec_HasEveryLimit) {
  ScriptRequest request;
  request.wall_limit = 5s;
  const ExecSpec spec = to_exec(request, "h");
  EXPECT_EQ(spec.wall_limit, 5s);
  EXPECT_EQ(spec.zygote, "h");
  ASSERT_TRUE(spec.events);
  EXPECT_EQ(spec.events->stop, request.caps.event_bytes);
  EXPECT_EQ(spec.keep_output, request.caps.keep_output);
}

}  // namespace
}  // namespace cloche

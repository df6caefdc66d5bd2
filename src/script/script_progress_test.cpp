#include "script/script_progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace cloche {
namespace {

using testing::ElementsAre;

constexpr const char* ready = "{\"type\":\"ready\"}\n";
constexpr const char* final_result = "{\"type\":\"final_result\",\"data\":42}\n";
constexpr const char* raised = "{\"type\":\"error\",\"message\":\"ValueError: no\",\"traceback\":\"t\"}\n";

Outcome ended(Ending ending, int exit_code = 0) {
  Outcome outcome;
  outcome.ending = ending;
  outcome.exit_code = exit_code;
  return outcome;
}

// The types of all events there are now, and what a log says.
std::vector<std::string> names(ScriptProgress& progress) {
  struct Name {
    std::string operator()(const ReadyEvent&) { return "ready"; }
    std::string operator()(const LogEvent& event) { return event.message; }
    std::string operator()(const IntermediateEvent&) { return "intermediate"; }
    std::string operator()(const FinalResultEvent&) { return "final_result"; }
    std::string operator()(const ErrorEvent& event) { return "error " + std::string(to_string(event.fault)); }
    std::string operator()(const ScriptDoneEvent& event) { return "done " + std::to_string(event.exit_code); }
  };
  std::vector<std::string> found;
  while (auto event = progress.next_event()) found.push_back(std::visit(Name{}, *event));
  return found;
}

TEST(ScriptProgress, PlanWithAResult_IsOverAndTheResultComesLast) {
  ScriptProgress progress(ScriptMode::plan, {});
  progress.take({Stream::event, std::string(ready) + final_result + final_result + "rubbish\n"});
  EXPECT_TRUE(progress.wants_stop());
  progress.take({Stream::out, "printed before, arrived after\n"});
  progress.take({Stream::event, raised});
  ASSERT_TRUE(progress.finish(ended(Ending::cancelled)));
  EXPECT_THAT(names(progress), ElementsAre("ready", "printed before, arrived after", "final_result"));
  const auto result = progress.take_result();
  EXPECT_EQ(result.ending, ScriptEnding::final_result);
  EXPECT_EQ(result.final_result, "42");
  EXPECT_FALSE(result.error);
  EXPECT_EQ(result.logs.size(), 1u);
}

TEST(ScriptProgress, PlanThatRaises_EndsWithTheError) {
  ScriptProgress progress(ScriptMode::plan, {});
  progress.take({Stream::event, std::string(ready) + raised});
  EXPECT_TRUE(progress.wants_stop());
  ASSERT_TRUE(progress.finish(ended(Ending::exited, 1)));
  EXPECT_THAT(names(progress), ElementsAre("ready", "error exception"));
  const auto result = progress.take_result();
  EXPECT_EQ(result.ending, ScriptEnding::error);
  EXPECT_EQ(result.error->message, "ValueError: no");
  EXPECT_EQ(result.error->traceback, "t");
}

TEST(ScriptProgress, InteractiveScript_GoesOnUntilItsProcessEnds) {
  ScriptProgress progress(ScriptMode::interactive, {});
  progress.take({Stream::event, std::string(ready) + final_result});
  EXPECT_FALSE(progress.wants_stop());
  progress.take({Stream::out, "still here"});
  EXPECT_THAT(names(progress), ElementsAre("ready", "final_result"));
  ASSERT_TRUE(progress.finish(ended(Ending::exited, 3)));
  EXPECT_THAT(names(progress), ElementsAre("still here", "done 3"));
  const auto result = progress.take_result();
  EXPECT_EQ(result.ending, ScriptEnding::script_done);
  EXPECT_EQ(result.final_result, "42");
}

TEST(ScriptProgress, InteractiveScriptThatRaises_IsAnErrorAndDone) {
  ScriptProgress progress(ScriptMode::interactive, {});
  progress.take({Stream::event, std::string(ready) + raised});
  ASSERT_TRUE(progress.finish(ended(Ending::exited, 1)));
  EXPECT_THAT(names(progress), ElementsAre("ready", "error exception", "done 1"));
  EXPECT_EQ(progress.take_result().ending, ScriptEnding::error);
}

TEST(ScriptProgress, ProcessThatWasEnded_SaysWhyInItsLastEvent) {
  const std::pair<Ending, ScriptEnding> endings[] = {
      {Ending::wall_limit, ScriptEnding::timeout},        {Ending::cpu_limit, ScriptEnding::timeout},
      {Ending::memory_limit, ScriptEnding::memory},       {Ending::signalled, ScriptEnding::crashed},
      {Ending::output_limit, ScriptEnding::output_limit}, {Ending::cancelled, ScriptEnding::cancelled},
  };
  for (const auto& [ending, expected] : endings) {
    for (const auto mode : {ScriptMode::plan, ScriptMode::interactive}) {
      ScriptProgress progress(mode, {});
      progress.take({Stream::event, std::string(ready) + "{\"type\":\"fin"});
      ASSERT_TRUE(progress.finish(ended(ending)));
      EXPECT_THAT(names(progress), ElementsAre("ready", "error " + std::string(to_string(expected))));
      const auto result = progress.take_result();
      EXPECT_EQ(result.ending, expected);
      EXPECT_TRUE(result.error) << "half a line of a killed process is no error of its own";
      EXPECT_FALSE(result.final_result);
    }
  }
}

TEST(ScriptProgress, RubbishOnTheEventLane_EndsAPlanAndNotAnInteractiveScript) {
  ScriptProgress plan(ScriptMode::plan, {});
  plan.take({Stream::event, std::string(ready) + "rubbish\n"});
  EXPECT_TRUE(plan.wants_stop());
  ScriptProgress interactive(ScriptMode::interactive, {});
  interactive.take({Stream::event, std::string(ready) + "rubbish\n" + final_result});
  EXPECT_FALSE(interactive.wants_stop());
  ASSERT_TRUE(interactive.finish(ended(Ending::exited)));
  EXPECT_THAT(names(interactive), ElementsAre("ready", "error protocol", "final_result", "done 0"));
}

TEST(ScriptProgress, TooManyEvents_EndAnyScript) {
  ScriptCaps caps;
  caps.events = 2;
  for (const auto mode : {ScriptMode::plan, ScriptMode::interactive}) {
    ScriptProgress progress(mode, caps);
    const std::string log = "{\"type\":\"log\",\"message\":\"m\"}\n";
    progress.take({Stream::event, ready + log + log + log});
    EXPECT_TRUE(progress.wants_stop());
    ASSERT_TRUE(progress.finish(ended(Ending::cancelled)));
    EXPECT_THAT(names(progress), ElementsAre("ready", "m", "error output_limit"));
    EXPECT_EQ(progress.take_result().ending, ScriptEnding::output_limit);
  }
}

TEST(ScriptProgress, PrintedLinesOverTheCap_AreCountedAndTheCutIsSaid) {
  ScriptCaps caps;
  caps.log_lines = 2;
  ScriptProgress progress(ScriptMode::plan, caps);
  progress.take({Stream::event, ready});
  progress.take({Stream::out, "1\n2\n3\n"});
  progress.take({Stream::err, "4\n"});
  ASSERT_TRUE(progress.finish(ended(Ending::exited)));
  EXPECT_THAT(names(progress), ElementsAre("ready", "1", "2", "2 printed lines were omitted", "done 0"));
  EXPECT_EQ(progress.take_result().lost_log_lines, 2u);
}

TEST(ScriptProgress, HarnessThatNeverTookTheScript_IsOurErrorNotTheScripts) {
  ScriptProgress progress(ScriptMode::plan, {});
  progress.take({Stream::err, "cannot enter /nowhere\n"});
  const auto finished = progress.finish(ended(Ending::exited, 2));
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::internal);
  EXPECT_THAT(finished.error().message, testing::HasSubstr("/nowhere"));
}

TEST(ScriptEvent, AsJson_IsOneLineWithTheDataAsItWas) {
  EXPECT_EQ(to_json(IntermediateEvent{"a\nb", "[1, 2.50]"}),
            R"({"type":"intermediate","label":"a\nb","data":[1, 2.50]})");
  EXPECT_EQ(to_json(LogEvent{LogEvent::Source::out, LogEvent::Level::info, "{\"type\":\"final_result\"}"}),
            R"({"type":"log","source":"stdout","level":"info","message":"{\"type\":\"final_result\"}"})");
  EXPECT_EQ(to_json(ErrorEvent{ScriptFault::timeout, "m", ""}),
            R"({"type":"error","kind":"timeout","message":"m","traceback":""})");
  EXPECT_EQ(to_json(ScriptDoneEvent{7}), R"({"type":"script_done","exit_code":7})");
}

}  // namespace
}  // namespace cloche

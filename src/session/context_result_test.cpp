#include "session/context_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::session {
namespace {

using testing::HasSubstr;

TEST(ContextResult, CellThatRaised_IsARuntimeErrorWithWhatWasRaised) {
  CellResult cell;
  cell.ending = ContextEnding::error;
  cell.error = CellError{"ValueError", "two\nlines", "Traceback"};
  const auto result = to_context_result(std::move(cell));
  EXPECT_EQ(result.category, Category::runtime_error);
  EXPECT_EQ(result.cause, Cause::exit_code);
  EXPECT_EQ(result.outcome.exit_code, 1);
  EXPECT_EQ(result.reason, "ValueError: two lines");
  EXPECT_EQ(result.error->traceback, "Traceback");
}

TEST(ContextResult, LongMessage_IsCutBetweenCharacters) {
  CellResult cell;
  cell.ending = ContextEnding::error;
  std::string message;
  for (int i = 0; i < 400; ++i) message += "ü";
  cell.error = CellError{"E", message, ""};
  const auto result = to_context_result(std::move(cell));
  EXPECT_TRUE(result.reason.ends_with("ü...")) << result.reason;
  EXPECT_LE(result.reason.size(), 503u);
}

TEST(ContextResult, CellThatLeft_HasItsExitCode) {
  CellResult cell;
  cell.ending = ContextEnding::error;
  cell.exit_code = 3;
  const auto result = to_context_result(std::move(cell));
  EXPECT_EQ(result.outcome.exit_code, 3);
  EXPECT_THAT(result.reason, HasSubstr("exit code 3"));
  EXPECT_FALSE(result.error);
}

TEST(ContextResult, Timeout_IsOneWhateverTheStateBecame) {
  CommandResult command;
  command.ending = ContextEnding::timeout;
  command.state = ContextState::handed_over;
  command.reason = "it ran longer than 5 ms";
  command.exit_code = 124;
  const auto result = to_context_result(std::move(command));
  EXPECT_EQ(result.category, Category::timeout);
  EXPECT_EQ(result.cause, Cause::wall);
  EXPECT_EQ(result.outcome.exit_code, 124);
  EXPECT_EQ(result.reason, "it ran longer than 5 ms");
  EXPECT_EQ(result.state, ContextState::handed_over);
}

TEST(ContextResult, MemoryAndOutputLimits_AreTheirCauses) {
  CellResult cell;
  cell.ending = ContextEnding::memory;
  const auto memory = to_context_result(std::move(cell));
  EXPECT_EQ(memory.category, Category::runtime_error);
  EXPECT_EQ(memory.cause, Cause::memory);
  EXPECT_EQ(memory.outcome.exit_code, 137);
  CellResult other;
  other.ending = ContextEnding::output_limit;
  other.out_totals = {Bytes{10}, Bytes{4}};
  const auto output = to_context_result(std::move(other));
  EXPECT_EQ(output.cause, Cause::output);
  EXPECT_TRUE(output.truncated());
}

TEST(ContextResult, InterpreterThatEnded_IsNoSuccessEvenWithExitCodeZero) {
  CellResult cell;
  cell.ending = ContextEnding::lost;
  cell.state = ContextState::lost;
  cell.reason = "the interpreter exited with code 0";
  cell.interpreter = Outcome{};
  const auto result = to_context_result(std::move(cell));
  EXPECT_EQ(result.category, Category::runtime_error);
  EXPECT_EQ(result.cause, Cause::exit_code);
  CellResult crashed;
  crashed.ending = ContextEnding::lost;
  Outcome outcome;
  outcome.ending = Ending::signalled;
  outcome.signal = 11;
  outcome.exit_code = 139;
  crashed.interpreter = outcome;
  const auto crash = to_context_result(std::move(crashed));
  EXPECT_EQ(crash.cause, Cause::signal);
  EXPECT_EQ(crash.outcome.exit_code, 139);
  CellResult unknown;
  unknown.ending = ContextEnding::lost;
  const auto gone = to_context_result(std::move(unknown));
  EXPECT_EQ(gone.category, Category::runtime_error);
  EXPECT_EQ(gone.cause, Cause::lost);
}

TEST(ContextLanguage, Names_AreKnownWhateverTheCase) {
  EXPECT_EQ(*parse_context_language("Python"), ContextLanguage::python);
  EXPECT_EQ(*parse_context_language("py"), ContextLanguage::python);
  EXPECT_EQ(*parse_context_language("BASH"), ContextLanguage::bash);
  const auto ruby = parse_context_language("ruby");
  ASSERT_FALSE(ruby);
  EXPECT_EQ(ruby.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(ruby.error().message, HasSubstr("python, bash"));
}

}  // namespace
}  // namespace cloche::session

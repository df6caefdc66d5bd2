#include "runner/autograder/one_shot_result.hpp"

namespace cloche::runner {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += '\n';
    text += lines[i];
  }
  return text;
}

OneShotResult to_one_shot_result(StepKind step, Exec::Collected ran) {
  const Verdict verdict = judge_step(step, CommandOwner::language, ran.outcome);
  OneShotResult result;
  result.category = verdict.category;
  result.cause = verdict.cause;
  result.success = verdict.passed();
  result.truncated = ran.outcome.out.dropped.count > 0 || ran.outcome.err.dropped.count > 0;
  result.outcome = std::move(ran.outcome);
  if (result.success) {
    result.output = trimmed(ran.out);
    return result;
  }
  const std::string_view words = trimmed(ran.err);
  result.error = words.empty() ? trimmed(ran.out) : words;
  switch (verdict.cause) {
    case Cause::wall:
    case Cause::cpu:
      result.timed_out = true;
      result.error = timed_out_message;
      break;
    case Cause::memory:
    case Cause::output:
    case Cause::not_started:
      // Earlier output does not explain it.
      result.error += result.error.empty() ? verdict.reason : "\n" + verdict.reason;
      break;
    default:
      if (result.error.empty()) result.error = verdict.reason;
      break;
  }
  return result;
}

OneShotResult given_up() {
  OneShotResult result;
  result.category = Category::timeout;
  result.cause = Cause::lost;
  result.timed_out = true;
  result.error = timed_out_message;
  return result;
}

}  // namespace cloche::runner

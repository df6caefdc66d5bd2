#include "runner/judge/verdict.hpp"

#include <csignal>
#include <cstring>

#include "runner/judge/excerpt.hpp"

namespace cloche {

std::string_view to_string(Category category) {
  switch (category) {
    case Category::success: return "success";
    case Category::runtime_error: return "runtime_error";
    case Category::compilation_error: return "compilation_error";
    case Category::timeout: return "timeout";
    case Category::system_error: return "system_error";
  }
  return "";
}

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::none: return "none";
    case Cause::exit_code: return "exit_code";
    case Cause::signal: return "signal";
    case Cause::wall: return "wall";
    case Cause::cpu: return "cpu";
    case Cause::memory: return "memory";
    case Cause::output: return "output";
    case Cause::not_started: return "not_started";
    case Cause::wrong_answer: return "wrong_answer";
    case Cause::lost: return "lost";
    case Cause::checker: return "checker";
  }
  return "";
}

std::string input_lines(const std::vector<std::string>& lines) {
  std::string joined;
  for (const std::string& line : lines) joined.append(line).append("\n");
  return joined;
}

}  // namespace cloche

namespace cloche::runner {

namespace {

constexpr std::size_t most_words = 4096;

Cause cause_of(const Outcome& outcome) {
  switch (outcome.ending) {
    case Ending::exited:
      if (outcome.exit_code == 0) return Cause::none;
      // A compiler's driver, a shell or a launcher outlives the child that the kernel killed, and fails for it.
      return outcome.oom_kills > 0 ? Cause::memory : Cause::exit_code;
    case Ending::signalled: return Cause::signal;
    case Ending::wall_limit: return Cause::wall;
    case Ending::cpu_limit: return Cause::cpu;
    case Ending::memory_limit: return Cause::memory;
    case Ending::output_limit: return Cause::output;
    case Ending::not_started: return Cause::not_started;
    case Ending::cancelled: return Cause::lost;
  }
  return Cause::lost;
}

std::string reason_of(Cause cause, const Outcome& outcome) {
  switch (cause) {
    case Cause::exit_code: return "ended with exit code " + std::to_string(outcome.exit_code);
    case Cause::signal: return std::string("ended by a signal: ") + ::strsignal(outcome.signal);
    case Cause::wall: return "ran longer than allowed";
    case Cause::cpu: return "used more cpu time than allowed";
    case Cause::memory: return "used more memory than allowed";
    case Cause::output: return "printed more than allowed";
    case Cause::not_started: return "could not be started: " + outcome.reason;
    case Cause::lost: return "was stopped";
    case Cause::none:
    case Cause::wrong_answer:
    case Cause::checker: break;
  }
  return {};
}

Category category_of(StepKind step, CommandOwner owner, Cause cause) {
  if (cause == Cause::none) return Category::success;
  if (cause == Cause::lost) return Category::system_error;
  if (cause == Cause::not_started && owner == CommandOwner::language) return Category::system_error;
  if (step == StepKind::compile) return Category::compilation_error;
  return cause == Cause::wall || cause == Cause::cpu ? Category::timeout : Category::runtime_error;
}

}  // namespace

Verdict judge_step(StepKind step, CommandOwner owner, const Outcome& outcome) {
  Verdict verdict;
  verdict.cause = cause_of(outcome);
  verdict.category = category_of(step, owner, verdict.cause);
  if (verdict.cause == Cause::none) return verdict;
  verdict.reason = step == StepKind::compile ? "the compiler " : "the program ";
  verdict.reason += reason_of(verdict.cause, outcome);
  return verdict;
}

Verdict system_failure(const Error& error) {
  Verdict verdict;
  verdict.category = Category::system_error;
  verdict.cause = Cause::lost;
  verdict.reason = error.message;
  return verdict;
}

Verdict judge_by_program(std::string_view role, const Outcome& outcome, std::string_view words) {
  Verdict verdict;
  const bool exited = outcome.ending == Ending::exited;
  if (exited && outcome.exit_code == 0) return verdict;
  std::string said = readable(words, most_words);
  while (said.ends_with('\n')) said.pop_back();
  if (exited && outcome.exit_code == 1 && outcome.oom_kills == 0) {
    verdict.cause = Cause::wrong_answer;
    verdict.reason = said.empty() ? "the " + std::string(role) + " rejected the answer" : std::move(said);
    return verdict;
  }
  verdict.category = Category::system_error;
  verdict.cause = Cause::checker;
  verdict.reason = "the " + std::string(role) + " " + reason_of(cause_of(outcome), outcome);
  if (!said.empty()) verdict.reason += ": " + said;
  return verdict;
}

}  // namespace cloche::runner

#include "session/context_result.hpp"

#include <algorithm>
#include <csignal>

#include "auth/names.hpp"
#include "core/text.hpp"
#include "runner/judge/verdict.hpp"

namespace cloche::session {

namespace {

constexpr int exit_code_after_timeout = 124;
constexpr int exit_code_after_kill = 128 + SIGKILL;
constexpr int exit_code_after_exception = 1;
constexpr std::size_t longest_reason = 500;

// What a separate process of the call would have ended with.
Outcome outcome_of(const CallResult& call, int exit_code) {
  Outcome outcome;
  outcome.exit_code = exit_code;
  switch (call.ending) {
    case ContextEnding::ok:
    case ContextEnding::error: break;
    case ContextEnding::timeout:
      outcome.ending = Ending::wall_limit;
      outcome.exit_code = exit_code_after_timeout;
      break;
    case ContextEnding::memory:
      outcome.ending = Ending::memory_limit;
      outcome.exit_code = exit_code_after_kill;
      outcome.signal = SIGKILL;
      outcome.oom_kills = 1;
      break;
    case ContextEnding::output_limit:
      outcome.ending = Ending::output_limit;
      outcome.exit_code = exit_code_after_kill;
      break;
    case ContextEnding::lost:
      if (call.interpreter) {
        outcome = *call.interpreter;
      } else {
        outcome.ending = Ending::cancelled;
      }
      break;
  }
  outcome.wall = call.wall;
  outcome.out = call.out_totals;
  outcome.err = call.err_totals;
  return outcome;
}

// A call that its interpreter did not survive is a failure, also where the interpreter ended with code 0.
void judge(ContextResult& result, const CallResult& call) {
  const runner::Verdict verdict =
      runner::judge_step(runner::StepKind::run, runner::CommandOwner::caller, result.outcome);
  result.category = verdict.category;
  result.cause = verdict.cause;
  result.reason = call.reason.empty() ? verdict.reason : call.reason;
  if (call.ending != ContextEnding::lost) return;
  result.category = Category::runtime_error;
  if (result.cause == Cause::none) result.cause = Cause::exit_code;
}

ContextResult common_part(const CallResult& call, int exit_code) {
  ContextResult result;
  result.outcome = outcome_of(call, exit_code);
  judge(result, call);
  result.state = call.state;
  result.fresh = call.fresh;
  result.late = call.late;
  return result;
}

std::string one_line(const CellError& error) {
  std::string line = error.message.empty() ? error.type : error.type + ": " + error.message;
  std::ranges::replace(line, '\n', ' ');
  if (line.size() > longest_reason) {
    std::size_t end = longest_reason;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;  // not within a character
    line.resize(end);
    line += "...";
  }
  return line;
}

}  // namespace

std::string_view to_string(ContextLanguage language) {
  switch (language) {
    case ContextLanguage::python: return "python";
    case ContextLanguage::bash: return "bash";
    case ContextLanguage::javascript: return "javascript";
    case ContextLanguage::typescript: return "typescript";
  }
  return "python";
}

Result<ContextLanguage> parse_context_language(std::string_view name) {
  const std::string word = lower(name);
  if (word == "python" || word == "py" || word == "python3") return ContextLanguage::python;
  if (word == "bash" || word == "sh" || word == "shell") return ContextLanguage::bash;
  if (word == "javascript" || word == "js" || word == "node") return ContextLanguage::javascript;
  if (word == "typescript" || word == "ts") return ContextLanguage::typescript;
  return fail(ErrorCode::invalid_argument,
              "contexts are available for these languages: python, bash, javascript, typescript");
}

Status check_context_name(std::string_view name) {
  if (auth::is_valid_name(name)) return {};
  return fail(ErrorCode::invalid_argument,
              "a context name must have 1 to 64 letters, digits, '_', '.' or '-', and must not be '.' or '..'");
}

ContextResult to_context_result(CellResult cell) {
  const int exit_code = cell.exit_code.value_or(cell.error ? exit_code_after_exception : 0);
  ContextResult result = common_part(cell, exit_code);
  if (cell.ending == ContextEnding::error && cell.error) result.reason = one_line(*cell.error);
  result.value = std::move(cell.value);
  result.value_cut = cell.value_cut;
  result.error = std::move(cell.error);
  result.figures_left_out = cell.figures_left_out;
  return result;
}

ContextResult to_context_result(CommandResult command) { return common_part(command, command.exit_code); }

}  // namespace cloche::session

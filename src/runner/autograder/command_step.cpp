#include "runner/autograder/command_step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runner/autograder/shell_words.hpp"

namespace cloche::runner {

namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_one_of(const std::vector<std::string>& names, std::string_view program) {
  return std::ranges::find(names, base_name(program)) != names.end();
}

bool is_shell(std::string_view program) {
  const std::string_view name = base_name(program);
  return name == "sh" || name == "bash" || name == "dash";
}

// `-c`, also among others: `-ec`.
bool takes_line(std::string_view option) {
  return option.size() >= 2 && option.front() == '-' && option.back() == 'c' && option[1] != '-';
}

// Whether the word ends a command of the line, so that the next one is a program.
bool ends_command(std::string_view word) {
  return word == "&&" || word == "||" || word == "|" || word == "(" || word == "{" || word == "then" || word == "do" ||
         word == "!" || word.ends_with(';');
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != word.npos && equals > 0 && word.substr(0, equals).find('/') == word.npos;
}

bool line_calls(const std::vector<std::string>& compilers, std::string_view line) {
  const auto words = split_words(line);
  if (!words) return false;
  bool is_program = true;
  for (const std::string& word : *words) {
    if (is_program && is_one_of(compilers, word)) return true;
    is_program = ends_command(word) || (is_program && is_assignment(word));
  }
  return false;
}

// `main.c:1:5: error: …`, `Main.java:3: error: …`, `error: cannot find file`, `error[E0425]: …`,
// `collect2: error: ld returned 1 exit status`.
bool has_complaint(std::string_view err) {
  if (err.find(": error: ") != err.npos || err.find(": fatal error: ") != err.npos) return true;
  for (std::string_view rest = err; !rest.empty();) {
    if (rest.starts_with("error: ") || rest.starts_with("error[")) return true;
    const auto end = rest.find('\n');
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  return false;
}

void add_line(std::string& text, const std::string& line) {
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += line;
}

}  // namespace

std::vector<std::string> compilers_of(const LanguageRegistry& languages) {
  std::vector<std::string> compilers;
  for (const auto& [name, known] : languages.all()) {
    // The name of a program that also runs what it compiled does not show which step failed.
    if (known.compile.empty() || (!known.run.empty() && known.run.front() == known.compile.front())) continue;
    compilers.push_back(known.compile.front());
  }
  return compilers;
}

StepKind step_of(const std::vector<std::string>& compilers, const std::vector<std::string>& argv,
                 std::string_view err) {
  if (argv.empty()) return StepKind::run;
  if (is_one_of(compilers, argv.front())) return StepKind::compile;
  const bool is_line = argv.size() >= 3 && is_shell(argv[0]) && takes_line(argv[1]);
  return is_line && line_calls(compilers, argv[2]) && has_complaint(err) ? StepKind::compile : StepKind::run;
}

void add_forced_end_message(std::string& err, Cause cause, const Outcome& outcome, std::chrono::milliseconds timeout) {
  switch (cause) {
    case Cause::wall:
      add_line(err,
               fmt::format("Execution timed out after {:g} seconds", std::chrono::duration<double>(timeout).count()));
      break;
    case Cause::memory: add_line(err, "Killed: the memory limit was exceeded"); break;
    case Cause::output: add_line(err, "Killed: the output limit was exceeded"); break;
    case Cause::not_started: add_line(err, outcome.reason); break;
    default: break;
  }
}

}  // namespace cloche::runner

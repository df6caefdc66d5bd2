// The result of a call in one of a session's contexts: a run's result, and what a context adds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "context/cell.hpp"
#include "context/command.hpp"
#include "session/runs/run_code.hpp"

namespace cloche::session {

enum class ContextLanguage { python, bash, javascript, typescript };
std::string_view to_string(ContextLanguage language);
// Whatever the case, also by another name. `invalid_argument` lists those there are.
Result<ContextLanguage> parse_context_language(std::string_view name);
// `invalid_argument` with the rule.
Status check_context_name(std::string_view name);

struct ContextResult : RunResult {
  std::optional<std::string> value;  // of the last expression, as Python shows it
  bool value_cut = false;
  std::optional<CellError> error;  // what was raised and not caught
  ContextState state = ContextState::kept;
  bool fresh = false;                  // nothing of an earlier call was there
  Bytes late;                          // printed between calls, and dropped
  std::uint32_t figures_left_out = 0;  // those that were saved are artifacts
};

// How a cell or a command ended, as a run with that end. Artifacts are not searched.
ContextResult to_context_result(CellResult cell);
ContextResult to_context_result(CommandResult command);

}  // namespace cloche::session

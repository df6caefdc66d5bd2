// From a caller's description of a program to the files and steps. No I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cloche/submission.hpp"
#include "language/language.hpp"
#include "runner/judge/verdict.hpp"

namespace cloche::runner {

struct ProgramPlan {
  Language language;
  FileTree files;
  std::optional<Step> compile;
  Step run;  // its argv with the program's arguments
  CommandOwner owner = CommandOwner::language;
  // Where the sandbox has this zygote, the run is forked from it with this argv instead.
  std::string zygote;
  std::vector<std::string> zygote_argv;
  // For a command that runs alone: the programs whose failure counts as a compile failure; see step_of.
  std::vector<std::string> compilers;
};

// Rejects paths that leave the work directory, a tree whose main file cannot be determined, and an empty command.
// Limits are the program's, else those the configuration sets for the language, else those it sets for the profile
// (`profile`: these are left unset), else the language's own.
Result<ProgramPlan> plan_program(const Language& language, Program program, const LimitOverrides& profile = {});

// Relative, below the work directory, plain components.
Status validate_tree(const FileTree& files);

// Which file of the tree holds the program: the language's own name for it, main, index or app, or the only one there
// is.
Result<std::string> find_main_file(const Language& language, const FileTree& files);

}  // namespace cloche::runner

// From a program as a caller describes it to what is done with it: which files, which steps. No I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cloche/submission.hpp"
#include "runner/language.hpp"
#include "runner/verdict.hpp"

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
  // For a command that runs alone: the programs whose failure is that of compiling; see step_of.
  std::vector<std::string> compilers;
};

// Refuses paths that leave the work directory, a tree whose main file cannot be told, an empty command. Limits are the
// program's, else those the configuration has for the language, else those it has for the profile (`profile`: these are
// left unset), else the language's own.
Result<ProgramPlan> plan_program(const Language& language, Program program, const LimitOverrides& profile = {});

// Relative, below the work directory, plain components.
Status validate_tree(const FileTree& files);

// Which file of the tree holds the program: the language's own name for it, main, index or app, or the only one there
// is.
Result<std::string> find_main_file(const Language& language, const FileTree& files);

}  // namespace cloche::runner

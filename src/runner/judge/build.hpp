// Build: a program made ready to run: compiled once, in a sandbox of its own, so that every run starts from the same
// files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runner/step_pool.hpp"

namespace cloche::runner {

struct BuiltProgram {
  ProgramPlan plan;
  StepPool place;
  // The work directory after compiling, as a tar stream; none where nothing was compiled, and plan.files are written.
  std::shared_ptr<const std::string> tree;
  std::shared_ptr<const std::vector<Asset>> assets;  // may be none
};

struct BuildResult {
  CompileReport compile;
  Verdict verdict;       // passed: the program exists
  BuiltProgram program;  // only good when it is
  pool::Lease unused;    // where nothing had to be compiled: the sandbox that was claimed, fit for the first run
};

// An error means that no sandbox was available, or that the plan is impossible; how compiling ended is in the result. A
// sandbox that dies is replaced once.
Task<Result<BuildResult>> build(ProgramPlan plan, StepPool place, Deadline deadline);

// Puts the program into a lease's work directory, these files over it, and its assets into /tmp.
Task<Status> settle_in(pool::Lease& lease, const BuiltProgram& program, const FileTree& files, Deadline deadline);

// How the program is run where the lease comes from: forked from a zygote if there is the one it wants.
StepRun run_of(const BuiltProgram& program);

// Adds advice if a tool of the language is missing.
Verdict explained(Verdict verdict, const ProgramPlan& plan, const Step& step);

}  // namespace cloche::runner

// One test case: a run in a fresh sandbox, and the verdict of the checker.
#pragma once

#include "runner/judge/build.hpp"

namespace cloche::runner {

// A built program that judges others: a checker or an interactor.
struct Judge {
  std::string role;  // for messages
  BuiltProgram program;
};

// Runs a built program once, in a fresh sandbox or in the given one. A sandbox that dies, except by its memory limit,
// is replaced once; an error means that Cloche could not do its work.
struct ProgramRun {
  std::string_view input;
  std::vector<std::string> arguments;
  const FileTree& files;
};
Task<Result<Exec::Collected>> run_program(const BuiltProgram& program, const ProgramRun& run, pool::Lease first,
                                          const ExecObserver& observer, Deadline deadline);

// The case's verdict without a checker's.
CaseReport report_of(const BuiltProgram& program, const TestCase& test, Result<Exec::Collected> ran);

// Compares what was printed with what was expected, where the case expects something and the run was a success.
Task<> check(CaseReport& report, const TestCase& test, const Checker& checker, const Judge* judge, Deadline deadline);

void put_verdict(CaseReport& report, Verdict verdict);

}  // namespace cloche::runner

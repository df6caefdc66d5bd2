// Judging: the cases of one submission, several at a time.
#pragma once

#include <memory>
#include <vector>

#include "core/async/gate.hpp"
#include "core/async/task_group.hpp"
#include "runner/judge/case_run.hpp"

namespace cloche::runner {

class Judging {
 public:
  Judging(Executor executor, Gate& pairs, const Submission& submission, BuiltProgram program,
          std::optional<Judge> judge);

  // `first` is a sandbox for the first case, or none. Everything has ended when this returns or throws.
  Task<std::vector<CaseReport>> run(pool::Lease first, Deadline deadline);

 private:
  struct Running {
    std::size_t index;
    Exec* exec;
  };

  Task<> lane(pool::Lease first, Deadline deadline);
  Task<CaseReport> judge(std::size_t index, pool::Lease first, Deadline deadline);
  // Nothing after the first failure is wanted when the submission says so: not begun, and ended where it runs.
  bool is_wanted(std::size_t index) const { return index < wanted_; }
  void settle(std::size_t index, CaseReport report);
  std::size_t lanes() const;

  Gate& pairs_;
  const Submission& submission_;
  BuiltProgram program_;
  std::optional<Judge> judge_;
  std::vector<CaseReport> reports_;
  std::size_t next_ = 0;
  std::size_t wanted_;
  std::vector<Running> running_;
  TaskGroup tasks_;
};

}  // namespace cloche::runner

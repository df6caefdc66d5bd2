// Programs of the host, as the benchmarks run them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/deadline.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "process/child.hpp"

namespace cloche::bench {

// Runs a program to its end with an empty stdin. Returns what it printed on stdout and stderr. An exit code other than
// 0 is an error with that text.
Result<std::string> run_program(const std::vector<std::string>& argv);
// The same for one that must print just this.
Status expect_output(const std::vector<std::string>& argv, const std::string& wanted);

struct HelperSpec {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // over this process's own
  std::string log;                         // file for its stderr
};

// A program that runs next to the measurement. When the object is destroyed, its stdin is closed so that it ends, and
// after a while it is killed.
class Helper {
 public:
  static Result<Helper> start(const HelperSpec& spec);
  Helper(Helper&&) = default;
  Helper& operator=(Helper&&) = delete;
  ~Helper();

  pid_t pid() const { return child_.pid(); }
  void signal(int number) const { child_.signal(number); }
  // Reads until stdout contains the text; an error when it ends without, or the deadline passes.
  Status wait_for(const std::string& text, Deadline deadline);
  // Ends its stdin and waits; after the deadline it is killed.
  void finish(Deadline deadline);

 private:
  Helper(process::Child child, UniqueFd in, UniqueFd out)
      : child_(std::move(child)), in_(std::move(in)), out_(std::move(out)) {}

  process::Child child_;
  UniqueFd in_;
  UniqueFd out_;
  std::string printed_;
};

}  // namespace cloche::bench

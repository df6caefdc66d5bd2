// Programs of the host, as the benchmarks run them.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "core/deadline.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::bench {

// Where a program is, by its name: in PATH, else where administrators' programs are. Empty: nowhere.
std::string find_program(const std::string& name);

// Runs a program to its end, stdin empty; gives what it printed on stdout and stderr. An exit code that is not 0 is an
// error with those words.
Result<std::string> run_program(const std::vector<std::string>& argv);
// The same for one that must print just this.
Status expect_output(const std::vector<std::string>& argv, const std::string& wanted);

struct ChildSpec {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // over this process's own
  std::string log;                         // file for its stderr
};

// A child process. When the object is destroyed, its stdin is closed so that it ends, and after a while it is killed.
class Child {
 public:
  static Result<Child> start(const ChildSpec& spec);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Reads until stdout holds the text; an error when it ends without, or the deadline passes.
  Status wait_for(const std::string& text, Deadline deadline);
  // Ends its stdin and waits; past the deadline it is killed. The wait status.
  int finish(Deadline deadline);

 private:
  Child() = default;
  bool has_ended_by(Deadline deadline, int& status);

  pid_t pid_ = -1;
  UniqueFd in_;
  UniqueFd out_;
  std::string printed_;
};

}  // namespace cloche::bench

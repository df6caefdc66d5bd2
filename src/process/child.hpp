// Child: a program of the host while it runs. Blocking.
//
// A process that has ended keeps its number until it is reaped. A Child sends no signal afterwards: the number may then
// belong to another process.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <expected>
#include <string>

#include "core/deadline.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "process/spec.hpp"

namespace cloche::process {

struct Ended {
  int status = 0;  // as of wait(2)
  rusage usage{};

  int signal() const;     // 0: it exited
  int exit_code() const;  // 128 + signal if a signal ended it
};

struct StartFailure {
  enum class Where { parent, child };  // parent: the program was not even tried
  Where where = Where::parent;
  const char* step = "";
  int number = 0;  // errno; 0: the child ended without a word

  // `start <program>: <step>: No such file or directory`
  Error as_error(const std::string& program) const;
};

class Child {
 public:
  // Returns when the program has replaced the child, or when that has failed.
  static std::expected<Child, StartFailure> try_start(const Spec& spec);
  static Result<Child> start(const Spec& spec);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  // Kills and reaps a program that has not been reaped.
  ~Child();

  pid_t pid() const { return pid_; }
  // Becomes readable when the program has ended.
  int end_descriptor() const { return descriptor_.get(); }

  // Waits for its end until then. It is not reaped.
  bool ends_by(Deadline deadline) const;
  // Sends a signal to the program alone.
  void signal(int number) const;
  // Kills the program and, if it has a session of its own, all that has stayed in its process group.
  void kill() const;
  // Waits for its end, however long that takes, and reaps it. May be called again.
  const Ended& reap();
  // Waits and reaps. After the deadline the program is killed with its group, and the error is `timeout`.
  Result<Ended> finish(Deadline deadline);

 private:
  Child(pid_t pid, UniqueFd descriptor, const Spec& spec);

  pid_t pid_;
  UniqueFd descriptor_;  // a pidfd
  std::string program_;
  Spec::Session session_;
  bool reaped_ = false;
  Ended ended_;
};

}  // namespace cloche::process

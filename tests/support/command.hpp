// Command: a program of this host, run by a test: what it printed and how it ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/unique_fd.hpp"

namespace cloche::testing_support {

struct CommandEnd {
  int exit_code = -1;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

struct CommandSpec {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // over this process's own
  std::string input;
  std::string directory;
};

// A running one. Killed, if it still runs, when the object goes.
class Command {
 public:
  explicit Command(const CommandSpec& spec);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  pid_t pid() const { return pid_; }
  // Nothing once it has ended.
  void signal(int number) const;
  // Reads until stdout holds the text; false when the program ended, or 60 seconds passed, without it.
  bool wait_for(const std::string& text);
  // To the end, or to the patience's end, when it is killed and the exit code is 137.
  CommandEnd finish(std::chrono::seconds patience = std::chrono::seconds(120));

 private:
  bool read_some(std::chrono::steady_clock::time_point deadline);

  pid_t pid_ = -1;
  UniqueFd out_;
  UniqueFd err_;
  CommandEnd end_;
};

CommandEnd run_command(const CommandSpec& spec);

}  // namespace cloche::testing_support

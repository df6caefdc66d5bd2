// PtyCommand: a program on a terminal that the test holds the other end of.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <string>

#include "support/command.hpp"

namespace cloche {

class PtyCommand {
 public:
  PtyCommand(const testing_support::CommandSpec& spec, unsigned rows, unsigned columns);
  PtyCommand(const PtyCommand&) = delete;
  PtyCommand& operator=(const PtyCommand&) = delete;
  // Killed, if it still runs.
  ~PtyCommand();

  void type(const std::string& keys) const;
  void resize(unsigned rows, unsigned columns) const;
  void signal(int number) const;
  // Reads until this was printed after all that was waited for before; false when the program ended or a minute passed.
  bool wait_for(const std::string& text);
  // To the end; its exit code, 128 and the signal's number where one ended it.
  int finish();

  const std::string& printed() const { return printed_; }
  // Whether the terminal takes lines and shows what is typed, as a shell wants it.
  bool is_as_usual() const;

 private:
  bool read_some();

  pid_t pid_ = -1;
  UniqueFd terminal_;
  UniqueFd kept_;  // the program's end, so that its settings can be looked at when the program is gone
  std::string printed_;
  std::size_t seen_ = 0;
};

}  // namespace cloche

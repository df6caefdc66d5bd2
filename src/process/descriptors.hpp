// What a program's stdin, stdout and stderr are made of: pipes and files in memory.
#pragma once

#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::process {

// Both ends are close-on-exec.
struct Pipe {
  UniqueFd read;
  UniqueFd write;
};
Result<Pipe> make_pipe();

// An in-memory file with this content, to be read from its beginning: input that nothing has to write while the program
// runs.
Result<UniqueFd> make_input(std::string_view content);

// An in-memory file of limited size, for the output of a program that outlives its starter: it does not have to be
// read, and it cannot grow. Not /dev/null: crun and runsc change the owner of what they get, and that would be the
// device itself.
Result<UniqueFd> make_bounded_memory(Bytes most);
// The first 64 KiB of the bytes written so far.
std::string read_bounded_memory(int fd);

}  // namespace cloche::process

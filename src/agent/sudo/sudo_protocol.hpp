// What the program `sudo` and the agent say to each other, over a stream socket with an abstract name. There is one
// only in sandboxes with root.
//
// The client sends its descriptors 0, 1, 2 and its work directory, then a SudoRequest after its length (4 bytes), then
// the numbers of signals (1 byte each) that the command shall get. The answer is one SudoAnswer. gVisor does not say
// who has connected: there the client first sends a byte with its credentials, which the kernel checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/codec.hpp"

namespace cloche::agent {

inline constexpr std::string_view sudo_socket_name = "cloche-sudo";
inline constexpr std::size_t most_sudo_request = 4 * 1024 * 1024;

struct SudoRequest {
  std::vector<std::string> argv;
  std::string program;  // what is executed, where it is not argv's first
  std::vector<std::string> env;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t umask = 022;
  std::string directory;  // instead of the one that was sent; empty: that one
};
template <class Fields>
void fields(Fields& f, SudoRequest& m) {
  f(1, m.argv);
  f(2, m.program);
  f(3, m.env);
  f(4, m.uid);
  f(5, m.gid);
  f(6, m.umask);
  f(7, m.directory);
}

// Plain numbers: both are of one build.
struct SudoAnswer {
  enum class Kind : std::uint32_t { ended, refused } kind = Kind::refused;
  std::int32_t status = 0;  // as from wait()
};

}  // namespace cloche::agent

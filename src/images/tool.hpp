// Tool: a program of the host that works for an image: mmdebstrap, apt, tar. Blocking; for a thread that may wait.
//
// It is killed with all its children when the object is destroyed, and when Cloche itself is killed.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "process/child.hpp"

namespace cloche::images {

struct ToolSpec {
  std::vector<std::string> argv;  // argv[0] is searched in the system's directories
  std::vector<std::string> environment;
  std::string input;      // its stdin
  std::string directory;  // where it starts; empty: where Cloche is
  enum class Errors {
    apart,   // stderr is kept, see `complaints`
    joined,  // stderr is read with stdout
  };
  Errors errors = Errors::joined;
  // In its own process and mount namespaces: nothing that it starts or mounts outlives it.
  enum class Isolation { none, own_processes_and_mounts };
  Isolation isolation = Isolation::none;
};

// PATH, a neutral language, and what says how to reach the network: the proxy variables.
std::vector<std::string> plain_environment();

// The absolute path of a system program; not_found if it does not exist.
Result<std::string> find_tool(const std::string& name);

class Tool {
 public:
  static Result<Tool> start(const ToolSpec& spec);

  // Some of its output; none at its end. `cancelled` or `timeout` when the token says so.
  Result<std::string> read(const CancelToken& token);
  // After its output has ended: its exit code, 128 + signal when one ended it.
  int wait();
  // The beginning of what it said on stderr, where that is apart.
  std::string complaints() const;

 private:
  friend Result<std::string> output_of(const ToolSpec& spec, const CancelToken& token);
  Tool(process::Child child, UniqueFd out, UniqueFd err)
      : child_(std::move(child)), out_(std::move(out)), err_(std::move(err)) {}

  process::Child child_;
  UniqueFd out_;
  UniqueFd err_;
};

// Runs it to its end, handing each line to `line`.
using LineSink = std::function<void(std::string_view line)>;
Result<int> run_lines(const ToolSpec& spec, const LineSink& line, const CancelToken& token);

// Runs it to its end: its output, of which there must not be more than 4 MiB. An exit code other than 0 is an error.
Result<std::string> output_of(const ToolSpec& spec, const CancelToken& token);

}  // namespace cloche::images

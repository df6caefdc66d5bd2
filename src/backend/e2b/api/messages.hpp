// Messages of an E2B service: what is sent, and what comes back, checked. No I/O. The service is another's: each text
// that is used as a part of an address or of a log line is checked first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/bytes.hpp"
#include "core/result.hpp"

namespace cloche::e2b {

using Metadata = std::map<std::string, std::string>;

// A sandbox as the service describes it. A response to a creation has neither metadata nor sizes.
struct RemoteSandbox {
  std::string id;            // lower-case letters, digits and '-'
  std::string access_token;  // empty: none is needed
  std::string domain;        // of its address; empty: the usual one
  std::string envd_version;
  bool is_paused = false;
  Metadata metadata;
  double cpus = 0;  // zero: not known
  Bytes memory;
  Bytes disk;
};

struct NewSandbox {
  std::string template_name;
  std::uint32_t lifetime_s = 0;
  bool secure_access = true;
  bool allow_internet_access = false;
  Metadata metadata;
};
std::string write_new_sandbox(const NewSandbox& sandbox);

// protocol if it is not such a description.
Result<RemoteSandbox> read_sandbox(std::string_view body);
// A page of a list. protocol if an element has no valid id; more than `most` elements are one, too.
Result<std::vector<RemoteSandbox>> read_sandboxes(std::string_view body, std::size_t most);

// The value of the query's `metadata`, before it is encoded as a part of a URL.
std::string write_metadata_filter(const Metadata& wanted);

// The message of an error response, printable and short.
std::string read_message(std::string_view body);
// The seconds of a Retry-After; zero if there are none, at most an hour.
std::uint32_t read_retry_after(std::string_view value);

// A program to start.
struct Command {
  std::vector<std::string> argv;  // at least one
  std::string tag;                // names it in other calls; empty: none
  bool has_stdin = false;
};
std::string write_start(const Command& command);
std::string write_input(std::uint32_t pid, std::string_view bytes);

// What happens to a program.
struct ProgramStarted {
  std::uint32_t pid = 0;
};
struct ProgramOutput {
  std::string bytes;
  bool is_error_output = false;
};
struct ProgramEnded {
  int exit_code = 0;
  std::string status;  // `exit status 3`, `signal: killed`
};
struct KeepAlive {};
using ProgramEvent = std::variant<ProgramStarted, ProgramOutput, ProgramEnded, KeepAlive>;
// protocol if it is none. An event of a kind that this program does not know is KeepAlive.
Result<ProgramEvent> read_event(std::string_view message);

// How a stream ended: success, or the error that its last message contains.
Status read_end(std::string_view message);

// The error of a unary call, by the body or else the status.
Error read_call_error(unsigned status, std::string_view body);

}  // namespace cloche::e2b

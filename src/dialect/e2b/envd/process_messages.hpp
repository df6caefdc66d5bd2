// Messages of the service process.Process, as our types. No I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/exec.hpp"
#include "cloche/outcome.hpp"
#include "cloche/output.hpp"
#include "dialect/e2b/connect/failure.hpp"
#include "dialect/e2b/connect/proto_object.hpp"

namespace cloche::dialect::e2b {

struct ProcessConfig {
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::optional<std::string> cwd;
};

struct StartRequest {
  ProcessConfig config;
  std::optional<TerminalSize> terminal;
  std::optional<std::string> tag;
  bool has_stdin = true;
};
Result<StartRequest> read_start(const connect::ProtoObject& message);

struct ProcessSelector {
  std::optional<std::uint32_t> pid;
  std::string tag;  // without a pid
};
// That of the field `process`.
Result<ProcessSelector> read_selector(const connect::ProtoObject& message);

struct ProcessInput {
  enum class Kind { stdin_bytes, terminal_bytes } kind = Kind::stdin_bytes;
  std::string bytes;
};
// That of the field `input`.
Result<ProcessInput> read_input(const connect::ProtoObject& message);

// SIGTERM or SIGKILL.
connect::Reply<int> read_signal(const connect::ProtoObject& message);
Result<TerminalSize> read_size(const connect::ProtoObject& message);

// A process of List.
struct ProcessInfo {
  ProcessConfig config;
  std::uint32_t pid = 0;
  std::optional<std::string> tag;
  bool has_stdin = false;
  bool has_terminal = false;
};
json::object to_json(const ProcessInfo& info);

// A process as the sandbox remembers it while the server restarts: its variables are not kept.
std::string label_of(const ProcessInfo& info);
// nullopt for the label of another part of the server.
std::optional<ProcessInfo> info_of_label(std::string_view label, const std::vector<std::string>& argv,
                                         std::uint32_t pid);

// Events: {"event": {...}}
json::object start_event(std::uint32_t pid);
json::object data_event(std::string_view kind, std::string_view bytes);
json::object keepalive_event();
json::object end_event(const Outcome& outcome);

}  // namespace cloche::dialect::e2b

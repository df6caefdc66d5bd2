// What can be run in a session: code or a shell line, each as a fresh process, or code in one of its contexts.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "cloche/submission.hpp"
#include "context/call_result.hpp"
#include "session/runs/artifact_rules.hpp"
#include "session/runs/artifacts.hpp"

namespace cloche::session {

struct Code {
  std::string language;  // its name or another name for it, whatever the case
  std::string text;
};
struct ShellLine {
  std::string line;  // for bash where the sandbox has one, else for sh
  enum class Pipes { last_command, any_failure } pipes = Pipes::last_command;  // whose status a pipe has
};

// What every run has.
struct RunSettings {
  std::string input;                                 // stdin
  std::optional<std::chrono::milliseconds> timeout;  // without compiling, and without the wait for a context
  Bytes keep_output = mib(1);                        // of stdout, and of stderr
  ArtifactCaps artifacts;                            // the rules are the session's, under what follows
  ArtifactChoice artifact_choice;
};

// A fresh process, which starts in the workspace.
struct RunRequest : RunSettings {
  std::variant<Code, ShellLine> what;
  std::map<std::string, std::string> env;  // over the session's
  std::string work_dir;                    // below the workspace, or absolute; empty: the workspace
  FileTree files;                          // written into the workspace before; all or nothing
};

// A call in one of the session's contexts, which has its own environment and directory.
struct ContextCall : RunSettings {
  std::string context;  // its name
  std::string language;
  std::string code;
  std::map<std::string, std::string> env;  // variables that are set during the call
  DisplaySink display;                     // what it shows, in a context with rich results
  bool finds_artifacts = true;
};

using RunCall = std::variant<RunRequest, ContextCall>;

}  // namespace cloche::session

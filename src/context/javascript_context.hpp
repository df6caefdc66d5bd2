// JavaScriptContext: a Node.js in a sandbox in which cells follow each other and variables live on.
//
// Cells are evaluated as by Node's REPL. One that runs too long gets a SIGINT; if it does not end, the context loses
// its interpreter, and the next cell gets a new one. Cells have no stdin.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "context/cell.hpp"
#include "context/context_core.hpp"

namespace cloche {

struct JavaScriptContextOptions {
  enum class Language { javascript, typescript } language = Language::javascript;
  std::map<std::string, std::string> env;                     // beside those that every program has
  std::string directory;                                      // empty: the sandbox's work directory
  std::chrono::milliseconds grace = std::chrono::seconds(2);  // for a cell to end after a SIGINT
};

// Destroying it ends the interpreter and all that it started.
class JavaScriptContext {
 public:
  // The sandbox must live as long as the context. Not started: the first cell, or restart(), does that.
  JavaScriptContext(Executor executor, LiveSandbox& sandbox, JavaScriptContextOptions options);

  // As PythonContext::execute. `invalid_argument` for a cell with input.
  Task<Result<CellResult>> execute(CellRequest request, OutputSink sink, Deadline deadline = Deadline::never());

  // A new interpreter, in its turn; the former one ends.
  Task<Status> restart(Deadline deadline) { return core_.restart(deadline); }
  // Ends it; waits until it is gone. Calls under way fail.
  Task<> close() { return core_.close(); }
  bool alive() const { return core_.alive(); }

 private:
  ContextCore core_;
};

}  // namespace cloche

// PythonContext: a Python interpreter in a sandbox in which cells follow each other and variables live on.
//
// The driver reports a cell's end on a separate descriptor, after all output of the cell. A cell that runs too long
// gets a SIGINT, as from Ctrl-C, together with its process group; if it does not end, the context loses its
// interpreter. A lost context reports that immediately, call after call, until restart().
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "context/cell.hpp"
#include "context/context_core.hpp"

namespace cloche {

enum class CellResults {
  plain,  // the value of the last expression as text, figures as files
  rich,   // what a cell shows in all its forms, by CellRequest::display; figures, too. Not with a zygote.
};

struct PythonContextOptions {
  std::string interpreter = "python3";
  std::string zygote;                      // forked from this one, which prepare() has made; empty: started plainly
  std::map<std::string, std::string> env;  // beside those that every program has
  std::string directory;                   // cells start here; empty: the sandbox's work directory
  std::string figures = "figures";         // directory for figures, below that one
  CellResults results = CellResults::plain;
  AfterLoss after_loss = AfterLoss::refuse;
  std::chrono::milliseconds grace = std::chrono::seconds(2);  // for a cell to end after a SIGINT
};

// Destroying it ends the interpreter and all that it started.
class PythonContext {
 public:
  // Makes a zygote for contexts: an interpreter with these modules imported. It survives a reset of the sandbox.
  static Task<Status> prepare(LiveSandbox& sandbox, std::string zygote, std::string interpreter,
                              std::vector<std::string> imports, Deadline deadline);

  // Starts an interpreter. The sandbox must live as long as the context.
  static Task<Result<std::unique_ptr<PythonContext>>> open(LiveSandbox& sandbox, PythonContextOptions options,
                                                           Deadline deadline);

  // Runs a cell, after those that were asked for before. The deadline is the caller's own, over the cell's limit and
  // the time it waits for its turn: when it passes, or the caller is cancelled, the cell is interrupted and the answer
  // is a timeout error.
  Task<Result<CellResult>> execute(CellRequest request, OutputSink sink, Deadline deadline = Deadline::never());

  // A new interpreter, in its turn; the former one ends.
  Task<Status> restart(Deadline deadline) { return core_.restart(deadline); }
  // Ends it; waits until it is gone. Calls under way fail.
  Task<> close() { return core_.close(); }
  bool alive() const { return core_.alive(); }

  // Not started: the first cell, or restart(), does that.
  PythonContext(Executor executor, LiveSandbox& sandbox, PythonContextOptions options);

 private:
  std::string figures_;  // the directory, then the context's own mark
  std::uint64_t cells_ = 0;
  ContextCore core_;
};

}  // namespace cloche

// KeptContext: one interpreter of a session, whatever its language.
#pragma once

#include <memory>

#include "context/python_context.hpp"
#include "session/context_result.hpp"

namespace cloche::session {

class KeptContext {
 public:
  virtual ~KeptContext() = default;

  // Starts the interpreter if there is none. Calls run one after the other, in order.
  virtual Task<Result<ContextResult>> run(ContextCall call, OutputSink sink, Deadline deadline) = 0;
  virtual Task<Status> restart(Deadline deadline) = 0;
  virtual Task<> close() = 0;
  virtual bool alive() const = 0;
};

struct ContextOptions {
  ContextLanguage language = ContextLanguage::python;
  std::string directory;                     // absolute; empty: the workspace
  CellResults results = CellResults::plain;  // of Python; JavaScript can show things in any case
};

// Not started yet. The session's sandbox must exist until it was closed.
std::unique_ptr<KeptContext> make_context(Session& session, ContextOptions options);

}  // namespace cloche::session

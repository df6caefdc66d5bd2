// Kernels: the contexts of a sandbox as the code interpreter counts them: by ids of its own, one per language that is
// there from the start, and with numbered executions.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "session/contexts.hpp"
#include "session/session.hpp"

namespace cloche::dialect::e2b {

struct Kernel {
  std::string id;
  session::ContextLanguage language = session::ContextLanguage::python;
  std::string cwd;
  std::uint64_t executions = 0;
  bool started = false;  // those that are there from the start are started by their first execution
};

// They end with the server's process, as contexts do: ids of an earlier process are unknown.
class Kernels final : public session::SessionPart {
 public:
  explicit Kernels(session::Session& session);

  // In the order in which they were made.
  const std::list<Kernel>& all() const { return kernels_; }
  // nullptr if there is none with this id.
  Kernel* find(std::string_view id);
  // The usual one of a language. `invalid_argument` for a language that has no contexts.
  Result<Kernel*> usual(std::string_view language);

  Task<Result<Kernel>> create(session::ContextLanguage language, std::string cwd, Deadline deadline);
  Task<Status> restart(std::string id, Deadline deadline);
  Task<Status> remove(std::string id);

  // Starts it where that has not been done.
  Task<Status> start(std::string id, Deadline deadline);

  // The contexts themselves are another part of the session, which closes them.
  Task<> close() override { co_return; }
  bool busy() const override { return false; }

 private:
  Kernel& add(session::ContextLanguage language, std::string cwd);

  session::Session& session_;
  std::list<Kernel> kernels_;
};

}  // namespace cloche::dialect::e2b

// Which shell a session's sandbox has: bash where there is one, else sh. Looked for once.
#pragma once

#include <string>

#include "session/session.hpp"

namespace cloche::session {

class ShellChoice final : public SessionPart {
 public:
  explicit ShellChoice(Session& session) : session_(session) {}

  // Its absolute path.
  Task<Result<std::string>> find(Deadline deadline);

  Task<> close() override { co_return; }
  bool busy() const override { return false; }

 private:
  Session& session_;
  std::string found_;
};

}  // namespace cloche::session

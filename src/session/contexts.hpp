// Contexts: the interpreters of a session that live on from call to call, by name. They end with the session, and with
// the server: a name that is used again afterwards is a fresh one, and its first result says so.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/async/task_group.hpp"
#include "session/context_result.hpp"
#include "session/kept_context.hpp"
#include "session/session.hpp"

namespace cloche::session {

struct ContextInfo {
  std::string name;
  ContextLanguage language = ContextLanguage::python;
  std::string directory;    // absolute
  bool alive = false;       // its interpreter runs; one that was lost is replaced by the next call
  std::uint32_t calls = 0;  // under way or waiting for their turn
  WallTime created;
  WallTime last_used;
};

class Contexts final : public SessionPart {
 public:
  static constexpr std::size_t most = 8;           // of one session
  static constexpr std::uint32_t most_calls = 16;  // of one context, under way or waiting

  explicit Contexts(Session& session);

  // Runs a call in the context with that name, which is created if it does not exist. Calls of one context run in
  // order. `invalid_argument` for an invalid name or language, `already_exists` if the context has another language,
  // `limit_reached` for too many, `sandbox_lost` if the sandbox dies, `cancelled` if the context is closed meanwhile,
  // `timeout` if the deadline passes, which includes the wait. How the code ended is in the result. If the caller is
  // cancelled, its call is interrupted; the state is kept if possible.
  Task<Result<ContextResult>> run(ContextCall call, OutputSink sink, Deadline deadline);

  // Makes one and starts it. `already_exists` where the name is taken.
  Task<Result<ContextInfo>> create(std::string name, ContextOptions options, Deadline deadline);
  // By name.
  std::vector<ContextInfo> list() const;
  // A new interpreter under the same name, in its turn. `not_found` if there is none with that name.
  Task<Result<ContextInfo>> restart(std::string name, Deadline deadline);
  // Running calls fail. `not_found` if there is none with that name.
  Task<Status> close(std::string name);

  Task<> close() override;
  bool busy() const override;

 private:
  struct Entry;
  class Turn;

  Result<std::shared_ptr<Entry>> find(const std::string& name) const;
  Result<std::shared_ptr<Entry>> make(const std::string& name, ContextOptions options);
  Result<std::shared_ptr<Entry>> find_or_make(const std::string& name, std::string_view language);
  Task<Result<ContextResult>> run_in(Entry& entry, ContextCall call, OutputSink sink, Deadline deadline);
  Task<Result<ContextInfo>> start_anew(std::shared_ptr<Entry> entry, Deadline deadline);
  void drop(std::shared_ptr<Entry> entry);

  Session& session_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  bool closed_ = false;
  TaskGroup endings_;
};

}  // namespace cloche::session

#include "session/kept_context.hpp"

#include "context/python_context.hpp"
#include "context/shell_context.hpp"

namespace cloche::session {

namespace {

class KeptPython final : public KeptContext {
 public:
  explicit KeptPython(Session& session) : python_(session.executor(), *session.lease(), options_for(session)) {}

  Task<Result<ContextResult>> run(ContextCall call, OutputSink sink, Deadline deadline) override {
    CellRequest request;
    request.code = std::move(call.code);
    request.input = std::move(call.input);
    if (call.timeout) request.wall_limit = *call.timeout;
    request.caps.keep_output = call.keep_output;
    auto ran = co_await python_.execute(std::move(request), std::move(sink), deadline);
    if (!ran) co_return fail(std::move(ran).error());
    co_return to_context_result(std::move(*ran));
  }
  Task<Status> restart(Deadline deadline) override { return python_.restart(deadline); }
  Task<> close() override { return python_.close(); }
  bool alive() const override { return python_.alive(); }

 private:
  static PythonContextOptions options_for(Session& session) {
    PythonContextOptions options;
    options.env = session.lease().binding().env;
    options.directory = session.work_dir();
    options.after_loss = AfterLoss::restart;
    return options;
  }

  PythonContext python_;
};

class KeptShell final : public KeptContext {
 public:
  explicit KeptShell(Session& session) : shell_(session.executor(), *session.lease(), options_for(session)) {}

  Task<Result<ContextResult>> run(ContextCall call, OutputSink sink, Deadline deadline) override {
    CommandRequest request;
    request.command = std::move(call.code);
    request.input = std::move(call.input);
    if (call.timeout) request.wall_limit = *call.timeout;
    request.caps.keep_output = call.keep_output;
    auto ran = co_await shell_.run(std::move(request), std::move(sink), deadline);
    if (!ran) co_return fail(std::move(ran).error());
    co_return to_context_result(std::move(*ran));
  }
  Task<Status> restart(Deadline deadline) override { return shell_.restart(deadline); }
  Task<> close() override { return shell_.close(); }
  bool alive() const override { return shell_.alive(); }

 private:
  static ShellContextOptions options_for(Session& session) {
    ShellContextOptions options;
    options.env = session.lease().binding().env;
    options.directory = session.work_dir();
    return options;
  }

  ShellContext shell_;
};

}  // namespace

std::unique_ptr<KeptContext> make_context(Session& session, ContextLanguage language) {
  if (language == ContextLanguage::python) return std::make_unique<KeptPython>(session);
  return std::make_unique<KeptShell>(session);
}

}  // namespace cloche::session

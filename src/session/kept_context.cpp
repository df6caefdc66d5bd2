#include "session/kept_context.hpp"

#include "context/javascript_context.hpp"
#include "context/shell_context.hpp"

namespace cloche::session {

namespace {

std::string directory_of(Session& session, const ContextOptions& options) {
  return options.directory.empty() ? session.work_dir() : options.directory;
}

CellRequest to_cell(ContextCall call) {
  CellRequest request;
  request.code = std::move(call.code);
  request.input = std::move(call.input);
  request.env = std::move(call.env);
  request.display = std::move(call.display);
  if (call.timeout) request.wall_limit = *call.timeout;
  request.caps.keep_output = call.keep_output;
  return request;
}

// Python or JavaScript: what takes cells.
template <class Context>
class KeptCells final : public KeptContext {
 public:
  template <class Options>
  KeptCells(Session& session, Options options) : cells_(session.executor(), *session.lease(), std::move(options)) {}

  Task<Result<ContextResult>> run(ContextCall call, OutputSink sink, Deadline deadline) override {
    auto ran = co_await cells_.execute(to_cell(std::move(call)), std::move(sink), deadline);
    if (!ran) co_return fail(std::move(ran).error());
    co_return to_context_result(std::move(*ran));
  }
  Task<Status> restart(Deadline deadline) override { return cells_.restart(deadline); }
  Task<> close() override { return cells_.close(); }
  bool alive() const override { return cells_.alive(); }

 private:
  Context cells_;
};

PythonContextOptions python_options(Session& session, const ContextOptions& wanted) {
  PythonContextOptions options;
  options.env = session.lease().binding().env;
  options.directory = directory_of(session, wanted);
  options.results = wanted.results;
  options.after_loss = AfterLoss::restart;
  return options;
}

JavaScriptContextOptions javascript_options(Session& session, const ContextOptions& wanted) {
  using Language = JavaScriptContextOptions::Language;
  JavaScriptContextOptions options;
  options.language = wanted.language == ContextLanguage::typescript ? Language::typescript : Language::javascript;
  options.env = session.lease().binding().env;
  options.directory = directory_of(session, wanted);
  return options;
}

// The command with these variables set, as a shell reads it.
std::string with_environment(const std::map<std::string, std::string>& env, std::string command) {
  if (env.empty()) return command;
  std::string set;
  std::string unset;
  for (const auto& [name, value] : env) {
    std::string quoted;
    for (const char c : value) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    set.append("export ").append(name).append("='").append(quoted).append("'\n");
    unset.append(" ").append(name);
  }
  return set + command + "\n{ __cloche_status=$?; unset" + unset + "; (exit $__cloche_status); }";
}

class KeptShell final : public KeptContext {
 public:
  KeptShell(Session& session, const ContextOptions& options)
      : shell_(session.executor(), *session.lease(), options_for(session, options)) {}

  Task<Result<ContextResult>> run(ContextCall call, OutputSink sink, Deadline deadline) override {
    CommandRequest request;
    request.command = with_environment(call.env, std::move(call.code));
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
  static ShellContextOptions options_for(Session& session, const ContextOptions& wanted) {
    ShellContextOptions options;
    options.env = session.lease().binding().env;
    options.directory = directory_of(session, wanted);
    return options;
  }

  ShellContext shell_;
};

}  // namespace

std::unique_ptr<KeptContext> make_context(Session& session, ContextOptions options) {
  switch (options.language) {
    case ContextLanguage::python:
      return std::make_unique<KeptCells<PythonContext>>(session, python_options(session, options));
    case ContextLanguage::javascript:
    case ContextLanguage::typescript:
      return std::make_unique<KeptCells<JavaScriptContext>>(session, javascript_options(session, options));
    case ContextLanguage::bash: break;
  }
  return std::make_unique<KeptShell>(session, options);
}

}  // namespace cloche::session

// Container: a sandbox as the autograder's clients know it: files in, commands run, files out, requests to its
// application.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloche/container_types.hpp"
#include "language/language_registry.hpp"
#include "pool/lease.hpp"
#include "runner/judge/verdict.hpp"

namespace cloche::runner {

class Container {
 public:
  // `language` is the language whose command replaces "CMD"; its compilers come from the registry.
  Container(std::shared_ptr<LiveSandbox> sandbox, pool::Binding binding, const LanguageRegistry& languages,
            std::optional<Language> language, std::uint16_t port);

  // Names below the work directory; directories are made. `Path must stay within working directory: …`
  Task<Status> prepare_workdir(FileTree files, Deadline deadline = Deadline::never());

  // Below /tmp. A target that escapes is refused before anything is written.
  Task<Status> inject_assets(std::vector<Asset> assets, Deadline deadline = Deadline::never());

  // The command is split like in a shell and runs without one; a command that cannot be split is passed to `sh -c`.
  // "CMD" is replaced by the language's own. A command with & at its end runs in the background until the lease ends. A
  // sandbox that fails gives a response of category system_error; an error is the caller's mistake.
  Task<Result<CommandResponse>> run_command(std::string command, CommandOptions options);

  // Each of `lines` is a line of the program's stdin. Without a program they come back as they are.
  Task<Result<CommandResponse>> run_commands(std::vector<std::string> lines, std::optional<std::string> program,
                                             CommandOptions options);

  // `File not found in container: …`, `File exceeds maximum size: n bytes > m bytes`.
  Task<Result<ExtractedFile>> extract_file(std::string path, Bytes most, Deadline deadline = Deadline::never());

  Task<Result<AppResponse>> make_request(AppRequest request);

 private:
  std::vector<std::string> argv_of(const std::string& command) const;
  std::vector<std::string> own_command() const;
  // Clients call the work directory /app, as that of the autograder's containers.
  std::string real_path(const std::string& path) const;
  Task<Result<CommandResponse>> start_in_background(std::vector<std::string> argv, CommandOptions options);
  Task<Result<CommandResponse>> run(std::vector<std::string> argv, std::optional<std::string> input,
                                    CommandOptions options);

  std::shared_ptr<LiveSandbox> sandbox_;
  pool::Binding binding_;
  std::vector<std::string> compilers_;
  std::optional<Language> language_;
  std::uint16_t port_;
  FileTree sources_;  // names that were prepared; of a Java source its content, too
};

// The response for an outcome. `compile` if the command is a compiler of a language.
CommandResponse to_response(Exec::Collected ran, StepKind step, std::chrono::milliseconds timeout);

}  // namespace cloche::runner

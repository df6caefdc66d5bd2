/// @file
/// SandboxContainer: a sandbox with the interface of the autograder, for blocking code.
///
///     auto lease = manager.acquire("python");
///     cloche::SandboxContainer container(*lease, {.language = "python"});
///     container.prepare_workdir({{"calculator.py", source}});
///     auto response = container.run_commands({"5", "3"}, "python3 calculator.py");
///     // response.out, response.exit_code, response.category
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloche/container_types.hpp"
#include "cloche/sandbox.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// The autograder's view of a sandbox. The caller keeps the ownership of the sandbox.
class CLOCHE_API SandboxContainer {
 public:
  /// When the sandbox is released or destroyed, every call throws SandboxLostError.
  explicit SandboxContainer(Sandbox& sandbox, const ContainerOptions& options = {});
  SandboxContainer(SandboxContainer&&) noexcept;
  ~SandboxContainer();

  /// Writes files to the work directory and creates directories. Names cannot lead out of it.
  void prepare_workdir(FileTree files);
  /// Writes files to /tmp. If one target leads out of it, nothing is written.
  void inject_assets(std::vector<Asset> assets);
  /// Splits the command like a shell and runs it without one. A line with unmatched quotes is passed to `sh -c`. "CMD"
  /// is replaced by the command of the language. A timeout gives exit code 124 and a message in `err`; earlier output
  /// is kept.
  CommandResponse run_command(std::string command, CommandOptions options = {});
  /// Passes each of `lines` as a line of stdin, byte for byte. Without a program it returns the lines unchanged.
  CommandResponse run_commands(std::vector<std::string> lines, std::optional<std::string> program = {},
                               CommandOptions options = {});
  /// Throws SandboxNotFoundError if the file does not exist, SandboxResourceError if it has more than `most` bytes.
  ExtractedFile extract_file(std::string path, Bytes most = mib(1));
  /// Sends an HTTP request to an application in the sandbox. This works without a network.
  AppResponse make_request(AppRequest request);

  struct CLOCHE_LOCAL Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche

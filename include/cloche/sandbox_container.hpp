/// @file
/// SandboxContainer: a sandbox as the autograder's clients know it, for plain blocking code.
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

/// The autograder's view of a sandbox, which stays the caller's.
class CLOCHE_API SandboxContainer {
 public:
  /// Once the sandbox is given back or destroyed, every call throws SandboxLostError.
  explicit SandboxContainer(Sandbox& sandbox, const ContainerOptions& options = {});
  SandboxContainer(SandboxContainer&&) noexcept;
  ~SandboxContainer();

  /// Files into the work directory, which no name can leave; directories are made.
  void prepare_workdir(FileTree files);
  /// Files into /tmp. When one target escapes, none is written.
  void inject_assets(std::vector<Asset> assets);
  /// Split as a shell would and run without one; a line whose quotes do not match goes to `sh -c`. "CMD" is the
  /// language's own command. A timeout is exit code 124 and says so in `err`; what was printed before is kept.
  CommandResponse run_command(std::string command, CommandOptions options = {});
  /// Each of `lines` is a line of the program's stdin, byte for byte. Without a program they come back as they are.
  CommandResponse run_commands(std::vector<std::string> lines, std::optional<std::string> program = {},
                               CommandOptions options = {});
  /// SandboxNotFoundError when there is none, SandboxResourceError when it holds more than `most`.
  ExtractedFile extract_file(std::string path, Bytes most = mib(1));
  /// HTTP to an application in the sandbox, network or not.
  AppResponse make_request(AppRequest request);

  struct CLOCHE_LOCAL Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche

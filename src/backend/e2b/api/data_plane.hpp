// DataPlane: calls of the service inside one sandbox (envd), which runs programs and stores files. All of them act as
// root of the sandbox.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/e2b/api/messages.hpp"
#include "backend/e2b/api/program_stream.hpp"
#include "backend/e2b/options.hpp"
#include "core/async/task.hpp"
#include "http/client.hpp"

namespace cloche::e2b {

// Errors have the codes of the service; `unavailable` if the sandbox cannot be reached, which may pass, or mean that it
// is gone: Enclosure's dial asks the control plane.
class DataPlane {
 public:
  DataPlane(Executor executor, Address address, const RemoteSandbox& sandbox);

  // Whether the sandbox can be reached. `unavailable` otherwise.
  Task<Status> check_health(Deadline deadline);

  // Writes a file, and creates its directory.
  Task<Status> upload(std::string path, std::string content, Deadline deadline);

  // Starts a program. The stream begins with ProgramStarted, and ends with the program; the program outlives it.
  struct Started {
    std::uint32_t pid = 0;
    std::unique_ptr<ProgramStream> events;
  };
  Task<Result<Started>> start(Command command, Deadline deadline);

  // Runs a program to its end. A program that fails is an error with what it printed.
  Task<Status> run(Command command, Deadline deadline);

  Task<Status> send_input(std::uint32_t pid, std::string_view bytes, Deadline deadline);

 private:
  http::Request request_for(std::string method, std::string target) const;

  Address address_;
  http::Fields fields_;
  http::Client client_;
};

}  // namespace cloche::e2b

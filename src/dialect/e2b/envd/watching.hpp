// Watching: a directory that a client watches, and its events in the form of envd.
#pragma once

#include <memory>
#include <string>

#include "dialect/e2b/envd/file_use.hpp"

namespace cloche::dialect::e2b {

struct WatchRequest {
  std::string path;  // absolute
  bool is_recursive = false;
  bool with_entries = false;
};

// Belongs to one client. It does not count as a file operation while it waits.
class Watching {
 public:
  // invalid_argument if the path is not a directory, not_found if it does not exist.
  static Task<connect::Reply<std::unique_ptr<Watching>>> begin(DataCall& call, const connect::ProtoObject& message);

  // One or more events, each a FilesystemEvent. `timeout` at the deadline; `cancelled` if the directory is gone;
  // `limit_reached` if events were lost; after other errors there is nothing more.
  Task<Result<std::vector<json::object>>> next(Deadline deadline);

 private:
  Watching(std::shared_ptr<LiveSandbox> sandbox, SandboxUser user, WatchRequest request,
           std::unique_ptr<FileWatch> watch);
  Task<json::object> describe(const WatchEvent& event);

  std::shared_ptr<LiveSandbox> sandbox_;
  SandboxUser user_;
  WatchRequest request_;
  OwnerNames names_;
  std::unique_ptr<FileWatch> watch_;
};

// What a client is told about an error of `next`.
connect::Failure failure_of_watch(Error error);

}  // namespace cloche::dialect::e2b

// FileUse: a file operation of a call, counted in the tenant's quota and the session's bound, with the rights of its
// user.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/files/file_call.hpp"
#include "dialect/e2b/envd/entry_info.hpp"
#include "dialect/e2b/envd/routes.hpp"

namespace cloche::dialect::e2b {

struct FileUse {
  api::FileTurn turn;
  std::shared_ptr<LiveSandbox> sandbox;
  SandboxUser user;
  Files files;

  // The absolute path that a caller means; see resolve_path.
  Result<std::string> resolve(std::string_view path) const;
  OwnerNames names() const { return OwnerNames(sandbox->spec()); }
};

// Waits for its turn.
Task<connect::Reply<std::unique_ptr<FileUse>>> begin_file_use(DataCall& call, std::string user);

// What an operation may take at most.
Deadline file_deadline(Deadline asked);

// What is at the path, in the form of envd. not_found names the path.
Task<connect::Reply<json::object>> describe_file(FileUse& use, std::string path, Deadline deadline);
// The same of what a path leads to, as far as its type is concerned.
Task<Result<FileEntry>> stat_with_details(Files files, std::string path, Deadline deadline);

}  // namespace cloche::dialect::e2b

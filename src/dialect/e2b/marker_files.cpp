#include "dialect/e2b/marker_files.hpp"

#include "dialect/e2b/sandbox_environment.hpp"
#include "sandbox/files.hpp"
#include "sandbox/spec.hpp"
#include "sandbox/users.hpp"

namespace cloche::dialect::e2b {

Task<Status> write_marker_files(session::Session& session, Deadline deadline) {
  const auto sandbox = session.lease().shared();
  if (!sandbox->spec().root) co_return Status{};
  CLOCHE_CO_TRY(const SandboxUser root, find_user(sandbox->spec(), "root"));
  Files files = sandbox->files_of(root);
  for (const auto& [name, value] : sandbox_identity(session)) {
    FilePath place(std::string(root_run_dir) + "/e2b/." + name);
    WriteOptions options;
    auto written = co_await files.write(std::move(place), value, std::move(options), deadline);
    if (!written) co_return fail(std::move(written).error().at("write the files of the sandbox's identity"));
  }
  co_return Status{};
}

}  // namespace cloche::dialect::e2b

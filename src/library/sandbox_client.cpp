// SandboxClient: a manager of one sandbox.
#include "cloche/sandbox_manager.hpp"

namespace cloche {

void SandboxClient::create(SandboxSettings settings, std::vector<Mount> volumes) {
  if (sandbox_) throw SandboxArgumentError("the client already has a sandbox; call cleanup() first");
  if (!manager_) {
    SandboxManagerOptions options;
    options.engine = options_;
    options.max_sandboxes = 1;
    options.idle_timeout = std::chrono::hours(24 * 365);  // it is the client's to end
    manager_.emplace(std::move(options));
  }
  sandbox_ = manager_->get_sandbox(manager_->create_sandbox(std::move(settings), std::move(volumes)));
}

ShellSandbox& SandboxClient::sandbox() {
  if (!sandbox_) throw SandboxArgumentError("Sandbox not initialized: call create() first");
  return *sandbox_;
}

ShellResult SandboxClient::run_command(const std::string& command, std::optional<std::chrono::milliseconds> timeout) {
  return sandbox().run_command(command, timeout);
}
std::string SandboxClient::read_file(const std::string& path, Bytes most) { return sandbox().read_file(path, most); }
void SandboxClient::write_file(const std::string& path, std::string content) {
  sandbox().write_file(path, std::move(content));
}
CopyReport SandboxClient::copy_to(const std::string& host_path, const std::string& path) {
  return sandbox().copy_to(host_path, path);
}
CopyReport SandboxClient::copy_from(const std::string& path, const std::string& host_path, Bytes most) {
  return sandbox().copy_from(path, host_path, most);
}

void SandboxClient::cleanup() {
  if (!sandbox_) return;
  const std::string id = sandbox_->id();
  sandbox_.reset();
  manager_->delete_sandbox(id);
}

}  // namespace cloche

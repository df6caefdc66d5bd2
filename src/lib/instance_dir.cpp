#include "lib/instance_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

namespace cloche {

Result<std::unique_ptr<InstanceDir>> InstanceDir::claim(const EngineOptions& options) {
  const std::string backend = options.backend == BackendKind::docker ? "docker" : "oci";
  const std::string path = options.state_dir + "/instances/" + backend + "/" + options.instance;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return fail(errno_error("make " + path + " (run as root, or choose another state directory)", error.value()));
  }
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  if (error) return fail(errno_error("protect " + path, error.value()));
  UniqueFd lock(::open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return fail_errno("open " + path + "/lock");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail_errno("lock " + path);
    return fail(ErrorCode::already_exists, "another process manages the pools of instance '" + options.instance +
                                               "': stop it, or choose another `instance`");
  }
  return std::unique_ptr<InstanceDir>(new InstanceDir(path, std::move(lock)));
}

}  // namespace cloche

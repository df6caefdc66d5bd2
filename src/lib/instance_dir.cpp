#include "lib/instance_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

namespace cloche {

namespace {

// A server that was killed while it started a runtime leaves a child that has its lock until it becomes that runtime.
constexpr std::chrono::milliseconds longest_start_of_a_child{2000};
constexpr std::chrono::milliseconds between_tries{10};

// 0, or the errno of the last try.
int lock_soon(int file) {
  const auto latest = std::chrono::steady_clock::now() + longest_start_of_a_child;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > latest) return errno;
    std::this_thread::sleep_for(between_tries);
  }
  return 0;
}

}  // namespace

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
  if (const int error_number = lock_soon(lock.get()); error_number != 0) {
    if (error_number != EWOULDBLOCK) return fail(errno_error("lock " + path, error_number));
    return fail(ErrorCode::already_exists, "another process manages the pools of instance '" + options.instance +
                                               "': stop it, or choose another `instance`");
  }
  return std::unique_ptr<InstanceDir>(new InstanceDir(path, std::move(lock)));
}

}  // namespace cloche

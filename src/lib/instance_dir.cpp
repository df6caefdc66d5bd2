#include "lib/instance_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Whoever can exchange what is in it has the agents of all sandboxes, and with them all that callers send.
Status check_owner(const std::string& directory) {
  struct stat about{};
  if (::stat(directory.c_str(), &about) != 0) return fail_errno("look at " + directory);
  const bool is_ours = about.st_uid == ::geteuid() || about.st_uid == 0;
  const bool is_for_our_group = about.st_gid == ::getegid() || about.st_gid == 0;
  const bool others_write = (about.st_mode & S_IWOTH) != 0 || ((about.st_mode & S_IWGRP) != 0 && !is_for_our_group);
  if (is_ours && !others_write) return {};
  return fail(ErrorCode::permission_denied, directory +
                                                " can be changed by other users: make it root's own (chown root, "
                                                "chmod go-w), or choose another state directory");
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
  CLOCHE_CHECK(check_owner(options.state_dir));
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

#include "host/instance_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "host/identity_file.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche {

namespace {

std::string lock_in(const std::string& directory) { return directory + "/lock"; }

// A user who can replace files in it controls the agents of all sandboxes, and so everything that callers send.
Status check_owner(const std::string& directory) {
  struct stat about{};
  if (::stat(directory.c_str(), &about) != 0) return fail_errno("inspect " + directory);
  const bool is_ours = about.st_uid == ::geteuid() || about.st_uid == 0;
  const bool is_for_our_group = about.st_gid == ::getegid() || about.st_gid == 0;
  const bool others_write = (about.st_mode & S_IWOTH) != 0 || ((about.st_mode & S_IWGRP) != 0 && !is_for_our_group);
  if (is_ours && !others_write) return {};
  return fail(ErrorCode::permission_denied, directory +
                                                " is writable by other users; run chown root and chmod go-w on it, "
                                                "or choose another state directory");
}

Result<std::string> make_place(const EngineOptions& options) {
  const std::string path = options.state_dir + "/instances/" + backend_of(options) + "/" + options.instance;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return fail(errno_error("create " + path + " (run as root or choose another state directory)", error.value()));
  }
  CLOCHE_CHECK(check_owner(options.state_dir));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  if (error) return fail(errno_error("protect " + path, error.value()));
  const auto canonical = std::filesystem::canonical(path, error);
  if (error) return fail(errno_error("inspect " + path, error.value()));
  return canonical.string();
}

// The file contains the holder, for people.
std::string holder_in(int lock) {
  char text[32];
  const ssize_t n = ::pread(lock, text, sizeof text, 0);
  std::string pid(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid.empty() ? "another process" : "process " + pid;
}

Result<UniqueFd> lock_place(const std::string& place, const EngineOptions& options) {
  UniqueFd lock(::open(lock_in(place).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return fail_errno("open " + lock_in(place));
  if (const int number = lock_file_soon(lock.get()); number != 0) {
    if (number != EWOULDBLOCK) return fail(errno_error("lock " + place, number));
    return fail(ErrorCode::already_exists, "instance '" + options.instance + "' of the state directory " +
                                               options.state_dir + " is in use by " + holder_in(lock.get()) +
                                               "; stop that process, or choose another `instance` or `state_dir`");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), pid.data(), pid.size(), 0) < 0)
    return fail_errno("write " + lock_in(place));
  return lock;
}

}  // namespace

std::string backend_of(const EngineOptions& options) { return std::string(traits_of(options.backend).name); }

std::string engine_of(const EngineOptions& options) {
  const BackendTraits& backend = traits_of(options.backend);
  if (backend.engine == nullptr) return {};
  if (!(options.*backend.engine).empty()) return options.*backend.engine;
  const char* address = std::getenv(std::string(backend.engine_variable).c_str());
  return address != nullptr && *address != '\0' ? address : std::string(backend.usual_engine);
}

bool is_instance_held(const std::string& directory) {
  const UniqueFd lock(::open(lock_in(directory).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void InstanceDir::made_nothing() {
  if (owner_.found() == OwnerLock::Found::nothing) owner_.release();
}

InstanceDir::~InstanceDir() {
  if (nothing_left_) owner_.release();
}

Result<std::unique_ptr<InstanceDir>> InstanceDir::claim(const EngineOptions& options) {
  InstanceId id;
  id.name = options.instance;
  CLOCHE_TRY(id.place, make_place(options));
  CLOCHE_TRY(UniqueFd lock, lock_place(id.place, options));
  CLOCHE_TRY(id.value, ensure_identity(id.place));
  OwnerEntry entry{id.value, id.name, backend_of(options), engine_of(options), id.place, options.run_dir};
  auto owner = OwnerRegistry::of_host(options).hold(std::move(entry));
  if (!owner && owner.error().code == ErrorCode::already_exists) {
    return fail(ErrorCode::already_exists,
                id.place + " is a copy of another server's directory: " + owner.error().message + ". Remove " +
                    id.place + " so that the next start creates a new identity, or stop that process");
  }
  if (!owner) return fail(std::move(owner).error());
  return std::unique_ptr<InstanceDir>(new InstanceDir(std::move(id), std::move(lock), std::move(*owner)));
}

}  // namespace cloche

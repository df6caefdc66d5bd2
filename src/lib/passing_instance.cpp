#include "lib/passing_instance.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "core/ids.hpp"

namespace cloche {

namespace {

// One directory a backend and engine, so that nobody looks for another's.
std::string lock_directory(const EngineOptions& options) {
  return options.run_dir + (options.backend == BackendKind::docker ? "/passing-docker" : "/passing-oci");
}

}  // namespace

PassingInstance::PassingInstance(InstanceId id, std::string path, UniqueFd lock)
    : id_(std::move(id)), path_(std::move(path)), lock_(std::move(lock)) {}

Result<std::unique_ptr<PassingInstance>> PassingInstance::claim(const EngineOptions& options) {
  const std::string directory = lock_directory(options);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(errno_error("make " + directory + " (run as root, or choose another run directory)", error.value()));
  InstanceId id{"passing-" + random_hex(6)};
  std::string path = directory + "/" + id.value;
  // Locked before it has its name, so that it is never seen unlocked while its owner lives.
  const std::string draft = directory + "/." + id.value;
  UniqueFd lock(::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!lock) return fail_errno("make " + draft);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || ::rename(draft.c_str(), path.c_str()) != 0) {
    auto failure = fail_errno("claim " + path);
    ::unlink(draft.c_str());
    return failure;
  }
  return std::unique_ptr<PassingInstance>(new PassingInstance(std::move(id), std::move(path), std::move(lock)));
}

PassingInstance::~PassingInstance() {
  ::unlink(path_.c_str());
  ::rmdir(std::filesystem::path(path_).parent_path().c_str());  // the last one; fails while there are others
}

std::vector<AbandonedInstance> AbandonedInstance::find(const EngineOptions& options) {
  std::vector<AbandonedInstance> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(lock_directory(options), error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("passing-")) continue;
    AbandonedInstance instance;
    instance.id_.value = name;
    instance.path_ = entry.path();
    instance.lock_.reset(::open(instance.path_.c_str(), O_RDWR | O_CLOEXEC));
    if (instance.lock_ && ::flock(instance.lock_.get(), LOCK_EX | LOCK_NB) == 0) found.push_back(std::move(instance));
  }
  return found;
}

void AbandonedInstance::forget() { ::unlink(path_.c_str()); }

}  // namespace cloche

#include "lib/passing_instance.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/ids.hpp"

namespace cloche {

namespace {

std::string lock_directory(const EngineOptions& options) {
  return options.run_dir + (options.backend == BackendKind::docker ? "/passing-docker" : "/passing-oci");
}

// Stands in the lock's file: who uses another engine cannot know what is left on this one.
std::string engine_of(const EngineOptions& options) {
  if (options.backend != BackendKind::docker) return {};
  if (!options.docker_host.empty()) return options.docker_host;
  const char* host = std::getenv("DOCKER_HOST");
  return host != nullptr ? host : "";
}

Result<UniqueFd> make_draft(const std::string& directory, const std::string& path) {
  // The last one of others may take the directory with it at this moment.
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error)
      return fail(errno_error("make " + directory + " (run as root, or choose another run directory)", error.value()));
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file) return file;
    if (errno != ENOENT) break;
  }
  return fail_errno("make " + path);
}

Status claim_draft(int lock, const std::string& engine, const std::string& draft, const std::string& path) {
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) return fail_errno("lock " + draft);
  if (::write(lock, engine.data(), engine.size()) != static_cast<ssize_t>(engine.size()))
    return fail_errno("write " + draft);
  if (::rename(draft.c_str(), path.c_str()) != 0) return fail_errno("claim " + path);
  return {};
}

std::string read_all(int fd) {
  char text[4096];
  const ssize_t n = ::pread(fd, text, sizeof text, 0);
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

}  // namespace

PassingInstance::PassingInstance(InstanceId id, std::string path, UniqueFd lock)
    : id_(std::move(id)), path_(std::move(path)), lock_(std::move(lock)) {}

Result<std::unique_ptr<PassingInstance>> PassingInstance::claim(const EngineOptions& options) {
  const std::string directory = lock_directory(options);
  InstanceId id{"passing-" + random_hex(6)};
  std::string path = directory + "/" + id.value;
  // Locked before it has its name, so that it is never seen unlocked while its owner lives.
  const std::string draft = directory + "/." + id.value;
  CLOCHE_TRY(UniqueFd lock, make_draft(directory, draft));
  if (auto claimed = claim_draft(lock.get(), engine_of(options), draft, path); !claimed) {
    ::unlink(draft.c_str());
    return fail(std::move(claimed).error());
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
    if (!instance.lock_ || read_all(instance.lock_.get()) != engine_of(options)) continue;
    if (::flock(instance.lock_.get(), LOCK_EX | LOCK_NB) == 0) found.push_back(std::move(instance));
  }
  return found;
}

void AbandonedInstance::forget() { ::unlink(path_.c_str()); }

}  // namespace cloche

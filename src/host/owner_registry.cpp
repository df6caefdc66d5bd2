#include "host/owner_registry.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "core/ids.hpp"
#include "json/lenient_json.hpp"

namespace cloche {

namespace {

constexpr const char* directory_of_host = "/run/cloche/owners";
// A process that was killed while it started a runtime leaves a child that has its lock until it becomes that runtime.
constexpr std::chrono::milliseconds longest_start_of_a_child{2000};
constexpr std::chrono::milliseconds between_tries{10};
// The last owner takes the directory with it, and another one may be taking a dead owner's file at this moment.
constexpr int most_attempts = 50;

std::string to_json(const OwnerEntry& entry) {
  return json::serialize(json::object{{"id", entry.id},
                                      {"name", entry.name},
                                      {"backend", entry.backend},
                                      {"engine", entry.engine},
                                      {"state", entry.state},
                                      {"run_dir", entry.run_dir},
                                      {"pid", entry.pid}}) +
         "\n";
}

// A file that cannot be read says nothing but its name.
OwnerEntry read_entry(int file, const std::string& id) {
  OwnerEntry entry;
  entry.id = id;
  char text[8192];
  const ssize_t n = ::pread(file, text, sizeof text, 0);
  const auto fields = json::parse_object(std::string_view(text, n > 0 ? static_cast<std::size_t>(n) : 0));
  if (!fields) return entry;
  entry.name = json::text(*fields, "name");
  entry.backend = json::text(*fields, "backend");
  entry.engine = json::text(*fields, "engine");
  entry.state = json::text(*fields, "state");
  entry.run_dir = json::text(*fields, "run_dir");
  entry.pid = static_cast<pid_t>(json::number(*fields, "pid"));
  return entry;
}

Status write_entry(int file, const OwnerEntry& entry, const std::string& path) {
  const std::string text = to_json(entry);
  if (::ftruncate(file, 0) != 0) return fail_errno("write " + path);
  if (::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return fail_errno("write " + path);
  return {};
}

// False when the file was removed, or replaced, after it was opened.
bool is_still_named(int file, const std::string& path) {
  struct stat opened{}, named{};
  return ::fstat(file, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

bool is_id(std::string_view name) { return !name.empty() && name.front() != '.'; }

}  // namespace

int lock_file_soon(int file) {
  const auto latest = std::chrono::steady_clock::now() + longest_start_of_a_child;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > latest) return errno;
    std::this_thread::sleep_for(between_tries);
  }
  return 0;
}

void OwnerLock::release() {
  if (!file_) return;
  ::unlink(path_.c_str());
  ::rmdir(std::filesystem::path(path_).parent_path().c_str());  // fails while there are others
  file_.reset();
}

OwnerRegistry OwnerRegistry::of_host(const EngineOptions& options) {
  return OwnerRegistry(::geteuid() == 0 ? directory_of_host : options.run_dir + "/owners");
}

// Nothing when the name is taken, or the directory went away.
Result<std::optional<OwnerLock>> OwnerRegistry::try_new(const OwnerEntry& entry) const {
  const std::string path = path_of(entry.id);
  const std::string draft = directory_ + "/." + entry.id + "-" + random_hex(4);
  UniqueFd file(::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) return fail_errno("make " + draft);
  Status ready;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) ready = fail_errno("lock " + draft);
  if (ready) ready = write_entry(file.get(), entry, draft);
  const bool named = ready && ::link(draft.c_str(), path.c_str()) == 0;
  if (ready && !named && errno != EEXIST && errno != ENOENT) ready = fail_errno("make " + path);
  ::unlink(draft.c_str());
  if (!ready) return fail(std::move(ready).error());
  if (!named) return std::nullopt;
  return OwnerLock(entry, path, std::move(file), OwnerLock::Found::nothing);
}

// Nothing if the file no longer exists.
Result<std::optional<OwnerLock>> OwnerRegistry::try_present(const OwnerEntry& entry) const {
  const std::string path = path_of(entry.id);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) return fail_errno("open " + path);
  if (const int number = lock_file_soon(file.get()); number != 0) {
    if (number != EWOULDBLOCK) return fail(errno_error("lock " + path, number));
    const OwnerEntry holder = read_entry(file.get(), entry.id);
    return fail(ErrorCode::already_exists, "the identity " + entry.id + " is in use by process " +
                                               std::to_string(holder.pid) +
                                               (holder.state.empty() ? "" : ", which stores it in " + holder.state));
  }
  if (!is_still_named(file.get(), path)) return std::nullopt;
  CLOCHE_CHECK(write_entry(file.get(), entry, path));
  return OwnerLock(entry, path, std::move(file), OwnerLock::Found::earlier);
}

Result<OwnerLock> OwnerRegistry::hold(OwnerEntry entry) const {
  entry.pid = ::getpid();
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error) {
      return fail(
          errno_error("make " + directory_ + " (run as root or choose a writable run directory)", error.value()));
    }
    ::chmod(directory_.c_str(), 0700);
    CLOCHE_TRY(auto made, try_new(entry));
    if (made) return std::move(*made);
    CLOCHE_TRY(auto present, try_present(entry));
    if (present) return std::move(*present);
  }
  return fail(ErrorCode::unavailable, "cannot register in " + directory_ + ": its files keep changing; retry");
}

Result<std::vector<OwnerEntry>> OwnerRegistry::entries() const {
  std::vector<OwnerEntry> all;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(directory_, error)) {
    const std::string id = each.path().filename();
    if (!is_id(id)) continue;
    const UniqueFd file(::open(each.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file) all.push_back(read_entry(file.get(), id));
  }
  if (error && error.value() != ENOENT) return fail(errno_error("list " + directory_, error.value()));
  return all;
}

std::optional<OwnerEntry> OwnerRegistry::find(const std::string& id) const {
  if (!is_id(id)) return std::nullopt;
  const UniqueFd file(::open(path_of(id).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return std::nullopt;
  return read_entry(file.get(), id);
}

std::optional<OwnerLock> OwnerRegistry::take_over(const std::string& id) const {
  if (!is_id(id)) return std::nullopt;
  const std::string path = path_of(id);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !is_still_named(file.get(), path)) return std::nullopt;
  OwnerEntry entry = read_entry(file.get(), id);
  return OwnerLock(std::move(entry), path, std::move(file), OwnerLock::Found::earlier);
}

bool OwnerRegistry::is_alive(const std::string& id) const {
  const UniqueFd file(::open(path_of(id).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  // Asked with a shared lock, so that two who ask at once do not take each other for the owner.
  return file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace cloche

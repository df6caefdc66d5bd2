#include "host/identity_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/ids.hpp"
#include "core/log.hpp"
#include "core/unique_fd.hpp"
#include "json/lenient_json.hpp"

namespace cloche {

namespace {

constexpr std::size_t id_bytes = 10;

struct Kept {
  std::string id;
  std::string path;  // of the directory in which it was written
};

std::string file_in(const std::string& directory) { return directory + "/identity"; }

// not_found if there is no file; protocol if it is damaged.
Result<Kept> read_kept(const std::string& directory) {
  const std::string path = file_in(directory);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return fail_errno("open " + path);
  char text[8192];
  const ssize_t n = ::read(file.get(), text, sizeof text);
  if (n < 0) return fail_errno("read " + path);
  const auto fields = json::parse_object(std::string_view(text, static_cast<std::size_t>(n)));
  Kept kept;
  if (fields) kept = {json::text(*fields, "id"), json::text(*fields, "path")};
  if (!is_owner_id(kept.id) || kept.path.empty()) {
    return fail(ErrorCode::protocol,
                path +
                    " is damaged; remove it to start with a new identity. `cloche doctor --abandoned` then shows "
                    "the sandboxes of the old one");
  }
  return kept;
}

Status sync_directory(const std::string& directory) {
  const UniqueFd file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) return fail_errno("sync " + directory);
  return {};
}

Status write_kept(const std::string& directory, const Kept& kept) {
  const std::string path = file_in(directory);
  const std::string draft = path + ".new";  // one process at a time: the directory is locked
  const std::string text = json::serialize(json::object{{"id", kept.id}, {"path", kept.path}}) + "\n";
  ::unlink(draft.c_str());
  UniqueFd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno("create " + draft);
  Status written;
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    written = fail_errno("write " + draft);
  if (written && ::fsync(file.get()) != 0) written = fail_errno("sync " + draft);
  if (written && ::rename(draft.c_str(), path.c_str()) != 0) written = fail_errno("rename to " + path);
  if (!written) {
    ::unlink(draft.c_str());
    return written;
  }
  return sync_directory(directory);
}

// Through a bind mount or a link one file may have two paths.
bool is_same_file(const std::string& one, const std::string& other) {
  struct stat a{}, b{};
  return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

std::string new_owner_id() { return random_hex(id_bytes); }

bool is_owner_id(std::string_view text) {
  return text.size() == 2 * id_bytes &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<std::string> ensure_identity(const std::string& directory) {
  auto kept = read_kept(directory);
  if (!kept && kept.error().code != ErrorCode::not_found) return fail(std::move(kept).error());
  if (!kept) {
    const Kept fresh{new_owner_id(), directory};
    CLOCHE_CHECK(write_kept(directory, fresh));
    return fresh.id;
  }
  if (kept->path == directory) return kept->id;
  if (identity_in(kept->path) != kept->id) {
    log::info("the state directory was moved from {} to {}; it keeps its identity {}", kept->path, directory, kept->id);
    kept->path = directory;
    CLOCHE_CHECK(write_kept(directory, *kept));
    return kept->id;
  }
  if (is_same_file(file_in(kept->path), file_in(directory))) return kept->id;
  return fail(ErrorCode::already_exists,
              directory + " is a copy of " + kept->path + " and has the same identity " + kept->id +
                  ". Two servers with one identity would remove each other's sandboxes. Remove " + directory +
                  " (its records describe the sandboxes of the original); the next start creates a new identity there");
}

std::optional<std::string> identity_in(const std::string& directory) {
  if (directory.empty()) return std::nullopt;
  auto kept = read_kept(directory);
  if (!kept) return std::nullopt;
  return std::move(kept->id);
}

}  // namespace cloche

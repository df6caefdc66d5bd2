#include "agent/prepare/prepare.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

constexpr std::size_t largest_table = 4 << 20;
constexpr std::uint32_t most_id = 65'533;

std::unexpected<Error> bad_preparation(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

Result<std::uint32_t> parse_id(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || number > most_id)
    return bad_preparation("invalid id '" + std::string(text) + "'");
  return number;
}

// Opens a directory without following a link in its last part; the ones above are the system's own.
UniqueFd open_directory(int parent, const std::string& name) {
  return UniqueFd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Result<bool> is_empty(int directory) {
  const int copy = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
  DIR* list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) return fail_errno("read a directory");
  bool found = false;
  while (const dirent* entry = ::readdir(list)) {
    const std::string_view name = entry->d_name;
    // A new file system has one of its own.
    if (name != "." && name != ".." && name != "lost+found") found = true;
  }
  ::closedir(list);
  return !found;
}

Status hand_over(int directory, const std::string& path, const SandboxUser& user, bool is_new) {
  struct stat about;
  if (::fstat(directory, &about) != 0) return fail_errno("stat " + path);
  if (about.st_uid == user.uid && about.st_gid == user.gid) return {};
  if (!is_new && about.st_uid != user.uid) {
    CLOCHE_TRY(const bool empty, is_empty(directory));
    if (!empty) {
      return fail(ErrorCode::already_exists,
                  path + " exists, is not empty and does not belong to uid " + std::to_string(user.uid));
    }
  }
  if (::fchown(directory, user.uid, user.gid) != 0) return fail_errno("change the owner of " + path);
  return {};
}

Status ensure_directory(const std::string& path, const SandboxUser& user) {
  UniqueFd at(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) return fail_errno("open /");
  bool is_new = false;
  for (std::size_t from = 1; from <= path.size();) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    const std::string part = path.substr(from, end - from);
    const std::string so_far = path.substr(0, end);
    is_new = ::mkdirat(at.get(), part.c_str(), 0755) == 0;
    if (!is_new && errno != EEXIST && errno != EROFS) return fail_errno("create " + so_far);
    const int why = is_new ? 0 : errno;
    const bool is_last = end == path.size();
    // Above the last part a link may be the system's own layout: /var/run, /home.
    UniqueFd next = is_last ? open_directory(at.get(), part)
                            : UniqueFd(::openat(at.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!next) return fail(errno_error("create " + so_far, why == EROFS && errno == ENOENT ? EROFS : errno));
    if (is_new && ::fchmod(next.get(), 0755) != 0) return fail_errno("create " + so_far);
    at = std::move(next);
    from = end + 1;
  }
  return hand_over(at.get(), path, user, is_new);
}

Result<std::string> read_table(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::string();
  if (!file) return fail_errno("open " + path);
  std::string content;
  char room[4096];
  for (;;) {
    const ssize_t count = ::read(file.get(), room, sizeof room);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("read " + path);
    if (count == 0) return content;
    content.append(room, static_cast<std::size_t>(count));
    if (content.size() > largest_table) return fail(ErrorCode::limit_reached, path + " is too large");
  }
}

// Written next to it and renamed: there is never half of it.
Status write_table(const std::string& path, std::string_view content) {
  const std::string draft = path + ".cloche";
  const UniqueFd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) return fail_errno("create " + draft);
  Status done;
  while (done && !content.empty()) {
    const ssize_t count = ::write(file.get(), content.data(), content.size());
    if (count < 0 && errno != EINTR) done = fail_errno("write " + draft);
    if (count > 0) content.remove_prefix(static_cast<std::size_t>(count));
  }
  if (done && ::fchmod(file.get(), 0644) != 0) done = fail_errno("write " + draft);
  if (done && ::rename(draft.c_str(), path.c_str()) != 0) done = fail_errno("rename " + draft);
  if (!done) ::unlink(draft.c_str());
  return done;
}

Status ensure_user(const SandboxUser& user, const std::string& etc) {
  CLOCHE_TRY(const std::string passwd, read_table(etc + "/passwd"));
  if (knows_user(passwd, user)) return {};
  CLOCHE_CHECK(write_table(etc + "/passwd", with_passwd_line(passwd, user)));
  CLOCHE_TRY(const std::string group, read_table(etc + "/group"));
  return write_table(etc + "/group", with_group_line(group, user));
}

bool is_plain_path(std::string_view path) {
  if (path.size() < 2 || path.size() > 4095 || path.front() != '/') return false;
  for (path.remove_prefix(1);;) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

Result<Preparation> parse_preparation(int count, char** arguments) {
  if (count != 5) return bad_preparation("expected NAME UID GID HOME WORK_DIR");
  Preparation wanted;
  wanted.user.name = arguments[0];
  CLOCHE_TRY(wanted.user.uid, parse_id(arguments[1]));
  CLOCHE_TRY(wanted.user.gid, parse_id(arguments[2]));
  wanted.user.home = arguments[3];
  wanted.work_dir = arguments[4];
  const std::string_view name = wanted.user.name;
  if (name.empty() || name.size() > 32 || name.find_first_of(":\n/") != name.npos)
    return bad_preparation("invalid user name '" + wanted.user.name + "'");
  if (!is_plain_path(wanted.user.home) || !is_plain_path(wanted.work_dir))
    return bad_preparation("the directories must be absolute paths without '..'");
  return wanted;
}

Status prepare(const Preparation& wanted, const std::string& etc) {
  CLOCHE_CHECK(ensure_user(wanted.user, etc));
  CLOCHE_CHECK(ensure_directory(wanted.user.home, wanted.user));
  return ensure_directory(wanted.work_dir, wanted.user);
}

int run_prepare(int count, char** arguments) {
  const auto wanted = parse_preparation(count, arguments);
  const Status done = wanted ? prepare(*wanted) : Status(std::unexpected(wanted.error()));
  if (done) return 0;
  std::fprintf(stderr, "cloche-agent: prepare: %s\n", done.error().message.c_str());
  return 1;
}

}  // namespace cloche::agent

#include "agent/files/operations/unpacker.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/files/streams.hpp"
#include "agent/files/tree/resolve.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const auto slash = path.find('/');
    components.emplace_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return components;
}

timespec time_of(const tar::Entry& entry) {
  return {.tv_sec = entry.mtime, .tv_nsec = static_cast<long>(entry.mtime_ns)};
}

// A time that the file system cannot hold is not worth a failure.
void set_mtime(int fd, const timespec& mtime) {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, mtime};
  (void)::futimens(fd, times);
}

}  // namespace

Status Unpacker::add(const tar::Entry& entry) {
  path_ = entry.path;
  CLOCHE_CHECK(close_file());
  CLOCHE_CHECK(count_one());
  ++entries_;
  if (limits_.bytes != 0 && entry.size > limits_.bytes - bytes_) {
    return fail(ErrorCode::limit_reached,
                "the archive's content is larger than the " + std::to_string(limits_.bytes) + " bytes allowed");
  }
  bytes_ += entry.size;
  // The top itself exists, and the archive does not decide its mode.
  if (entry.path.empty()) return {};
  return add_named(entry);
}

Status Unpacker::count_one() {
  if (entries_ + implied_ < limits_.entries) return {};
  return fail(ErrorCode::limit_reached,
              "the archive has more than the " + std::to_string(limits_.entries) + " entries allowed");
}

Status Unpacker::add_named(const tar::Entry& entry) {
  std::vector<std::string> components = components_of(entry.path);
  name_ = std::move(components.back());
  components.pop_back();
  CLOCHE_CHECK(go_to(components));
  switch (entry.type) {
    case tar::EntryType::file: return make_file(entry);
    case tar::EntryType::directory: return make_directory(entry);
    case tar::EntryType::symlink: return make_symlink(entry);
    case tar::EntryType::hardlink: return make_hardlink(entry);
  }
  return {};
}

Status Unpacker::data(std::string_view bytes) {
  if (const int number = write_all(file_.get(), bytes); number != 0) return refuse(number);
  missing_ -= bytes.size();
  return missing_ == 0 ? close_file() : Status();
}

Status Unpacker::finish() {
  CLOCHE_CHECK(close_file());
  while (!trail_.empty()) CLOCHE_CHECK(leave());
  return {};
}

Status Unpacker::make_file(const tar::Entry& entry) {
  CLOCHE_CHECK(clear_name());
  file_.reset(::openat(here(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) return refuse(errno);
  missing_ = entry.size;
  file_mode_ = mode_for(entry);
  file_mtime_ = time_of(entry);
  return missing_ == 0 ? close_file() : Status();
}

mode_t Unpacker::mode_for(const tar::Entry& entry) const {
  constexpr mode_t usual = 0644;
  if (entry.mode != 0 || limits_.no_mode == UnpackLimits::NoMode::is_zero) return entry.mode;
  const auto place = resolve_place(destination_, Links::beneath, entry.path);
  struct stat status = {};
  const bool replaces_file = place &&
                             ::fstatat(place->parent.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                             S_ISREG(status.st_mode);
  return replaces_file ? status.st_mode & 0777 : usual;
}

Status Unpacker::close_file() {
  if (!file_) return {};
  if (::fchmod(file_.get(), file_mode_) != 0) return refuse(errno);
  set_mtime(file_.get(), file_mtime_);
  file_.reset();
  return {};
}

Status Unpacker::make_directory(const tar::Entry& entry) {
  if (through_link_) {
    // This is rare, and then its current mode stays: no process can have changed it.
    if (::mkdirat(here(), name_.c_str(), 0755) != 0 && errno != EEXIST) return refuse(errno);
    return {};
  }
  // A link with this name is not followed, as a directory made through it would be.
  struct stat status = {};
  if (::fstatat(here(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode))
    return refuse(EEXIST);
  CLOCHE_CHECK(enter(name_, Enter::named));
  metas_.back() = {.mode = entry.mode, .mtime = time_of(entry)};
  return {};
}

Status Unpacker::make_symlink(const tar::Entry& entry) {
  CLOCHE_CHECK(clear_name());
  if (::symlinkat(entry.link.c_str(), here(), name_.c_str()) != 0) return refuse(errno);
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, time_of(entry)};
  (void)::utimensat(here(), name_.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return {};
}

Status Unpacker::make_hardlink(const tar::Entry& entry) {
  if (entry.link == entry.path) return {};
  auto source = resolve_place(cursor_.top(), Links::beneath, entry.link);
  struct stat status = {};
  const auto exists = [&] {
    return source && ::fstatat(source->parent.get(), source->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  };
  if (!exists()) {
    source = resolve_place(destination_, Links::beneath, entry.link);
    if (!exists())
      return fail(ErrorCode::invalid_argument, "archive entry `" + shown(path_) + "`: hard link to `" +
                                                   shown(entry.link) + "`, which does not exist");
  }
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) return refuse(EINVAL);
  CLOCHE_CHECK(clear_name());
  if (::linkat(source->parent.get(), source->name.c_str(), here(), name_.c_str(), 0) != 0) return refuse(errno);
  return {};
}

Status Unpacker::go_to(const std::vector<std::string>& directories) {
  through_link_.reset();
  const auto common = std::mismatch(trail_.begin(), trail_.end(), directories.begin(), directories.end()).second;
  while (trail_.size() > static_cast<std::size_t>(common - directories.begin())) CLOCHE_CHECK(leave());
  for (auto next = common; next != directories.end(); ++next) {
    struct stat status = {};
    if (::fstatat(cursor_.fd(), next->c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode)) {
      const std::string parent = path_.substr(0, path_.rfind('/'));
      auto target = resolve(cursor_.top(), Links::beneath, parent, O_PATH | O_DIRECTORY);
      if (!target && target.error() == EXDEV) {
        return fail(
            ErrorCode::invalid_argument,
            "archive entry `" + shown(path_) + "`: its path leads through a symbolic link out of the destination");
      }
      if (!target) return refuse(target.error());
      through_link_ = std::move(*target);
      return {};
    }
    CLOCHE_CHECK(enter(*next, Enter::implied));
  }
  return {};
}

Status Unpacker::enter(const std::string& name, Enter how) {
  if (::mkdirat(cursor_.fd(), name.c_str(), 0755) == 0) {
    if (how == Enter::implied) {
      CLOCHE_CHECK(count_one());
      ++implied_;
    }
  } else if (errno != EEXIST) {
    return refuse(errno);
  }
  struct stat before = {};
  if (::fstatat(cursor_.fd(), name.c_str(), &before, AT_SYMLINK_NOFOLLOW) != 0) return refuse(errno);
  if (const int number = cursor_.enter_own(name.c_str()); number != 0) return refuse(number);
  trail_.push_back(name);
  metas_.push_back({.mode = before.st_mode & 0777, .mtime = before.st_mtim});
  return {};
}

Status Unpacker::leave() {
  UniqueFd left;
  if (const int number = cursor_.leave(&left); number != 0) return refuse(number);
  const Meta meta = metas_.back();
  trail_.pop_back();
  metas_.pop_back();
  if (::fchmod(left.get(), meta.mode) != 0) return refuse(errno);
  set_mtime(left.get(), meta.mtime);
  return {};
}

// Makes room for a file or link: removes what had the name before, unless it is a directory.
Status Unpacker::clear_name() {
  if (::unlinkat(here(), name_.c_str(), 0) == 0 || errno == ENOENT) return {};
  return refuse(errno);
}

std::unexpected<Error> Unpacker::refuse(int number) const {
  // Space is not the entry's fault, but the destination's lack.
  if (number == ENOSPC || number == EDQUOT) return fail_file(number, "the destination");
  if (number == EEXIST || number == EISDIR || number == ENOTDIR) {
    return fail(ErrorCode::invalid_argument,
                "archive entry `" + shown(path_) + "`: is both a directory and another type of file");
  }
  return fail(file_error(number).at("archive entry `" + shown(path_) + "`"));
}

}  // namespace cloche::agent

#include "cli/copy/packer.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "agent/files/tree/resolve.hpp"
#include "agent/files/tree/tree_walk.hpp"
#include "archive/tar_writer.hpp"
#include "cli/copy/copy_place.hpp"
#include "core/file_error.hpp"

namespace cloche::cli {

namespace {

constexpr std::size_t piece_size = std::size_t{64} * 1024;

// Owners stay here: in a session all files are its user's.
tar::Entry entry_of(const struct stat& status, std::string path, tar::EntryType type) {
  tar::Entry entry;
  entry.type = type;
  entry.path = std::move(path);
  entry.size = type == tar::EntryType::file ? static_cast<std::uint64_t>(status.st_size) : 0;
  entry.mode = status.st_mode & 0777;
  entry.mtime = status.st_mtim.tv_sec;
  return entry;
}

}  // namespace

Result<Packer> Packer::open(const std::string& path, const std::string& name) {
  UniqueFd top(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!top) return fail(file_error(errno, path));
  struct stat status = {};
  if (::fstat(top.get(), &status) != 0) return fail(file_error(errno, path));
  if (S_ISREG(status.st_mode)) return of_file(std::move(top), name);
  if (!S_ISDIR(status.st_mode)) return fail(ErrorCode::invalid_argument, path + " is neither a file nor a directory");
  Packer packer;
  if (!name.empty()) {
    Item item;
    item.entry = entry_of(status, name, tar::EntryType::directory);
    CLOCHE_CHECK(packer.add(std::move(item)));
  }
  auto collected = packer.collect(std::move(top), name);
  if (!collected) return fail(std::move(collected).error().at(path));
  return packer;
}

Result<Packer> Packer::of_file(UniqueFd file, const std::string& name) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return fail(file_error(errno, name));
  Packer packer;
  packer.top_ = std::move(file);
  Item item;
  item.entry = entry_of(status, name, tar::EntryType::file);
  CLOCHE_CHECK(packer.add(std::move(item)));
  return packer;
}

Status Packer::add(Item item) {
  total_ += item.entry.size;
  if (++entries_ > most_entries) {
    return fail(ErrorCode::limit_reached,
                "more than 10,000 files, which is the limit of the service; copy them in several parts");
  }
  if (total_ > most_bytes) {
    return fail(ErrorCode::limit_reached,
                "more than 256 MiB, which is the limit of the service; copy the files in several parts");
  }
  items_.push_back(std::move(item));
  return {};
}

Status Packer::collect(UniqueFd top, const std::string& name) {
  UniqueFd again(::fcntl(top.get(), F_DUPFD_CLOEXEC, 0));
  if (!again) return fail_errno("duplicate descriptor");
  const auto visit = [&](const agent::Found& found) -> Result<agent::WalkStep> {
    struct stat status = {};
    if (::fstatat(found.parent, found.name, &status, AT_SYMLINK_NOFOLLOW) != 0) return agent::WalkStep::pass;
    Item item;
    item.below = found.path;
    const std::string path = joined(name, found.path);
    if (S_ISREG(status.st_mode)) {
      item.entry = entry_of(status, path, tar::EntryType::file);
    } else if (S_ISDIR(status.st_mode)) {
      item.entry = entry_of(status, path, tar::EntryType::directory);
    } else if (S_ISLNK(status.st_mode)) {
      item.entry = entry_of(status, path, tar::EntryType::symlink);
      auto target = agent::read_link(found.parent, found.name);
      if (!target || target->empty()) return agent::WalkStep::pass;
      item.entry.link = std::move(*target);
    } else {
      ++left_out_;
      return agent::WalkStep::pass;
    }
    CLOCHE_CHECK(add(std::move(item)));
    return agent::WalkStep::descend;
  };
  CLOCHE_TRY([[maybe_unused]] const agent::Walked walked,
             agent::walk_tree(std::move(again), {.unreadable = agent::WalkOptions::Unreadable::fail}, visit));
  top_ = std::move(top);
  return {};
}

// The header, with the size that the file has now.
Result<std::string> Packer::begin_file(Item& item) {
  file_name_ = item.entry.path;
  if (item.below.empty()) {
    file_ = std::move(top_);
  } else {
    auto opened =
        agent::resolve(top_.get(), agent::Links::beneath, item.below, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (!opened) return fail(file_error(opened.error(), item.below));
    file_ = std::move(*opened);
  }
  struct stat status = {};
  if (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::invalid_argument, file_name_ + " is no longer a regular file");
  }
  item.entry.size = static_cast<std::uint64_t>(status.st_size);
  missing_ = item.entry.size;
  padding_ = tar::padding_after(item.entry.size);
  return tar::header(item.entry);
}

Result<std::string> Packer::next() {
  if (missing_ > 0) {
    std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(missing_, piece_size)), '\0');
    ssize_t n = 0;
    do {
      n = ::read(file_.get(), piece.data(), piece.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) return fail(file_error(errno, file_name_));
    // The header has announced more: an incomplete copy is an error.
    if (n == 0) return fail(ErrorCode::invalid_argument, file_name_ + " was truncated while it was being copied");
    piece.resize(static_cast<std::size_t>(n));
    missing_ -= piece.size();
    done_ += piece.size();
    return piece;
  }
  std::string piece(std::exchange(padding_, 0), '\0');
  file_.reset();
  if (!items_.empty()) {
    Item item = std::move(items_.front());
    items_.pop_front();
    if (item.entry.type != tar::EntryType::file) return piece + tar::header(item.entry);
    CLOCHE_TRY(const std::string head, begin_file(item));
    return piece + head;
  }
  if (ended_) return std::string();
  ended_ = true;
  return piece + tar::end_mark();
}

}  // namespace cloche::cli

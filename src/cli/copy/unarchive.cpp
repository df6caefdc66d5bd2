#include "cli/copy/unarchive.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/files/operations/pending_file.hpp"
#include "agent/files/tree/merge_tree.hpp"
#include "agent/files/tree/remove_tree.hpp"
#include "cli/copy/copy_place.hpp"
#include "core/file_error.hpp"

namespace cloche::cli {

namespace {

// The limit of the service, and more names than any workspace has.
constexpr agent::UnpackLimits limits{.bytes = std::uint64_t{4} << 30, .entries = 2'000'000};
// Names of links are kept, also of those that are left out and make no entry here.
constexpr std::uint64_t most_links = 100'000;

mode_t own_umask() {
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return mask;
}

std::unexpected<Error> hostile(const std::string& path, const char* how) {
  return fail(ErrorCode::protocol, "the service sent an unsafe archive: `" + shown(path) + "` " + how);
}

}  // namespace

bool stays_inside(std::string_view path, std::string_view target) {
  if (target.empty() || target.starts_with('/')) return false;
  auto depth = std::ranges::count(path, '/');
  bool went_down = false;
  while (!target.empty()) {
    const auto slash = std::min(target.find('/'), target.size());
    const std::string_view part = target.substr(0, slash);
    target.remove_prefix(std::min(slash + 1, target.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      went_down = true;
      continue;
    }
    // `a/..` leads to where `a`, perhaps a link, leads from: only the way up from here is known.
    if (went_down || depth == 0) return false;
    --depth;
  }
  return true;
}

Result<std::unique_ptr<Unarchive>> Unarchive::into_directory(const std::string& path) {
  return make(path, Wanted::directory);
}

Result<std::unique_ptr<Unarchive>> Unarchive::into_file(const std::string& path) { return make(path, Wanted::file); }

Result<std::unique_ptr<Unarchive>> Unarchive::make(const std::string& path, Wanted wanted) {
  std::unique_ptr<Unarchive> own(new Unarchive());
  own->wanted_ = wanted;
  if (wanted == Wanted::directory) own->existing_.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (wanted == Wanted::directory && !own->existing_ && errno != ENOENT) return fail(file_error(errno, path));
  own->name_ = last_name(path);
  own->holder_ = own->existing_.get();
  if (!own->existing_) {
    std::string_view above = path;
    while (above.ends_with('/')) above.remove_suffix(1);
    const auto slash = above.rfind('/');
    const std::string parent = slash == above.npos ? "." : slash == 0 ? "/" : std::string(above.substr(0, slash));
    own->parent_.reset(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own->parent_) return fail(file_error(errno, parent));
    if (own->name_.empty()) return fail(ErrorCode::invalid_argument, path + " is not a file name");
    own->holder_ = own->parent_.get();
  }
  std::string staging = agent::temporary_name();
  if (::mkdirat(own->holder_, staging.c_str(), 0700) != 0) return fail(file_error(errno, path));
  own->staging_ = std::move(staging);
  own->staged_.reset(::openat(own->holder_, own->staging_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  UniqueFd top(::fcntl(own->staged_.get(), F_DUPFD_CLOEXEC, 0));
  if (!top) return fail_errno("open the staging directory");
  auto cursor = agent::TreeCursor::at(std::move(top));
  if (!cursor) return fail(file_error(cursor.error(), path));
  own->unpacker_ = std::make_unique<agent::Unpacker>(std::move(*cursor), own->staged_.get(), limits);
  return own;
}

Unarchive::~Unarchive() {
  if (!staging_.empty()) agent::remove_tree(holder_, staging_, agent::WhenCancelled::go_on);
}

std::uint64_t Unarchive::total() const { return unpacker_->bytes(); }
std::uint64_t Unarchive::entries() const { return unpacker_->entries(); }

Status Unarchive::add(tar::Entry entry) {
  if (entry.type == tar::EntryType::hardlink)
    return hostile(entry.path, "is a hard link, which archives of workspaces never contain");
  for (auto slash = entry.path.find('/'); slash != entry.path.npos; slash = entry.path.find('/', slash + 1)) {
    if (links_.contains(entry.path.substr(0, slash))) return hostile(entry.path, "leads through a symbolic link");
  }
  if (wanted_ == Wanted::file) {
    const bool is_only_file = entry.type == tar::EntryType::file && file_name_.empty() && !entry.path.empty() &&
                              entry.path.find('/') == entry.path.npos;
    if (!is_only_file) return hostile(entry.path, "is not part of the requested file");
    file_name_ = entry.path;
  }
  if (entry.type == tar::EntryType::symlink) {
    if (++link_count_ > most_links) return hostile(entry.path, "exceeds the number of links that a workspace can have");
    links_.insert(entry.path);
    if (!stays_inside(entry.path, entry.link)) {
      left_out_.push_back(entry.path);
      return {};
    }
  }
  entry.mode &= ~own_umask();
  return unpacker_->add(entry);
}

Status Unarchive::take(std::string_view bytes) {
  reader_.feed(bytes);
  for (;;) {
    const auto event = reader_.next();
    if (!event) return fail(ErrorCode::protocol, "the service's archive: " + event.error().message);
    switch (*event) {
      case tar::Reader::Event::more:
      case tar::Reader::Event::end: return {};
      case tar::Reader::Event::entry: CLOCHE_CHECK(add(reader_.entry())); break;
      case tar::Reader::Event::data:
        CLOCHE_CHECK(unpacker_->data(reader_.data()));
        bytes_ += reader_.data().size();
        break;
    }
  }
}

Status Unarchive::finish() {
  if (const auto whole = reader_.finish(); !whole) {
    return fail(ErrorCode::unavailable,
                "the service closed the connection in the middle of the archive: " + whole.error().message);
  }
  CLOCHE_CHECK(unpacker_->finish());
  return wanted_ == Wanted::file ? finish_file() : finish_directory();
}

Status Unarchive::finish_directory() {
  if (existing_) {
    CLOCHE_CHECK(agent::merge_tree(staged_.get(), existing_.get(), agent::Merge::check, agent::ReadOnlyFiles::keep));
    auto merged = agent::merge_tree(staged_.get(), existing_.get(), agent::Merge::move, agent::ReadOnlyFiles::keep);
    if (!merged) return fail(std::move(merged).error().at("some files may have been copied before this"));
    return {};
  }
  if (::fchmod(staged_.get(), 0777 & ~own_umask()) != 0) return fail(file_error(errno, name_));
  int moved = ::renameat2(holder_, staging_.c_str(), holder_, name_.c_str(), RENAME_NOREPLACE);
  // Some file systems do not know the flag; a plain one replaces nothing but an empty directory.
  if (moved != 0 && errno == EINVAL) moved = ::renameat(holder_, staging_.c_str(), holder_, name_.c_str());
  if (moved != 0) return fail(file_error(errno, name_));
  staging_.clear();
  return {};
}

Status Unarchive::finish_file() {
  if (file_name_.empty()) return fail(ErrorCode::protocol, "the service sent no file");
  if (::renameat(staged_.get(), file_name_.c_str(), holder_, name_.c_str()) != 0) {
    return fail(file_error(errno, name_));
  }
  return {};
}

}  // namespace cloche::cli

#include "backend/oci/image/layer_writer.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

constexpr std::string_view whiteout = ".wh.";
constexpr std::string_view opaque = ".wh..wh..opq";

UniqueFd open_inside(int root, const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how)));
}

// A path for what is in an open directory, whatever happens to the names above it.
std::string path_in(int directory, const std::string& base) {
  return "/proc/self/fd/" + std::to_string(directory) + "/" + base;
}

bool is_real_directory(int parent, const std::string& base) {
  struct stat about;
  return ::fstatat(parent, base.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(about.st_mode);
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? std::string() : path.substr(0, slash);
}

std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

LayerWriter::LayerWriter(UniqueFd root, LayerBudget budget) : root_(std::move(root)), left_(budget) {}

Result<LayerWriter> LayerWriter::open(const std::string& root, LayerBudget budget) {
  UniqueFd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + root);
  return LayerWriter(std::move(fd), budget);
}

Status LayerWriter::apply(LayerReader& layer) {
  of_this_layer_.clear();
  while (true) {
    CLOCHE_TRY(const auto entry, layer.next());
    if (!entry) return {};
    if (left_.entries-- == 0) return fail(ErrorCode::limit_reached, "the image has too many files");
    CLOCHE_CHECK(put(layer, *entry));
  }
}

void LayerWriter::remember(const std::string& path) {
  for (std::string at = path; !at.empty(); at = directory_of(at)) {
    if (!of_this_layer_.insert(at).second) return;
  }
}

Result<UniqueFd> LayerWriter::open_directory(const std::string& path, Missing missing) const {
  UniqueFd fd = open_inside(root_.get(), path);
  if (fd) return fd;
  if (errno != ENOENT || missing == Missing::fail || path.empty())
    return fail_errno("image: open directory '" + path + "'");
  CLOCHE_TRY(const UniqueFd parent, open_directory(directory_of(path), Missing::make));
  // Fails with EEXIST on a link that leads nowhere: such an image is refused.
  if (::mkdirat(parent.get(), base_of(path).c_str(), 0755) != 0)
    return fail_errno("image: create directory '" + path + "'");
  fd = open_inside(root_.get(), path);
  if (!fd) return fail_errno("image: open directory '" + path + "'");
  return fd;
}

Status LayerWriter::clear_lower(int directory, const std::string& path) {
  CLOCHE_TRY(const auto names, list_directory(path_in(directory, ".")));
  for (const std::string& name : names) {
    if (!of_this_layer_.contains(path.empty() ? name : path + "/" + name))
      CLOCHE_CHECK(remove_tree(path_in(directory, name)));
  }
  return {};
}

Status LayerWriter::put(LayerReader& layer, const LayerEntry& entry) {
  CLOCHE_TRY(const std::string path, clean_archive_name(entry.name));
  if (path.empty()) return {};  // the root itself
  const std::string base = base_of(path);
  CLOCHE_TRY(const UniqueFd parent, open_directory(directory_of(path), Missing::make));
  if (base == opaque) return clear_lower(parent.get(), directory_of(path));
  if (base.starts_with(whiteout)) {
    const std::string hidden = base.substr(whiteout.size());
    if (hidden.empty() || hidden == "." || hidden == "..") {
      return fail(ErrorCode::invalid_argument, "image: '" + path + "' is a whiteout without a name");
    }
    return remove_tree(path_in(parent.get(), hidden));
  }
  switch (entry.kind) {
    case LayerEntry::Kind::other: return {};  // devices and their like: a sandbox has its own
    case LayerEntry::Kind::hard_link: return put_hard_link(entry, parent.get(), base, path);
    case LayerEntry::Kind::file: return put_file(layer, entry, parent.get(), base, path);
    case LayerEntry::Kind::directory:
      remember(path);
      if (!is_real_directory(parent.get(), base)) {
        CLOCHE_CHECK(remove_tree(path_in(parent.get(), base)));
        if (::mkdirat(parent.get(), base.c_str(), 0755) != 0)
          return fail_errno("image: create directory '" + path + "'");
      }
      if (::fchmodat(parent.get(), base.c_str(), (entry.mode & 0777) | 0700, 0) != 0)
        return fail_errno("image: chmod '" + path + "'");
      return {};
    case LayerEntry::Kind::link:
      remember(path);
      CLOCHE_CHECK(remove_tree(path_in(parent.get(), base)));
      if (::symlinkat(entry.target.c_str(), parent.get(), base.c_str()) != 0)
        return fail_errno("image: create link '" + path + "'");
      return {};
  }
  return {};
}

Status LayerWriter::put_file(LayerReader& layer, const LayerEntry& entry, int parent, const std::string& base,
                             const std::string& path) {
  if (entry.size > left_.bytes.count)
    return fail(ErrorCode::limit_reached, "the image is too large, at '" + path + "'");
  left_.bytes.count -= entry.size;
  remember(path);
  CLOCHE_CHECK(remove_tree(path_in(parent, base)));
  const UniqueFd fd(::openat(parent, base.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail_errno("image: create file '" + path + "'");
  CLOCHE_CHECK(layer.write_to(fd.get()));
  if (::ftruncate(fd.get(), static_cast<off_t>(entry.size)) != 0)
    return fail_errno("image: create file '" + path + "'");
  if (::fchmod(fd.get(), entry.mode & 0777) != 0) return fail_errno("image: chmod '" + path + "'");
  const timespec times[2] = {{entry.time, 0}, {entry.time, 0}};
  ::futimens(fd.get(), times);
  return {};
}

Status LayerWriter::put_hard_link(const LayerEntry& entry, int parent, const std::string& base,
                                  const std::string& path) {
  CLOCHE_TRY(const std::string target, clean_archive_name(entry.target));
  if (target.empty())
    return fail(ErrorCode::invalid_argument, "image: '" + path + "' is a hard link to a missing file");
  if (target == path) return {};
  CLOCHE_TRY(const UniqueFd from, open_directory(directory_of(target), Missing::fail));
  if (is_real_directory(from.get(), base_of(target))) {
    return fail(ErrorCode::invalid_argument, "image: '" + path + "' is a hard link to a directory");
  }
  remember(path);
  CLOCHE_CHECK(remove_tree(path_in(parent, base)));
  if (::linkat(from.get(), base_of(target).c_str(), parent, base.c_str(), 0) != 0) {
    return fail_errno("image: link '" + path + "' to '" + target + "'");
  }
  return {};
}

}  // namespace cloche::oci

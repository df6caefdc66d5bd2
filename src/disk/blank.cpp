#include "disk/blank.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/fault_point.hpp"
#include "process/child.hpp"
#include "process/descriptors.hpp"
#include "process/programs.hpp"

namespace cloche::disk {

namespace {

// Sizes that are remembered; a configuration has a few.
constexpr std::size_t most_templates = 16;

// The journal is as large as changes to a file system of this size need, in MiB.
const char* journal_for(Bytes size) {
  if (size < mib(256)) return "size=4";
  return size < mib(4096) ? "size=16" : "size=64";
}

// All features are named, so that the configuration of the host's mke2fs is irrelevant. With metadata_csum a file's
// owner cannot set the generation of its inode, which a reset does not see. There is one inode for each 8 KiB.
std::vector<std::string> mke2fs_options(Bytes size, BlankImages::Purpose purpose) {
  std::string features =
      "none,dir_index,dir_nlink,ext_attr,extent,extra_isize,filetype,flex_bg,huge_file,large_file,metadata_csum,"
      "sparse_super,64bit";
  std::string extended = "lazy_itable_init=1,nodiscard";
  std::vector<std::string> options = {"-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-i", "8192", "-m", "0"};
  if (purpose == BlankImages::Purpose::lasting) {
    const std::string owner = std::to_string(BlankImages::lasting_owner);
    features += ",has_journal";
    extended += ",lazy_journal_init=1,root_owner=" + owner + ":" + owner;
    options.insert(options.end(), {"-J", journal_for(size)});
  }
  options.insert(options.end(), {"-O", std::move(features), "-E", std::move(extended)});
  return options;
}

Status write_at(int fd, std::int64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write an image");
    bytes.remove_prefix(static_cast<std::size_t>(n));
    at += n;
  }
  return {};
}

Result<std::string> read_at(int fd, std::int64_t at, std::int64_t end) {
  std::string bytes(static_cast<std::size_t>(end - at), '\0');
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t n = ::pread(fd, bytes.data() + got, bytes.size() - got, at + static_cast<std::int64_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read an image");
    if (n == 0) return fail(ErrorCode::internal, "read an image: it ends early");
    got += static_cast<std::size_t>(n);
  }
  return bytes;
}

Status run_mke2fs(int image, const std::vector<std::string>& options, const CancelToken& token) {
  const auto program = process::find_program("mke2fs");
  if (!program) {
    return fail(ErrorCode::unsupported, "mke2fs is not installed; run apt-get install e2fsprogs");
  }
  CLOCHE_TRY(const UniqueFd errors, process::make_bounded_memory(kib(16)));
  process::Spec spec;
  spec.program = *program;
  spec.argv = {*program};
  spec.argv.insert(spec.argv.end(), options.begin(), options.end());
  spec.argv.emplace_back("/proc/self/fd/0");
  spec.environment = {"PATH=" + std::string(process::system_path), "MKE2FS_CONFIG=/dev/null", "LC_ALL=C"};
  spec.in = image;
  spec.out = errors.get();
  spec.err = errors.get();
  spec.parent_death = process::Spec::ParentDeath::is_killed;
  CLOCHE_TRY(process::Child child, process::Child::start(spec));
  CLOCHE_TRY(const process::Ended end, child.finish(token.deadline()));
  if (end.exit_code() == 0) return {};
  return fail(ErrorCode::unsupported, "mke2fs failed: " + process::read_bounded_memory(errors.get()));
}

}  // namespace

BlankImages::BlankImages(std::string directory, Allocation allocation, Purpose purpose)
    : directory_(std::move(directory)), allocation_(allocation), purpose_(purpose) {}

Result<UniqueFd> BlankImages::open_unnamed(Bytes size) const {
  UniqueFd file(::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR)) {
    return fail(ErrorCode::unsupported, "the file system of " + directory_ +
                                            " has no files without names; set disk.dir to a directory on ext4, xfs or "
                                            "btrfs");
  }
  if (!file) return fail_errno("create an image in " + directory_);
  if (::ftruncate(file.get(), static_cast<off_t>(size.count)) != 0) return fail_errno("create an image");
  return file;
}

Result<BlankImages::Template> BlankImages::format(Bytes size, const CancelToken& token) const {
  CLOCHE_TRY(const UniqueFd image, open_unnamed(size));
  CLOCHE_CHECK(run_mke2fs(image.get(), mke2fs_options(size, purpose_), token));
  Template pieces;
  for (std::int64_t at = 0;;) {
    at = ::lseek(image.get(), at, SEEK_DATA);
    if (at < 0 && errno == ENXIO) return pieces;
    if (at < 0) return fail_errno("read an image");
    const std::int64_t end = ::lseek(image.get(), at, SEEK_HOLE);
    if (end < 0) return fail_errno("read an image");
    CLOCHE_TRY(std::string bytes, read_at(image.get(), at, end));
    pieces.push_back({at, std::move(bytes)});
    at = end;
  }
}

Result<const BlankImages::Template*> BlankImages::template_for(Bytes size, const CancelToken& token) {
  auto found = templates_.find(size);
  if (found == templates_.end()) {
    CLOCHE_TRY(Template made, format(size, token));
    if (templates_.size() >= most_templates) templates_.clear();
    found = templates_.emplace(size, std::move(made)).first;
  }
  return &found->second;
}

Result<UniqueFd> BlankImages::make(Bytes size, const CancelToken& token) {
  CLOCHE_TRY(UniqueFd image, open_unnamed(size));
  fault_point<"disk.image">();
  if (allocation_ == Allocation::at_once) {
    int error = 0;
    do {
      error = ::fallocate(image.get(), 0, 0, static_cast<off_t>(size.count)) == 0 ? 0 : errno;
    } while (error == EINTR);
    if (error == ENOSPC) {
      return fail(ErrorCode::limit_reached, "no space for a disk of " + to_string(size) + " in " + directory_);
    }
    if (error != 0) return fail(errno_error("allocate an image in " + directory_, error));
  }
  const std::lock_guard lock(mutex_);
  CLOCHE_TRY(const Template* pieces, template_for(size, token));
  for (const Piece& piece : *pieces) CLOCHE_CHECK(write_at(image.get(), piece.at, piece.bytes));
  return image;
}

}  // namespace cloche::disk

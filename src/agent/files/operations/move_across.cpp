#include "agent/files/operations/move_across.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/files/operations/pending_file.hpp"
#include "agent/files/tree/copy_tree.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/remove_tree.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

Status check_removable(const Place& from) {
  if (::faccessat(from.parent.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) return fail_file(errno);
  return {};
}

Status copy_regular(const Place& from, const Place& to, Existing existing) {
  CLOCHE_TRY(PendingFile file, PendingFile::create(to.parent.get()));
  CLOCHE_CHECK(copy_file_into(from.parent.get(), from.name.c_str(), file.fd()));
  return existing == Existing::keep ? file.publish_new(to.name) : file.publish(to.name);
}

Status copy_symlink(const Place& from, const Place& to, Existing existing) {
  const auto target = read_link(from.parent.get(), from.name.c_str());
  if (!target) return fail_file(target.error());
  const std::string name = existing == Existing::keep ? to.name : temporary_name();
  if (::symlinkat(target->c_str(), to.parent.get(), name.c_str()) != 0) return fail_file(errno);
  if (name == to.name || ::renameat(to.parent.get(), name.c_str(), to.parent.get(), to.name.c_str()) == 0) return {};
  const int number = errno;
  ::unlinkat(to.parent.get(), name.c_str(), 0);
  return fail_file(number);
}

Status copy_directory(const Place& from, const Place& to, Existing existing) {
  struct stat status = {};
  const bool taken = ::fstatat(to.parent.get(), to.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (taken && (existing == Existing::keep || !S_ISDIR(status.st_mode))) return fail_file(EEXIST);
  const std::string staging = temporary_name();
  auto copied = copy_tree(from, to.parent.get(), staging);
  // An empty directory is replaced by this, another one is not.
  if (copied && ::renameat(to.parent.get(), staging.c_str(), to.parent.get(), to.name.c_str()) != 0) {
    copied = fail_file(errno);
  }
  if (!copied) remove_tree(to.parent.get(), staging, WhenCancelled::go_on);
  return copied;
}

Status remove_source(const Place& from) {
  const Removal removal = remove_tree(from.parent.get(), from.name, WhenCancelled::go_on);
  if (removal.failed == 0) return {};
  Error error = removal.first_failure;
  return fail(std::move(error).at("copied, but the source could not be removed completely"));
}

}  // namespace

Status move_across(const Place& from, const Place& to, Existing existing) {
  struct stat status = {};
  if (::fstatat(from.parent.get(), from.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return fail_file(errno);
  CLOCHE_CHECK(check_removable(from));
  if (S_ISDIR(status.st_mode)) {
    CLOCHE_CHECK(copy_directory(from, to, existing));
  } else if (S_ISLNK(status.st_mode)) {
    CLOCHE_CHECK(copy_symlink(from, to, existing));
  } else {
    CLOCHE_CHECK(require_regular(status.st_mode));
    CLOCHE_CHECK(copy_regular(from, to, existing));
  }
  return remove_source(from);
}

}  // namespace cloche::agent

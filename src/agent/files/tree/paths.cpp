#include "agent/files/tree/paths.hpp"

#include <cerrno>

#include "agent/files/tree/kernel_files.hpp"
#include "core/file_error.hpp"
#include "wire/file_marks.hpp"

namespace cloche::agent {

namespace {

// Splits and checks what both kinds of path have in common.
Result<CheckedPath> split(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return fail(ErrorCode::invalid_argument, "path contains a NUL byte");
  CheckedPath checked;
  checked.wants_directory = path.ends_with('/') || path.ends_with("/.") || path == ".";
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto component = path.substr(0, slash);
    if (component == "..") return fail(ErrorCode::invalid_argument, "path contains a `..` component");
    if (!component.empty() && component != ".") checked.components.emplace_back(component);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return checked;
}

Result<CheckedPath> check_absolute(std::string_view path, std::string_view what) {
  if (path.empty()) return fail(ErrorCode::invalid_argument, std::string(what) + " is empty");
  if (!path.starts_with('/')) return fail(ErrorCode::invalid_argument, std::string(what) + " is not absolute");
  return split(path);
}

}  // namespace

std::string CheckedPath::text() const {
  std::string joined;
  for (const std::string& component : components) {
    if (!joined.empty()) joined += '/';
    joined += component;
  }
  return joined;
}

Result<Base> Base::open(const std::string& root, KernelFiles kernel_files) {
  UniqueFd top(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return fail_errno("/");
  Base whole(std::move(top), Links::anywhere, "/", kernel_files);
  if (root.empty()) return whole;
  auto path = check_absolute(root, "root");
  if (!path) return fail(std::move(path).error().at("root " + shown(root)));
  auto fd = whole.open(*path, O_PATH | O_DIRECTORY);
  if (!fd) return fail(std::move(fd).error().at("root " + shown(root)));
  return Base(std::move(*fd), Links::beneath, root, kernel_files);
}

Result<CheckedPath> Base::check(std::string_view path) const {
  if (links_ == Links::anywhere) return check_absolute(path, "path");
  if (path.empty()) return fail(ErrorCode::invalid_argument, "path is empty");
  if (path.starts_with('/'))
    return fail(ErrorCode::invalid_argument, "path is absolute; it must be relative to the root");
  return split(path);
}

Result<UniqueFd> Base::open(const CheckedPath& path, int flags) const {
  std::string text = path.text();
  // gVisor identifies a directory of procfs as one, but not the files in it.
  if (kernel_files_ == KernelFiles::refused && !path.wants_directory && !text.empty()) {
    auto place = resolve_target(fd_.get(), links_, text);
    if (place) {
      CLOCHE_CHECK(admit(place->parent.get()));
      auto file = resolve(place->parent.get(), links_, place->name, flags | O_NOFOLLOW);
      if (!file) return fail(error(file.error()));
      CLOCHE_CHECK(admit(file->get()));
      return std::move(*file);
    }
    if (place.error() != EISDIR) return fail(error(place.error()));  // else it can only be a directory
  }
  if (path.wants_directory && !text.empty()) text += "/.";
  auto fd = resolve(fd_.get(), links_, text, flags);
  if (!fd) return fail(error(fd.error()));
  CLOCHE_CHECK(admit(fd->get()));
  return std::move(*fd);
}

Result<Place> Base::place(const CheckedPath& path) const {
  if (path.components.empty()) {
    return fail(ErrorCode::invalid_argument,
                links_ == Links::anywhere ? "not possible with /" : "not possible with the root itself");
  }
  auto place = resolve_place(fd_.get(), links_, path.text());
  if (!place) return fail(error(place.error()));
  CLOCHE_CHECK(admit(place->parent.get()));
  return std::move(*place);
}

Result<Place> Base::target(const CheckedPath& path) const {
  if (path.wants_directory || path.components.empty()) return fail_file(EISDIR);
  auto place = resolve_target(fd_.get(), links_, path.text());
  if (!place) return fail(error(place.error()));
  CLOCHE_CHECK(admit(place->parent.get()));
  return std::move(*place);
}

Status Base::admit(int found) const {
  if (kernel_files_ == KernelFiles::allowed || !is_kernel_file_system(found)) return {};
  return fail(ErrorCode::permission_denied, "is in a kernel file system such as /proc or /sys");
}

Error Base::error(int number) const {
  if (number == EXDEV && links_ == Links::beneath) {
    return Error{ErrorCode::permission_denied,
                 std::string(wire::link_leads_out) + shown(root_) + " (links with absolute targets always do)"};
  }
  return file_error(number);
}

Status require_regular(mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return fail_file(EISDIR);
  const char* kind = S_ISFIFO(mode)   ? "a FIFO"
                     : S_ISSOCK(mode) ? "a socket"
                     : S_ISLNK(mode)  ? "a symbolic link"
                                      : "a device";
  return fail(ErrorCode::invalid_argument, std::string("is ") + kind + ", not a regular file");
}

Status require_writable(int parent, const std::string& name) {
  const UniqueFd file(::openat(parent, name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file || errno == ETXTBSY || errno == ENOENT) return {};
  return fail_file(errno);
}

}  // namespace cloche::agent

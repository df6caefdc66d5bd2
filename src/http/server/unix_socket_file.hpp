// UnixSocketFile: the name of a listening unix socket in the file system. Private to this folder.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::http {

// Removes the name in its destructor, if it is still the same file.
class UnixSocketFile {
 public:
  struct Bound;

  // Binds a new socket to the path and listens on it. A socket file without a listener is replaced; two servers that
  // start at the same time do not replace each other's. The mode is set before the first client can connect.
  static Result<Bound> bind(const std::string& path, mode_t mode);

  UnixSocketFile(UnixSocketFile&& other) noexcept;
  UnixSocketFile& operator=(UnixSocketFile&&) = delete;
  ~UnixSocketFile();

 private:
  UnixSocketFile(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}

  std::string path_;
  dev_t device_;
  ino_t inode_;
};

struct UnixSocketFile::Bound {
  UniqueFd socket;
  UnixSocketFile file;
};

}  // namespace cloche::http

// Blocking reads and writes that mind interruptions, cancellation and short counts.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::agent {

constexpr std::size_t chunk_size = std::size_t{128} * 1024;

// Bytes read, 0 at the end, or minus errno (-ECANCELED when the request is taken back).
ssize_t read_some(int fd, char* buffer, std::size_t size);
ssize_t read_some_at(int fd, char* buffer, std::size_t size, off_t offset);

// 0, or errno (ECANCELED when the request is taken back).
int write_all(int fd, std::string_view bytes);

// The next piece of a request's content; empty at its end. The view lives until the next call.
class ContentReader {
 public:
  explicit ContentReader(int fd) : fd_(fd), buffer_(chunk_size, '\0') {}
  Result<std::string_view> next();

 private:
  int fd_;
  std::string buffer_;
};

// Collects small pieces of a request's answer before they are written.
class ContentWriter {
 public:
  explicit ContentWriter(int fd) : fd_(fd) {}
  Status write(std::string_view bytes);
  Status flush();

 private:
  int fd_;
  std::string buffer_;
};

}  // namespace cloche::agent

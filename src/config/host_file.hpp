// Reading a file of the host that the configuration is in, or names.
#pragma once

#include <string>

#include "cloche/bytes.hpp"
#include "core/result.hpp"

namespace cloche::config {

struct HostFile {
  std::string content;
  bool others_can_read = false;  // users who are neither the owner nor of its group
};

// A regular file of at most so many bytes. Refused when any user of the host could have written it.
Result<HostFile> read_host_file(const std::string& path, Bytes most);

}  // namespace cloche::config

// Error messages for file operations.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche {

// A name for use in a message: control bytes and invalid UTF-8 are escaped, long names are cut. Names are chosen by
// untrusted programs.
std::string shown(std::string_view name);

// The error for an errno. `where` names the file or directory it is about and may be empty.
Error file_error(int number, std::string_view where = {});

inline std::unexpected<Error> fail_file(int number, std::string_view where = {}) {
  return std::unexpected(file_error(number, where));
}

}  // namespace cloche

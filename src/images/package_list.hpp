// PackageList: what an image is made of, as the files in images/packages say it.
//
// One package per line; a line that starts with '-' is a path in the image to remove, in which * and ? match a part of
// one name. '#' starts a comment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::images {

struct PackageList {
  std::vector<std::string> packages;
  std::vector<std::string> dropped;
};

// invalid_argument, with the line's number, for a line that is neither.
Result<PackageList> parse_package_list(std::string_view text);

}  // namespace cloche::images

// The name of an image, as people write it.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::docker {

struct ImageReference {
  std::string repository;  // [host[:port]/]path
  std::string tag;         // tag or digest (`sha256:…`); `latest` when none was given
};

// `invalid_argument` for what no engine would take.
Result<ImageReference> parse_image_reference(std::string_view text);

}  // namespace cloche::docker

// The tar archive that a Docker engine builds an image from.
#pragma once

#include <string>

#include "core/result.hpp"
#include "images/recipe.hpp"

namespace cloche::images {

Result<std::string> make_build_context(const Recipe& recipe);

}  // namespace cloche::images

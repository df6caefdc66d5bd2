// Copies into a session: the file or directory is sent as a tar stream, and is complete or not there at all.
#pragma once

#include "cli/client/service.hpp"
#include "cli/copy/copied.hpp"
#include "cli/copy/copy_place.hpp"

namespace cloche::cli {

Task<Result<Copied>> upload(Service& service, CopyArguments args, std::string tenant);

}  // namespace cloche::cli

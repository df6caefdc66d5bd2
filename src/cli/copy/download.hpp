// Copies out of a session, to a file or directory that is complete or does not exist, or to stdout.
#pragma once

#include "cli/client/service.hpp"
#include "cli/copy/copied.hpp"
#include "cli/copy/copy_place.hpp"

namespace cloche::cli {

Task<Result<Copied>> download(Service& service, CopyArguments args, std::string tenant);

}  // namespace cloche::cli

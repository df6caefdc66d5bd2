// Into a session: the file or directory goes as a tar stream, and is there whole or not at all.
#pragma once

#include "cli/client/service.hpp"
#include "cli/copy/copied.hpp"
#include "cli/copy/copy_place.hpp"

namespace cloche::cli {

Task<Result<Copied>> upload(Service& service, CopyWish wish, std::string tenant);

}  // namespace cloche::cli

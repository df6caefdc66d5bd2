// The lock of a volume's image, which its mount keeps.
#pragma once

#include <string>

#include "cloche/spec.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::volume {

// The image, open and locked: exclusively to write to it, shared to read it. Waits until the token's deadline for a
// file system that is still mounted: limit_reached. not_found if there is no image, or if it was deleted meanwhile.
Result<UniqueFd> open_locked(const std::string& path, Access access, const CancelToken& token);

// Locks an image that is open.
Status wait_for_lock(int image, Access access, const CancelToken& token);

// Whether the journal of the file system has changes that are not applied, because the host crashed.
Result<bool> needs_recovery(int image);

}  // namespace cloche::volume

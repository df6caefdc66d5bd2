// The operations behind do_file_request, one each. Errors here do not name the operation and the asked path; the caller
// does. Contracts are those of file_request.hpp and wire/file_messages.hpp.
#pragma once

#include <sys/types.h>

#include "agent/files/file_request.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/tree_walk.hpp"

namespace cloche::agent {

Status write_file(const wire::FileRequest& request, const FileIo& io);
Status read_file(const wire::FileRequest& request, const FileIo& io);
Status stat_file(const wire::FileRequest& request, const FileIo& io);
Status list_directory(const wire::FileRequest& request, const FileIo& io);
Status remove_file(const wire::FileRequest& request, const FileIo& io);
Status make_directory(const wire::FileRequest& request, const FileIo& io);
Status move_file(const wire::FileRequest& request, const FileIo& io);
Status unpack_tar(const wire::FileRequest& request, const FileIo& io);
Status pack_tar(const wire::FileRequest& request, const FileIo& io);
Status glob_files(const wire::FileRequest& request, const FileIo& io);
Status grep_files(const wire::FileRequest& request, const FileIo& io);
Status mark_moment(const wire::FileRequest& request, const FileIo& io);
Status find_changes(const wire::FileRequest& request, const FileIo& io);
Status edit_file(const wire::FileRequest& request, const FileIo& io);
Status watch_directory(const wire::FileRequest& request, const FileIo& io);
Status measure_space(const wire::FileRequest& request, const FileIo& io);

// Where the request's paths start, by its root and its rule for kernel files.
Result<Base> base_of(const wire::FileRequest& request);

// Which mounts below its path are walked into.
WalkOptions::Mounts mounts_of(const wire::FileRequest& request);

// The mode asked for, or the default when none was. invalid_argument for more than permission bits.
Result<mode_t> mode_of(const wire::FileRequest& request, mode_t fallback);

}  // namespace cloche::agent

// One file request, done by a process of its own under the sandbox user's rights.
//
// Paths. Without `root` a path is absolute; with it, relative, and nothing outside root can be reached, not through
// symbolic links either (a link with an absolute target counts as leading out). An empty path, a NUL byte and a `..`
// component are refused. What a path leads to is found once; all that follows is done by descriptor.
//
// What each request leaves behind when it fails:
//   write    leaves nothing; parents it made are removed again. With `append`, what was appended stays.
//   remove   removes all it can, then says what could not be removed and how many.
//   tar_in   leaves nothing: it unpacks into a hidden directory inside the destination and checks for conflicts before
//            the first name is moved to its place. Only a change made by somebody else in between, or an error of the
//            disk, can leave some names moved; the error then says so.
//   others   change nothing.
// A process killed by SIGKILL cannot clean up: tar_in leaves a directory `.cloche-…`; write leaves a file of such a
// name only where the file system has no O_TMPFILE (gVisor). So cancel by SIGTERM first; see cancel.hpp.
#pragma once

#include <functional>

#include "core/result.hpp"
#include "wire/file_messages.hpp"

namespace cloche::agent {

// The source and the destination of a request's content.
struct FileIo {
  int in = -1;   // read until its end: content of write, tar_in
  int out = -1;  // content of read, tar_out
  std::function<Status(const wire::FileReply&)> reply;
};

// Does one request under the calling process's rights, blocking. On success the last reply had `done`. An error's
// message names the operation and the path.
Status do_file_request(const wire::FileRequest& request, const FileIo& io);

}  // namespace cloche::agent

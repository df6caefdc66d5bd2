#include "session/shell_choice.hpp"

namespace cloche::session {

Task<Result<std::string>> ShellChoice::find(Deadline deadline) {
  if (!found_.empty()) co_return found_;
  const auto sandbox = session_.lease().shared();
  auto files = sandbox->files();
  for (const char* path : {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"}) {
    FilePath place(path);
    auto about = co_await files.stat(std::move(place), Links::follow, deadline);
    if (about && about->type == FileType::regular && (about->mode & 0111U) != 0) {
      found_ = path;
      co_return found_;
    }
    if (!about && about.error().code != ErrorCode::not_found) co_return fail(std::move(about).error());
  }
  found_ = "/bin/sh";
  co_return found_;
}

}  // namespace cloche::session

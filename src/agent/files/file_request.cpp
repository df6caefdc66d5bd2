#include "agent/files/file_request.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <csignal>

#include "agent/files/cancel.hpp"
#include "agent/files/operations/operations.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

// Modes are what was asked for, not what the agent's own umask leaves of it; a file size limit is an error, not a
// death.
class ProcessSettings {
 public:
  ProcessSettings() : mask_(::umask(0)) {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &ignore, &before_);
  }
  ProcessSettings(const ProcessSettings&) = delete;
  ProcessSettings& operator=(const ProcessSettings&) = delete;
  ~ProcessSettings() {
    ::sigaction(SIGXFSZ, &before_, nullptr);
    ::umask(mask_);
  }

 private:
  mode_t mask_;
  struct sigaction before_ = {};
};

struct Operation {
  const char* name;
  Status (*run)(const wire::FileRequest&, const FileIo&);
};

Operation operation_of(wire::FileOp op) {
  switch (op) {
    case wire::FileOp::write: return {"write", write_file};
    case wire::FileOp::read: return {"read", read_file};
    case wire::FileOp::stat: return {"stat", stat_file};
    case wire::FileOp::list: return {"list", list_directory};
    case wire::FileOp::remove: return {"remove", remove_file};
    case wire::FileOp::mkdir: return {"mkdir", make_directory};
    case wire::FileOp::move: return {"move", move_file};
    case wire::FileOp::tar_in: return {"unpack into", unpack_tar};
    case wire::FileOp::tar_out: return {"pack", pack_tar};
    case wire::FileOp::glob: return {"glob in", glob_files};
    case wire::FileOp::grep: return {"grep in", grep_files};
    case wire::FileOp::mark: return {"mark", mark_moment};
    case wire::FileOp::changes: return {"find changes in", find_changes};
    case wire::FileOp::edit: return {"edit", edit_file};
    case wire::FileOp::watch: return {"watch", watch_directory};
    case wire::FileOp::space: return {"measure", measure_space};
  }
  return {"file operation", nullptr};
}

}  // namespace

Status do_file_request(const wire::FileRequest& request, const FileIo& io) {
  const Operation operation = operation_of(request.op);
  if (operation.run == nullptr) return fail(ErrorCode::invalid_argument, "unknown file operation");
  const ProcessSettings settings;
  Status done = operation.run(request, io);
  if (!done) {
    const std::string path = request.path.empty() ? "\"\"" : shown(request.path);
    return fail(std::move(done).error().at(std::string(operation.name) + " " + path));
  }
  return {};
}

Result<Base> base_of(const wire::FileRequest& request) {
  return Base::open(request.root, request.no_kernel_files ? KernelFiles::refused : KernelFiles::allowed);
}

WalkOptions::Mounts mounts_of(const wire::FileRequest& request) {
  return request.no_kernel_files ? WalkOptions::Mounts::skip_kernel : WalkOptions::Mounts::enter;
}

Result<mode_t> mode_of(const wire::FileRequest& request, mode_t fallback) {
  if (request.mode == 0) return fallback;
  if ((request.mode & ~0777U) != 0) {
    return fail(ErrorCode::invalid_argument, "mode has other bits than permissions (0777)");
  }
  return static_cast<mode_t>(request.mode);
}

}  // namespace cloche::agent

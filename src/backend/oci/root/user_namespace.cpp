#include "backend/oci/root/user_namespace.hpp"

#include <fcntl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "process/borrowed_clone.hpp"
#include "process/descriptors.hpp"
#include "process/spec.hpp"

namespace cloche::oci {

namespace {

struct HolderPlan {
  uid_t owner;
  int report;   // the error's number is written here, 0 for none
  int release;  // the child lives until this ends
};

// Shares memory with a process that has threads: nothing but system calls, and those of them that concern this thread
// alone. It keeps its capabilities with the other user, for not every host lets those without make a namespace.
CLOCHE_IN_CHILD int hold_namespace(void* argument) {
  const HolderPlan& plan = *static_cast<const HolderPlan*>(argument);
  // All others go, among them the end that releases it and those of holders that are started at the same time.
  const unsigned low = static_cast<unsigned>(plan.report < plan.release ? plan.report : plan.release);
  const unsigned high = static_cast<unsigned>(plan.report < plan.release ? plan.release : plan.report);
  if (low > 0) ::syscall(SYS_close_range, 0U, low - 1, 0);
  if (high - low > 1) ::syscall(SYS_close_range, low + 1, high - 1, 0);
  ::syscall(SYS_close_range, high + 1, ~0U, 0);
  // A namespace may have what its maker may have. Programs have limits of their own.
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  ::setrlimit(RLIMIT_MSGQUEUE, &unlimited);
  ::setrlimit(RLIMIT_SIGPENDING, &unlimited);
  const uid_t same = static_cast<uid_t>(-1);
  int error = 0;
  if (::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) != 0 ||
      ::syscall(SYS_setresuid, same, plan.owner, same) != 0 || ::unshare(CLONE_NEWUSER) != 0) {
    error = errno;
  }
  (void)!::write(plan.report, &error, sizeof error);
  char byte = 0;
  (void)!::read(plan.release, &byte, 1);
  ::_exit(0);
}

// A child that waits in its namespace until it is let go of, and is gone with this object.
class Holder {
 public:
  Holder() = default;
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    release_.reset();
    while (pid_ > 0 && ::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
    }
  }

  Status start(uid_t owner) {
    if (!stack_) return fail_errno("map a stack");
    CLOCHE_TRY(process::Pipe report, process::make_pipe());
    CLOCHE_TRY(process::Pipe release, process::make_pipe());
    released_ = std::move(release.read);
    release_ = std::move(release.write);
    plan_ = {owner, report.write.get(), released_.get()};
    pid_ = process::clone_borrowing(hold_namespace, &plan_, stack_, 0);
    if (pid_ < 0) return fail_errno("start a process");
    report.write.reset();
    int error = 0;
    ssize_t n = 0;
    do {
      n = ::read(report.read.get(), &error, sizeof error);
    } while (n < 0 && errno == EINTR);
    if (n != static_cast<ssize_t>(sizeof error)) return fail(ErrorCode::internal, "a process ended immediately");
    if (error != 0) return fail(errno_error("create a user namespace", error));
    return {};
  }

  std::string file(std::string_view name) const { return "/proc/" + std::to_string(pid_) + "/" + std::string(name); }

 private:
  HolderPlan plan_{};
  UniqueFd released_;
  UniqueFd release_;
  process::ChildStack stack_{64 * 1024};
  pid_t pid_ = -1;
};

Status write_map(const std::string& path, const std::string& map) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), map.data(), map.size()) != static_cast<ssize_t>(map.size())) {
    return fail_errno("write " + path);
  }
  return {};
}

}  // namespace

Result<UserNamespace> UserNamespace::make(UidRange uids) {
  const std::string map = "0 " + std::to_string(uids.first()) + " " + std::to_string(UidRange::size) + "\n";
  // Not uid 0 of the sandbox: the owner has power over the namespace from outside, and nothing may run as it.
  return make(uids.first() + UidRange::size - 1, map, map);
}

Result<UserNamespace> UserNamespace::make_for_mount(const std::vector<MountedId>& ids) {
  std::string uids;
  std::string gids;
  for (const MountedId& each : ids) {
    uids += std::to_string(each.stored) + " " + std::to_string(each.uid) + " 1\n";
    gids += std::to_string(each.stored) + " " + std::to_string(each.gid) + " 1\n";
  }
  return make(0, uids, gids);
}

Result<UserNamespace> UserNamespace::make(uid_t owner, const std::string& uid_map, const std::string& gid_map) {
  Holder holder;
  CLOCHE_CHECK(holder.start(owner));
  CLOCHE_CHECK(write_map(holder.file("uid_map"), uid_map));
  CLOCHE_CHECK(write_map(holder.file("gid_map"), gid_map));
  UniqueFd fd(::open(holder.file("ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("open a user namespace");
  return UserNamespace(std::move(fd));
}

std::string UserNamespace::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_.get());
}

}  // namespace cloche::oci

// watch: what happens in a directory, or in the tree below it, until it is cancelled.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <cerrno>

#include "agent/files/cancel.hpp"
#include "agent/files/operations/operations.hpp"
#include "agent/files/watch/watched_tree.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

// SIGTERM comes only while it waits, so that none is missed between a look at the flag and the wait.
class SignalsOnlyWhileWaiting {
 public:
  SignalsOnlyWhileWaiting() {
    sigset_t term;
    ::sigemptyset(&term);
    ::sigaddset(&term, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &term, &before_);
  }
  SignalsOnlyWhileWaiting(const SignalsOnlyWhileWaiting&) = delete;
  SignalsOnlyWhileWaiting& operator=(const SignalsOnlyWhileWaiting&) = delete;
  ~SignalsOnlyWhileWaiting() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  enum class Wait { until_ready, not_at_all };
  void wait(pollfd* polled, nfds_t count, Wait how = Wait::until_ready) const {
    const timespec at_once{};
    ::ppoll(polled, count, how == Wait::not_at_all ? &at_once : nullptr, &before_);
  }

 private:
  sigset_t before_{};
};

}  // namespace

Status watch_directory(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  WatchOutput output(io.out);
  CLOCHE_TRY(WatchedTree tree, WatchedTree::arm(request, base, path, output));
  const SignalsOnlyWhileWaiting signals;
  CLOCHE_CHECK(io.reply({}));
  for (;;) {
    if (cancelled()) return fail_file(ECANCELED);
    // The reader's end closes only with the whole request: POLLERR tells of it while there is nothing to write.
    pollfd polled[2] = {{.fd = output.is_full() ? -1 : tree.fd(), .events = POLLIN, .revents = 0},
                        {.fd = io.out, .events = static_cast<short>(output.is_empty() ? 0 : POLLOUT), .revents = 0}};
    const bool has_queued = tree.has_queued() && !output.is_full();
    using Wait = SignalsOnlyWhileWaiting::Wait;
    signals.wait(polled, 2, has_queued ? Wait::not_at_all : Wait::until_ready);
    if ((polled[1].revents & (POLLERR | POLLHUP)) != 0) return fail_file(ECANCELED);
    const Status taken = has_queued || polled[0].revents != 0 ? tree.take_events() : Status{};
    if (const int error = output.flush(); error != 0) return fail_file(error);
    if (taken) continue;
    // The last events come before the end.
    while (!output.is_empty() && !cancelled()) {
      pollfd room{.fd = io.out, .events = POLLOUT, .revents = 0};
      signals.wait(&room, 1);
      if (output.flush() != 0) break;
    }
    return taken;
  }
}

}  // namespace cloche::agent

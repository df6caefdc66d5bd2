#include "agent/link/file_stream.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/exec/pumps.hpp"
#include "agent/files/cancel.hpp"
#include "agent/files/file_request.hpp"
#include "agent/files/moment.hpp"
#include "agent/identity.hpp"
#include "agent/link/descriptors.hpp"
#include "agent/reset/change_scan.hpp"

namespace cloche::agent {

namespace {

// Worker to agent: messages, each after its length.
Status write_message(int fd, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += message;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("reply");
    done += static_cast<std::size_t>(n);
  }
  return {};
}

[[noreturn]] void work(const wire::FileRequest& request, int in, int out, int replies) {
  ::prctl(PR_SET_NAME, "cloche-files", 0, 0, 0);
  ::signal(SIGPIPE, SIG_DFL);
  cancel_on_sigterm();
  ::umask(0);
  Status done = take_user_file_access(request.uid, request.gid);
  if (done) {
    const FileIo io{.in = in, .out = out, .reply = [&](const wire::FileReply& reply) {
                      return write_message(replies, wire::encode(reply));
                    }};
    done = do_file_request(request, io);
  }
  wire::Closed closed;
  if (!done) closed = {wire::close_reason_of(done.error().code), done.error().message};
  const bool told = write_message(replies, wire::encode(closed)).has_value();
  ::_exit(told ? 0 : 1);
}

// Files that are removed by `changes` are not in the tree that it scans.
bool changes_files(wire::FileOp op) {
  switch (op) {
    case wire::FileOp::write:
    case wire::FileOp::remove:
    case wire::FileOp::mkdir:
    case wire::FileOp::move:
    case wire::FileOp::edit:
    case wire::FileOp::tar_in: return true;
    case wire::FileOp::read:
    case wire::FileOp::stat:
    case wire::FileOp::list:
    case wire::FileOp::tar_out:
    case wire::FileOp::glob:
    case wire::FileOp::grep:
    case wire::FileOp::mark:
    case wire::FileOp::changes:
    case wire::FileOp::watch:
    case wire::FileOp::space: return false;
  }
  return true;
}

// Each costs a process of the sandbox.
constexpr int most_watches = 32;
int living_watches = 0;

class FileStream final : public Stream {
 public:
  FileStream(ServerLink& link, wire::StreamId id, Loop& loop, WriterTracker& writers)
      : Stream(link, id), loop_(loop), writers_(writers) {}
  ~FileStream() override {
    end_worker();
    end_watch();
  }

  Status start(const wire::FileRequest& request) {
    if (request.op == wire::FileOp::watch) {
      if (living_watches >= most_watches) {
        return fail(ErrorCode::limit_reached, "the sandbox has " + std::to_string(most_watches) +
                                                  " file watches already, as many as it can have");
      }
      ++living_watches;
      is_watch_ = true;
    }
    CLOCHE_TRY(auto in, make_pipe());
    CLOCHE_TRY(auto out, make_pipe());
    CLOCHE_TRY(auto replies, make_pipe());
    if (changes_files(request.op)) work_ = std::make_shared<WriterTracker::Writer>(writers_.begin());
    if (request.op == wire::FileOp::changes) scan_ = writers_.begin_scan(place_of(request));
    worker_ = ::fork();
    if (worker_ < 0) return fail_errno("fork a file worker");
    if (worker_ == 0) {
      close_all_but({2, in.first.get(), out.second.get(), replies.second.get()});
      work(request, in.first.get(), out.second.get(), replies.second.get());
    }
    in_ = std::make_unique<WritePump>(loop_, std::move(in.second),
                                      [this](std::size_t n) { return_credit(wire::lane::in, n); });
    ReadPump::Taker content{
        .room = [this] { return sendable(wire::lane::out); },
        .bytes = [this](std::string_view bytes) { send_data(wire::lane::out, bytes); },
        .end =
            [this] {
              send_eof(wire::lane::out);
              close_if_done();
            },
        .over_stop_cap = [] {},
    };
    out_ = std::make_unique<ReadPump>(loop_, std::move(out.first), OutputCaps{}, std::move(content));
    ReadPump::Taker messages{
        .room = [] { return std::size_t{32 * 1024}; },
        .bytes = [this](std::string_view bytes) { on_reply_bytes(bytes); },
        .end = [this] { close_if_done(); },
        .over_stop_cap = [] {},
    };
    replies_ = std::make_unique<ReadPump>(loop_, std::move(replies.first), OutputCaps{}, std::move(messages));
    return {};
  }

  void on_data(std::uint8_t, std::string_view bytes) override { in_->write(bytes); }
  void on_eof(std::uint8_t) override { in_->end(); }
  void on_writable(std::uint8_t) override { out_->resume(); }
  void on_cancel() override {
    end_worker();
    end_watch();
    close(Error{ErrorCode::cancelled, "cancelled"});
  }

 private:
  void end_watch() {
    if (std::exchange(is_watch_, false)) --living_watches;
  }

  void on_reply_bytes(std::string_view bytes) {
    partial_.append(bytes);
    std::size_t position = 0;
    std::uint32_t size = 0;
    while (partial_.size() - position >= sizeof size) {
      std::memcpy(&size, partial_.data() + position, sizeof size);
      if (partial_.size() - position - sizeof size < size) break;
      const std::string_view message = std::string_view(partial_).substr(position + sizeof size, size);
      position += sizeof size + size;
      if (const auto reply = wire::decode<wire::FileReply>(message)) {
        if (scan_ && reply->done && reply->moment_ns != 0) writers_.end_scan(std::move(*scan_), reply->moment_ns);
        send(*reply);
      } else if (auto closed = wire::decode<wire::Closed>(message)) {
        verdict_ = std::move(*closed);
      }
    }
    partial_.erase(0, position);
  }

  void close_if_done() {
    if (closed() || !replies_ || !replies_->ended() || !out_->ended()) return;
    worker_ = -1;  // the agent's reaper has it, or will
    work_.reset();
    end_watch();
    if (!verdict_) return close(Error{ErrorCode::internal, "the file worker was lost"});
    if (verdict_->reason != wire::CloseReason::none) {
      return close(Error{wire::error_code_of(verdict_->reason), verdict_->message});
    }
    close();
  }

  // Asks first, so that nothing half done is left; a worker that hangs on something the user made is killed.
  void end_worker() {
    if (worker_ <= 0) return;
    ::kill(worker_, SIGTERM);
    auto timer = std::make_shared<Loop::Timer>();
    *timer = loop_.after(std::chrono::seconds(2), [worker = worker_, timer, work = work_] {
      siginfo_t about{};
      // Only while it is still our child: later its process id may belong to another process.
      if (::waitid(P_PID, static_cast<id_t>(worker), &about, WEXITED | WNOHANG | WNOWAIT) == 0) ::kill(worker, SIGKILL);
    });
    worker_ = -1;
  }

  Loop& loop_;
  WriterTracker& writers_;
  std::shared_ptr<WriterTracker::Writer> work_;  // shared with the timeout for a worker that was asked to end
  std::optional<WriterTracker::Scan> scan_;
  bool is_watch_ = false;
  pid_t worker_ = -1;
  std::string partial_;
  std::optional<wire::Closed> verdict_;
  std::unique_ptr<WritePump> in_;
  std::unique_ptr<ReadPump> out_;
  std::unique_ptr<ReadPump> replies_;
};

// A mark needs no permissions and no file, so no worker is forked for it.
class MarkStream final : public Stream {
 public:
  MarkStream(ServerLink& link, wire::StreamId id, Loop& loop, Moment moment)
      : Stream(link, id), loop_(loop), moment_(moment) {}

  void check() {
    if (closed()) return;
    if (!moment_.has_passed()) {
      next_check_ = loop_.after(check_interval, [this] { check(); });
      return;
    }
    send(wire::FileReply{.done = true, .moment_ns = moment_.nanoseconds()});
    close();
  }
  void on_cancel() override { close(Error{ErrorCode::cancelled, "cancelled"}); }

 private:
  static constexpr std::chrono::microseconds check_interval{500};

  Loop& loop_;
  Moment moment_;
  Loop::Timer next_check_;
};

class QuickStream final : public Stream {
 public:
  using Stream::Stream;
  void on_cancel() override { close(Error{ErrorCode::cancelled, "cancelled"}); }
};

}  // namespace

Result<std::unique_ptr<Stream>> open_file_stream(ServerLink& link, wire::StreamId id, Loop& loop,
                                                 WriterTracker& writers, const wire::FileRequest& request) {
  if (request.op == wire::FileOp::mark) {
    const Moment moment(writers.last_change(place_of(request)));
    auto mark = std::make_unique<MarkStream>(link, id, loop, moment);
    mark->check();
    return mark;
  }
  const bool is_scan = request.op == wire::FileOp::changes;
  if (const auto replies = is_scan ? scan_changes_inline(request, writers) : std::nullopt) {
    auto stream = std::make_unique<QuickStream>(link, id);
    for (const auto& reply : *replies) stream->send(reply);
    stream->close();
    return stream;
  }
  auto stream = std::make_unique<FileStream>(link, id, loop, writers);
  CLOCHE_CHECK(stream->start(request));
  return stream;
}

}  // namespace cloche::agent

#include "agent/exec/exec_stream.hpp"

#include <utility>
#include <vector>

#include "agent/files/moment.hpp"
#include "agent/reset/change_scan.hpp"

namespace cloche::agent {

namespace {

class ExecStream final : public Stream {
 public:
  ExecStream(ServerLink& link, wire::StreamId id, Loop& loop, Zygotes& zygotes, WriterTracker& writers)
      : Stream(link, id), loop_(loop), zygotes_(zygotes), writers_(writers) {}

  Status start(const wire::ExecRequest& request) {
    if (!request.change_scan) return begin(request);
    change_scan_ = request.change_scan;
    change_scan_->op = wire::FileOp::changes;
    const Moment mark(writers_.last_change(place_of(*change_scan_)));
    change_scan_->since_ns = mark.nanoseconds();
    if (mark.has_passed()) return begin(request);
    begin_after(mark, request);
    return {};
  }

  void on_message(std::string_view bytes) override {
    when_begun([this, message = std::string(bytes)] { steer(*program_, message); });
  }
  void on_data(std::uint8_t, std::string_view bytes) override {
    if (program_) return program_->write_stdin(bytes);
    when_begun([this, input = std::string(bytes)] { program_->write_stdin(input); });
  }
  void on_eof(std::uint8_t) override {
    when_begun([this] { program_->close_stdin(); });
  }
  void on_writable(std::uint8_t lane) override {
    when_begun([this, lane] { program_->resume(lane); });
  }
  void on_cancel() override {
    when_begun([this] { program_->stop(wire::StopReason::cancelled); });
  }

 private:
  static constexpr std::chrono::microseconds check_interval{500};

  Status begin(const wire::ExecRequest& request) {
    Program::Events events{
        .started = [this](pid_t pid) { send(wire::ExecStarted{.pid = static_cast<std::uint32_t>(pid)}); },
        .room = [this](std::uint8_t lane) { return sendable(lane); },
        .output = [this](std::uint8_t lane, std::string_view bytes) { send_data(lane, bytes); },
        .output_end = [this](std::uint8_t lane) { send_eof(lane); },
        .stdin_taken = [this](std::size_t bytes) { return_credit(wire::lane::in, bytes); },
        .ended = [this](Result<wire::ExecEnded> ended) { on_ended(std::move(ended)); },
    };
    CLOCHE_TRY(program_, Program::start(loop_, zygotes_, writers_, request, std::move(events)));
    return {};
  }

  void begin_after(const Moment& mark, const wire::ExecRequest& request) {
    check_timer_ = loop_.after(check_interval, [this, mark, request] {
      if (closed()) return;
      if (!mark.has_passed()) return begin_after(mark, request);
      if (const auto begun = begin(request); !begun) return close(begun.error());
      for (const auto& call : std::exchange(until_begun_, {})) call();
    });
  }

  void when_begun(std::function<void()> call) {
    if (program_) return call();
    until_begun_.push_back(std::move(call));
  }

  void on_ended(Result<wire::ExecEnded> ended) {
    if (!ended) return close(ended.error());
    if (change_scan_) scan_changes(*ended);
    send(*ended);
    close();
  }

  void scan_changes(wire::ExecEnded& ended) {
    ended.mark_ns = change_scan_->since_ns;
    auto replies = scan_changes_inline(*change_scan_, writers_);
    if (replies && replies->size() == 1) ended.changes = std::move(replies->front());
  }

  Loop& loop_;
  Zygotes& zygotes_;
  WriterTracker& writers_;
  std::optional<wire::FileRequest> change_scan_;
  Loop::Timer check_timer_;
  std::vector<std::function<void()>> until_begun_;
  std::unique_ptr<Program> program_;
};

}  // namespace

void steer(Program& program, std::string_view message) {
  if (const auto signal = wire::decode<wire::ExecSignal>(message)) {
    if (signal->signal > 0 && signal->signal < 65) program.signal(static_cast<int>(signal->signal), signal->target);
  } else if (const auto resize = wire::decode<wire::ExecResize>(message)) {
    program.resize(resize->size);
  }
}

Result<std::unique_ptr<Stream>> open_exec_stream(ServerLink& link, wire::StreamId id, Loop& loop, Zygotes& zygotes,
                                                 WriterTracker& writers, const wire::ExecRequest& request) {
  auto stream = std::make_unique<ExecStream>(link, id, loop, zygotes, writers);
  CLOCHE_CHECK(stream->start(request));
  return stream;
}

}  // namespace cloche::agent

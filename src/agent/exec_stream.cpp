#include "agent/exec_stream.hpp"

namespace cloche::agent {

namespace {

class ExecStream final : public Stream {
 public:
  using Stream::Stream;

  Status start(Loop& loop, Zygotes& zygotes, Stillness& stillness, const wire::ExecRequest& request) {
    Program::Events events{
        .started = [this](pid_t pid) { send(wire::ExecStarted{.pid = static_cast<std::uint32_t>(pid)}); },
        .room = [this](std::uint8_t lane) { return sendable(lane); },
        .output = [this](std::uint8_t lane, std::string_view bytes) { send_data(lane, bytes); },
        .output_end = [this](std::uint8_t lane) { send_eof(lane); },
        .stdin_taken = [this](std::size_t bytes) { return_credit(wire::lane::in, bytes); },
        .ended = [this](Result<wire::ExecEnded> ended) { on_ended(std::move(ended)); },
    };
    CLOCHE_TRY(program_, Program::start(loop, zygotes, stillness, request, std::move(events)));
    return {};
  }

  void on_message(std::string_view bytes) override { steer(*program_, bytes); }
  void on_data(std::uint8_t, std::string_view bytes) override { program_->write_stdin(bytes); }
  void on_eof(std::uint8_t) override { program_->close_stdin(); }
  void on_writable(std::uint8_t lane) override { program_->resume(lane); }
  void on_cancel() override { program_->stop(wire::StopReason::cancelled); }

 private:
  void on_ended(Result<wire::ExecEnded> ended) {
    if (!ended) return close(ended.error());
    send(*ended);
    close();
  }

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
                                                 Stillness& stillness, const wire::ExecRequest& request) {
  auto stream = std::make_unique<ExecStream>(link, id);
  CLOCHE_CHECK(stream->start(loop, zygotes, stillness, request));
  return stream;
}

}  // namespace cloche::agent

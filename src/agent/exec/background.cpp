#include "agent/exec/background.hpp"

#include "agent/exec/exec_stream.hpp"

namespace cloche::agent {

namespace {

// Output kept when the request names no cap.
constexpr std::uint64_t default_keep = 1024 * 1024;

}  // namespace

class BackgroundExec {
 public:
  // A subscriber for output and for the end.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_change() = 0;
    virtual void on_stdin_taken(std::size_t) {}
  };

  BackgroundExec(std::uint64_t id, const wire::ExecRequest& request)
      : id_(id), argv_(request.argv), started_(Loop::Clock::now()) {}

  Status start(Loop& loop, Zygotes& zygotes, WriterTracker& writers, const wire::ExecRequest& request) {
    Program::Events events{
        .started = [this](pid_t pid) { on_started(pid); },
        .room = [](std::uint8_t) { return std::size_t{64 * 1024}; },
        .output =
            [this](std::uint8_t lane, std::string_view bytes) {
              kept_[lane].append(bytes);
              changed();
            },
        .output_end = [](std::uint8_t) {},
        .stdin_taken =
            [this](std::size_t bytes) {
              if (writer_ != nullptr) writer_->on_stdin_taken(bytes);
            },
        .ended = [this](Result<wire::ExecEnded> ended) { on_ended(std::move(ended)); },
    };
    CLOCHE_TRY(program_, Program::start(loop, zygotes, writers, request, std::move(events)));
    return {};
  }

  wire::ExecEntry entry() const {
    const auto age = Loop::Clock::now() - started_;
    return {.exec_id = id_,
            .pid = static_cast<std::uint32_t>(pid_),
            .argv = argv_,
            .running = !ended_,
            .age_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(age).count())};
  }

  std::uint64_t id() const { return id_; }
  pid_t pid() const { return pid_; }
  const std::string& kept(std::uint8_t lane) const { return kept_[lane]; }
  const std::optional<Result<wire::ExecEnded>>& ended() const { return ended_; }
  Program& program() { return *program_; }
  void listen(Listener* listener) { listeners_.insert(listener); }
  void unlisten(Listener* listener) {
    listeners_.erase(listener);
    if (writer_ == listener) writer_ = nullptr;
  }
  // The client that wrote last is notified when its input was consumed.
  void write_stdin(Listener* writer, std::string_view bytes) {
    writer_ = writer;
    program_->write_stdin(bytes);
  }

 private:
  void on_started(pid_t pid) {
    pid_ = pid;
    changed();
  }
  void on_ended(Result<wire::ExecEnded> ended) {
    ended_ = std::move(ended);
    changed();
  }
  void changed() {
    for (Listener* listener : std::set(listeners_)) listener->on_change();
  }

  std::uint64_t id_;
  std::vector<std::string> argv_;
  Loop::Clock::time_point started_;
  pid_t pid_ = 0;
  std::string kept_[wire::lane::count];
  std::optional<Result<wire::ExecEnded>> ended_;
  std::set<Listener*> listeners_;
  Listener* writer_ = nullptr;
  std::unique_ptr<Program> program_;
};

namespace {

// Waits for the start of the program (or its failure), reports it and closes. The program keeps running.
class StartStream final : public Stream, BackgroundExec::Listener {
 public:
  StartStream(ServerLink& link, wire::StreamId id, std::shared_ptr<BackgroundExec> exec)
      : Stream(link, id), exec_(std::move(exec)) {
    exec_->listen(this);
  }
  ~StartStream() override { exec_->unlisten(this); }

  void on_cancel() override { close(); }
  void on_change() override {
    if (closed() || (exec_->pid() == 0 && !exec_->ended())) return;
    send(wire::ExecStarted{.exec_id = exec_->id(), .pid = static_cast<std::uint32_t>(exec_->pid())});
    close();
  }

 private:
  std::shared_ptr<BackgroundExec> exec_;
};

class AttachStream final : public Stream, BackgroundExec::Listener {
 public:
  AttachStream(ServerLink& link, wire::StreamId id, std::shared_ptr<BackgroundExec> exec,
               const wire::ExecAttachRequest& request, std::function<void()> collect)
      : Stream(link, id), exec_(std::move(exec)), collect_(std::move(collect)) {
    offset_[wire::lane::out] = request.out_offset;
    offset_[wire::lane::err] = request.err_offset;
    exec_->listen(this);
    on_change();
  }
  ~AttachStream() override { exec_->unlisten(this); }

  void on_message(std::string_view bytes) override {
    if (!exec_->ended()) steer(exec_->program(), bytes);
  }
  void on_data(std::uint8_t, std::string_view bytes) override { exec_->write_stdin(this, bytes); }
  void on_stdin_taken(std::size_t bytes) override { return_credit(wire::lane::in, bytes); }
  void on_eof(std::uint8_t) override { exec_->program().close_stdin(); }
  void on_writable(std::uint8_t) override { on_change(); }
  void on_cancel() override { close(); }

  void on_change() override {
    if (closed()) return;
    const bool out_sent = send_kept(wire::lane::out);
    const bool err_sent = send_kept(wire::lane::err);
    if (!out_sent || !err_sent || !exec_->ended()) return;
    const auto& ended = *exec_->ended();
    if (!ended) return close(ended.error());
    send_eof(wire::lane::out);
    send_eof(wire::lane::err);
    send(*ended);
    close();
    if (collect_) collect_();
  }

 private:
  bool send_kept(std::uint8_t lane) {
    const std::string_view kept = exec_->kept(lane);
    while (offset_[lane] < kept.size()) {
      const std::size_t room = sendable(lane);
      if (room == 0) return false;
      const auto part = kept.substr(offset_[lane], room);
      send_data(lane, part);
      offset_[lane] += part.size();
    }
    return true;
  }

  std::shared_ptr<BackgroundExec> exec_;
  std::function<void()> collect_;
  std::uint64_t offset_[wire::lane::count] = {};
};

class ListStream final : public Stream {
 public:
  using Stream::Stream;
  void on_cancel() override { close(); }
};

}  // namespace

Background::~Background() = default;

Result<std::unique_ptr<Stream>> Background::open_start(ServerLink& link, wire::StreamId id, wire::ExecRequest request) {
  if (execs_.size() >= most) {
    return fail(ErrorCode::limit_reached,
                "background program limit reached (" + std::to_string(most) + "); collect programs that have ended");
  }
  if (request.change_scan)
    return fail(ErrorCode::invalid_argument, "change tracking is not available for background programs");
  if (request.keep_bytes == 0) request.keep_bytes = default_keep;
  auto exec = std::make_shared<BackgroundExec>(next_id_++, request);
  CLOCHE_CHECK(exec->start(loop_, zygotes_, writers_, request));
  execs_.emplace(exec->id(), exec);
  return std::make_unique<StartStream>(link, id, std::move(exec));
}

Result<std::unique_ptr<Stream>> Background::open_attach(ServerLink& link, wire::StreamId id,
                                                        const wire::ExecAttachRequest& request) {
  const auto found = execs_.find(request.exec_id);
  if (found == execs_.end()) {
    return fail(ErrorCode::not_found, "no background program " + std::to_string(request.exec_id) + " in this sandbox");
  }
  std::function<void()> collect;
  if (request.collect) collect = [this, exec_id = request.exec_id] { execs_.erase(exec_id); };
  return std::make_unique<AttachStream>(link, id, found->second, request, std::move(collect));
}

Result<std::unique_ptr<Stream>> Background::open_list(ServerLink& link, wire::StreamId id) {
  auto stream = std::make_unique<ListStream>(link, id);
  wire::ExecList list;
  for (const auto& [exec_id, exec] : execs_) list.execs.push_back(exec->entry());
  stream->send(list);
  stream->close();
  return stream;
}

void Background::clear() { execs_.clear(); }

}  // namespace cloche::agent

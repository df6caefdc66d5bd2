#include "agent/exec/background.hpp"

#include <algorithm>

#include "agent/exec/exec_stream.hpp"

namespace cloche::agent {

namespace {

// Output kept when the request names no cap.
constexpr std::uint64_t default_keep = 1024 * 1024;
// Of each output of a program that is relayed, waiting to be sent.
constexpr std::size_t relay_window = 256 * 1024;
constexpr std::size_t longest_label = 4096;

}  // namespace

class BackgroundExec {
 public:
  // A subscriber for output and for the end.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_change() = 0;
    virtual void on_stdin_taken(std::size_t) {}
    // How far it has read an output; nullopt for one that does not read.
    virtual std::optional<std::uint64_t> position(std::uint8_t) const { return std::nullopt; }
  };

  BackgroundExec(std::uint64_t id, const wire::ExecRequest& request)
      : id_(id),
        argv_(request.argv),
        label_(request.label),
        is_relayed_(request.is_relayed),
        started_(Loop::Clock::now()) {}

  Status start(Loop& loop, Zygotes& zygotes, WriterTracker& writers, const wire::ExecRequest& request) {
    Program::Events events{
        .started = [this](pid_t pid) { on_started(pid); },
        .room = [this](std::uint8_t lane) { return room(lane); },
        .output =
            [this](std::uint8_t lane, std::string_view bytes) {
              kept_[lane].append(bytes);
              changed();
              drop_sent(lane);
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
            .age_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(age).count()),
            .label = label_};
  }

  std::uint64_t id() const { return id_; }
  pid_t pid() const { return pid_; }
  // The output from this position on, or from the first that is still there.
  std::string_view kept(std::uint8_t lane, std::uint64_t from) const {
    const std::uint64_t skipped = from > gone_[lane] ? from - gone_[lane] : 0;
    return std::string_view(kept_[lane]).substr(std::min<std::uint64_t>(skipped, kept_[lane].size()));
  }
  // The position of the first byte that is still there.
  std::uint64_t first_kept(std::uint8_t lane) const { return gone_[lane]; }
  const std::optional<Result<wire::ExecEnded>>& ended() const { return ended_; }
  Program& program() { return *program_; }
  void listen(Listener* listener) {
    listeners_.insert(listener);
    was_read_ = was_read_ || listener->position(wire::lane::out).has_value();
  }
  void unlisten(Listener* listener) {
    listeners_.erase(listener);
    if (writer_ == listener) writer_ = nullptr;
    make_room();
  }
  // A reader has read on.
  void make_room() {
    if (!is_relayed_ || ended_ || !program_) return;
    for (const std::uint8_t lane : {wire::lane::out, wire::lane::err}) {
      drop_sent(lane);
      if (room(lane) > 0) program_->resume(lane);
    }
  }
  // The client that wrote last is notified when its input was consumed.
  void write_stdin(Listener* writer, std::string_view bytes) {
    writer_ = writer;
    program_->write_stdin(bytes);
  }

 private:
  std::size_t room(std::uint8_t lane) const {
    if (!is_relayed_ || (was_read_ && !is_read())) return std::size_t{64 * 1024};
    return relay_window - std::min(kept_[lane].size(), relay_window);
  }
  bool is_read() const {
    return std::ranges::any_of(listeners_,
                               [](const Listener* each) { return each->position(wire::lane::out).has_value(); });
  }
  // Of a program that is relayed: what all readers have, or what is too old for a reader to come.
  void drop_sent(std::uint8_t lane) {
    if (!is_relayed_ || !was_read_) return;
    std::uint64_t needed = gone_[lane] + kept_[lane].size();
    if (is_read()) {
      for (const Listener* each : listeners_) needed = std::min(needed, each->position(lane).value_or(needed));
    } else {
      needed -= std::min(kept_[lane].size(), relay_window);
    }
    const std::uint64_t dropped = needed - std::min(needed, gone_[lane]);
    kept_[lane].erase(0, dropped);
    gone_[lane] += dropped;
  }
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
  std::string label_;
  bool is_relayed_;
  bool was_read_ = false;  // by an attached stream, now or earlier
  Loop::Clock::time_point started_;
  pid_t pid_ = 0;
  std::string kept_[wire::lane::count];
  std::uint64_t gone_[wire::lane::count] = {};  // bytes dropped in front of it
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
    for (const std::uint8_t lane : {wire::lane::out, wire::lane::err})
      offset_[lane] = std::max(offset_[lane], exec_->first_kept(lane));
    exec_->listen(this);
    on_writable(wire::lane::out);
  }
  ~AttachStream() override { exec_->unlisten(this); }

  void on_message(std::string_view bytes) override {
    if (!exec_->ended()) steer(exec_->program(), bytes);
  }
  void on_data(std::uint8_t, std::string_view bytes) override { exec_->write_stdin(this, bytes); }
  void on_stdin_taken(std::size_t bytes) override { return_credit(wire::lane::in, bytes); }
  void on_eof(std::uint8_t) override { exec_->program().close_stdin(); }
  void on_writable(std::uint8_t) override {
    on_change();
    exec_->make_room();
  }
  void on_cancel() override { close(); }
  std::optional<std::uint64_t> position(std::uint8_t lane) const override { return offset_[lane]; }

  void on_change() override {
    if (closed()) return;
    const bool out_sent = send_kept(wire::lane::out);
    const bool err_sent = send_kept(wire::lane::err);
    if (!out_sent || !err_sent || !exec_->ended()) return;
    const auto& ended = *exec_->ended();
    if (ended) {
      send_eof(wire::lane::out);
      send_eof(wire::lane::err);
      send(*ended);
      close();
    } else {
      close(ended.error());
    }
    if (collect_) collect_();
  }

 private:
  bool send_kept(std::uint8_t lane) {
    for (;;) {
      const std::string_view kept = exec_->kept(lane, offset_[lane]);
      if (kept.empty()) return true;
      const std::size_t room = sendable(lane);
      if (room == 0) return false;
      const auto part = kept.substr(0, room);
      send_data(lane, part);
      offset_[lane] += part.size();
    }
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
  if (request.label.size() > longest_label) return fail(ErrorCode::invalid_argument, "the program's label is too long");
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

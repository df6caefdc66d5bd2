#include "agent/zygote/zygotes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "agent/identity.hpp"
#include "agent/link/descriptors.hpp"
#include "agent/sealed_file.hpp"
#include "agent/zygote/programs.hpp"

namespace cloche::agent {

namespace {

constexpr std::chrono::seconds start_timeout{30};
constexpr std::chrono::seconds fork_timeout{2};
constexpr std::size_t most_zygotes = 8;
// Between the end of a run and the next fork: for the answer to be on its way, which is waited for as the fork is not.
constexpr std::chrono::milliseconds before_a_fork{2};
// A caller that returns within this time is expected to return soon again.
constexpr std::chrono::milliseconds short_pause{10};
// A harness travels as one argument, which Linux ends at 128 KiB.
constexpr std::size_t longest_harness = 100'000;

void put_u32(std::string& out, std::uint32_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }
void put_u64(std::string& out, std::uint64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }
void put_text(std::string& out, const std::string& text) {
  put_u32(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

// The format that run.py's become_run() reads.
std::string run_request(const wire::ExecRequest& request, gid_t mark) {
  std::string bytes;
  put_u32(bytes, request.uid);
  put_u32(bytes, request.gid);
  put_u32(bytes, mark);
  put_u32(bytes, request.umask & 0777);
  put_u32(bytes, static_cast<std::uint32_t>(request.rlimits.size()));
  for (const auto& limit : request.rlimits) {
    put_u64(bytes, limit.resource);
    put_u64(bytes, limit.soft);
    put_u64(bytes, limit.hard);
  }
  put_text(bytes, request.cwd);
  put_text(bytes, std::to_string(request.env.size()));
  for (const auto& entry : request.env) put_text(bytes, entry);
  for (const auto& argument : request.argv) put_text(bytes, argument);
  return bytes;
}

Status send_fds(int socket, std::span<const int> fds, const char* step) {
  char one = 'f';
  iovec data{&one, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(5 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) return fail_errno(step);
  return {};
}

// A zygote reported a fork, or its end.
enum class Answer { forked, none_yet, gone };
Answer take_answer(int control) {
  char answer = 0;
  const ssize_t n = ::recv(control, &answer, 1, MSG_DONTWAIT);
  if (n == 1) return Answer::forked;
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? Answer::none_yet : Answer::gone;
}

// Descriptors by which the zygote's own programs are reached, or -1.
struct Programs {
  UniqueFd library;
  UniqueFd watcher;
};
Programs open_programs() {
  auto library = sealed_file("fork_run", fork_run_library(), SealedUse::program);
  auto watcher = sealed_file("watcher", watcher_program(), SealedUse::program);
  // One without the other is of no use.
  if (!library || !watcher) return {};
  return {std::move(*library), std::move(*watcher)};
}

[[noreturn]] void become_zygote(const wire::ZygoteRequest& request, int control, const std::string& agent_path) {
  ::prctl(PR_SET_NAME, "cloche-zygote", 0, 0, 0);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 2; ++fd) ::dup2(null, fd);
  ::fcntl(control, F_SETFD, 0);
  ::close_range(3, static_cast<unsigned>(control) - 1, 0);
  ::close_range(static_cast<unsigned>(control) + 1, ~0U, 0);
  const Programs programs = open_programs();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  [[maybe_unused]] const int entered = ::chdir("/");
  std::vector<std::string> argv{request.interpreter,
                                "-c",
                                zygote_source(),
                                std::to_string(control),
                                agent_path,
                                request.harness,
                                script_start_source(),
                                std::to_string(programs.library.get()),
                                std::to_string(programs.watcher.get())};
  argv.insert(argv.end(), request.imports.begin(), request.imports.end());
  std::vector<char*> pointers;
  pointers.reserve(argv.size() + 1);
  for (auto& text : argv) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  std::vector<std::string> entries{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/"};
  entries.insert(entries.end(), request.env.begin(), request.env.end());
  std::vector<char*> env;
  env.reserve(entries.size() + 1);
  for (auto& entry : entries) env.push_back(entry.data());
  env.push_back(nullptr);
  ::execvpe(request.interpreter.c_str(), pointers.data(), env.data());
  ::_exit(127);
}

}  // namespace

class Zygotes::StartStream final : public Stream {
 public:
  StartStream(ServerLink& link, wire::StreamId id, Zygotes& zygotes, std::string name)
      : Stream(link, id), zygotes_(zygotes), name_(std::move(name)) {
    const int control = zygotes_.zygotes_.at(name_).control.get();
    watch_ = zygotes_.loop_.watch(control, EPOLLIN, [this](std::uint32_t) { on_readable(); });
    start_timer_ = zygotes_.loop_.after(start_timeout,
                                        [this] { give_up({ErrorCode::timeout, "the zygote did not start in time"}); });
  }

  void on_cancel() override { give_up({ErrorCode::cancelled, "cancelled"}); }

 private:
  void on_readable() {
    char answer = 0;
    const auto found = zygotes_.zygotes_.find(name_);
    if (found == zygotes_.zygotes_.end()) return give_up({ErrorCode::cancelled, "the zygote was replaced"});
    if (::recv(found->second.control.get(), &answer, 1, MSG_DONTWAIT) != 1 || answer != 'r') {
      return give_up(
          {ErrorCode::unsupported,
           "the zygote could not start: is the interpreter a Python 3 with its full standard library, and are all "
           "imports installed?"});
    }
    found->second.ready = true;
    found->second.evidence = evidence_of(found->second.pid, EvidenceOf::another);
    watch_.reset();
    start_timer_.reset();
    found->second.answers = zygotes_.loop_.watch(
        found->second.control.get(), EPOLLIN, [&all = zygotes_, name = name_](std::uint32_t) { all.on_answer(name); });
    replace_spare(found->second);
    close();
  }

  void give_up(const Error& error) {
    watch_.reset();
    start_timer_.reset();
    const auto found = zygotes_.zygotes_.find(name_);
    if (found != zygotes_.zygotes_.end() && !found->second.ready) {
      ::kill(found->second.pid, SIGKILL);
      zygotes_.zygotes_.erase(found);
    }
    close(error);
  }

  Zygotes& zygotes_;
  std::string name_;
  Loop::FdWatcher watch_;
  Loop::Timer start_timer_;
};

Zygotes::Zygotes(Loop& loop, std::string agent_path) : loop_(loop), agent_path_(std::move(agent_path)) {}

Result<std::unique_ptr<Stream>> Zygotes::open_start(ServerLink& link, wire::StreamId id,
                                                    const wire::ZygoteRequest& request) {
  const auto is_module = [](const std::string& name) {
    return !name.empty() &&
           std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
  };
  if (request.zygote.empty() || !std::ranges::all_of(request.imports, is_module)) {
    return fail(ErrorCode::invalid_argument, "a zygote must have a name, and its imports must be module names");
  }
  if (request.harness.size() > longest_harness || request.harness.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument,
                "a harness must be Python source without NUL bytes, of at most 100,000 bytes");
  }
  const auto old = zygotes_.find(request.zygote);
  if (old != zygotes_.end()) {
    if (!old->second.ready) return fail(ErrorCode::already_exists, "the zygote is being started");
    ::kill(old->second.pid, SIGKILL);
    zygotes_.erase(old);
  }
  if (zygotes_.size() >= most_zygotes) return fail(ErrorCode::limit_reached, "too many zygotes");
  CLOCHE_TRY(auto control, Supervised::make_control());
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork a zygote");
  if (pid == 0) become_zygote(request, control.second.get(), agent_path_);
  zygotes_[request.zygote] = Zygote{pid, std::move(control.first), false};
  return std::make_unique<StartStream>(link, id, *this, request.zygote);
}

Result<Zygotes::Spare> Zygotes::ask_for_spare(Zygote& zygote) {
  CLOCHE_TRY(auto run, Supervised::make_control());
  CLOCHE_TRY(auto supervisor, Supervised::make_control());
  const std::array<int, 2> theirs{run.second.get(), supervisor.second.get()};
  CLOCHE_CHECK(send_fds(zygote.control.get(), theirs, "ask a zygote for a fork"));
  ++zygote.on_their_way;
  return Spare{.run = std::move(run.first), .supervisor = std::move(supervisor.first)};
}

void Zygotes::replace_spare(Zygote& zygote) {
  if (!zygote.ready || zygote.spare) return;
  // If it cannot be created, the run continues without it: the next run tries again.
  if (auto spare = ask_for_spare(zygote)) zygote.spare = std::move(*spare);
}

void Zygotes::replace_spares() {
  for (auto& [name, zygote] : zygotes_) replace_spare(zygote);
}

Result<std::unique_ptr<Supervised>> Zygotes::fork(const wire::ExecRequest& request, const ProgramFds& fds,
                                                  SupervisedEvents events) {
  const auto found = zygotes_.find(request.zygote);
  if (found == zygotes_.end() || !found->second.ready) {
    return fail(ErrorCode::not_found, "no zygote '" + request.zygote + "' is ready in this sandbox");
  }
  if (fds.is_terminal) return fail(ErrorCode::invalid_argument, "a run from a zygote cannot have a terminal");
  CLOCHE_TRY(const UniqueFd run, sealed_file("run", run_request(request, fds.mark), SealedUse::data));
  const std::array<int, 5> all{run.get(), fds.in, fds.out, fds.err, fds.event};
  const std::span theirs = std::span(all).first(fds.event < 0 ? 4 : 5);
  const SupervisorLimits limits{request.wall_ms, request.cpu_ms};
  const auto hand_over = [&](Spare& spare) -> Status {
    // Both wait in their sockets until they are read.
    if (::send(spare.supervisor.get(), &limits, sizeof limits, MSG_NOSIGNAL) != sizeof limits)
      return fail_errno("send limits");
    return send_fds(spare.run.get(), theirs, "hand the run to its fork");
  };
  auto spare = std::exchange(found->second.spare, std::nullopt);
  // A zygote that has died, for example by the OOM killer, is no reason for a run to fail.
  if (!spare || !hand_over(*spare)) {
    CLOCHE_TRY(spare, ask_for_spare(found->second));
    CLOCHE_CHECK(hand_over(*spare));
  }
  // If it were closed earlier, with messages of the fork unread, what the fork has not read yet would be lost.
  const auto handed_over_by = std::make_shared<UniqueFd>(std::move(spare->run));
  const bool in_a_hurry = Loop::Clock::now() - last_end_ < short_pause;
  SupervisedEvents and_replace{
      .started = std::move(events.started),
      .ended =
          [this, handed_over_by, told = std::move(events.ended)](Result<wire::ExecEnded> ended) {
            last_end_ = Loop::Clock::now();
            next_fork_ = loop_.after(before_a_fork, [this] { replace_spares(); });
            told(std::move(ended));
          },
  };
  // A caller that returned quickly will probably do so again; then the next spare is forked while this run is going on.
  if (in_a_hurry) loop_.later([this] { replace_spares(); });
  return std::make_unique<Supervised>(loop_, std::move(spare->supervisor), std::move(and_replace));
}

void Zygotes::on_answer(const std::string& name) {
  const auto found = zygotes_.find(name);
  if (found == zygotes_.end()) return;
  Zygote& zygote = found->second;
  const Answer answer = take_answer(zygote.control.get());
  if (answer == Answer::forked && zygote.on_their_way > 0) --zygote.on_their_way;
  if (answer != Answer::gone) return;
  zygote.on_their_way = 0;
  zygote.answers.reset();
}

std::vector<std::string> Zygotes::settle() {
  std::vector<std::string> silent;
  const auto deadline = Loop::Clock::now() + fork_timeout;
  for (auto& [name, zygote] : zygotes_) {
    while (zygote.on_their_way > 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Loop::Clock::now()).count();
      pollfd answered{zygote.control.get(), POLLIN, 0};
      if (left <= 0 || ::poll(&answered, 1, static_cast<int>(left)) == 0) break;
      switch (take_answer(zygote.control.get())) {
        case Answer::forked: --zygote.on_their_way; break;
        case Answer::gone: zygote.on_their_way = 0; break;  // and forks nothing any more
        case Answer::none_yet: break;
      }
    }
    if (zygote.on_their_way > 0) silent.push_back(name);
    zygote.spare.reset();
  }
  return silent;
}

std::set<pid_t> Zygotes::pids() const {
  std::set<pid_t> pids;
  for (const auto& [name, zygote] : zygotes_) {
    if (zygote.ready) pids.insert(zygote.pid);
  }
  return pids;
}

std::vector<std::string> Zygotes::prove() {
  std::vector<std::string> found;
  std::erase_if(zygotes_, [&](const auto& entry) {
    const auto& [name, zygote] = entry;
    if (!zygote.ready) return false;
    const auto changed = differences(zygote.evidence, evidence_of(zygote.pid, EvidenceOf::another));
    for (const auto& fact : changed) found.push_back("zygote '" + name + "': " + fact);
    if (!changed.empty()) ::kill(zygote.pid, SIGKILL);
    return !changed.empty();
  });
  return found;
}

void Zygotes::on_child_ended(pid_t pid) {
  std::erase_if(zygotes_, [pid](const auto& entry) { return entry.second.pid == pid && entry.second.ready; });
}

}  // namespace cloche::agent

#include "cli/exec_live.hpp"

#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>

#include "cli/stdio.hpp"
#include "cli/text/clean.hpp"
#include "core/async/event.hpp"
#include "core/async/first_of.hpp"
#include "json/lenient_json.hpp"
#include "json/write_json.hpp"

namespace cloche::cli {

namespace {

// How long a program may take to end by itself after Ctrl-C.
constexpr std::chrono::seconds ending_patience{10};
// How long a run may take to begin that is to be ended at once.
constexpr std::chrono::seconds beginning_patience{5};

class LiveRun {
 public:
  LiveRun(Executor executor, Service& service)
      : service_(service),
        out_(Descriptor::own(executor, STDOUT_FILENO)),
        err_(Descriptor::own(executor, STDERR_FILENO)),
        signals_(executor, SIGINT, SIGTERM, SIGHUP),
        began_(executor) {}

  Task<Result<int>> run(ExecRequest request) {
    auto first = co_await first_of(follow(std::move(request)), wait_for_signals());
    if (const auto* number = std::get_if<1>(&first)) co_return 128 + *number;
    auto ended = std::move(std::get<0>(first));
    if (stdout_closed_) {
      co_await end_run();
      co_return 128 + SIGPIPE;
    }
    if (!ended) {
      // A run that was ended because of a signal has ended as it should.
      if (caught_ != 0 && ended.error().code == ErrorCode::cancelled) co_return 128 + caught_;
      co_return fail(std::move(ended).error());
    }
    explain_result(*ended);
    co_return static_cast<int>(json::number(*ended, "exit_code"));
  }

 private:
  Task<Result<json::object>> follow(ExecRequest wanted) {
    RunFollower follower;
    follower.began = [this](const RunPlace& place) {
      place_ = place;
      began_.notify();
    };
    follower.printed = [this](Lane lane, std::string bytes) { return pass_on(lane, std::move(bytes)); };
    http::Request request;
    request.method = "POST";
    request.target = wanted.target;
    request.fields.emplace_back("Content-Type", "application/json");
    request.body = write_json(wanted.body);
    auto ended = co_await follow_run(service_, std::move(request), std::move(follower));
    co_return ended;
  }

  Task<Status> pass_on(Lane lane, std::string bytes) {
    Descriptor& to = lane == Lane::out ? out_ : err_;
    const bool written = co_await to.write(bytes);
    if (written || lane == Lane::err) co_return Status{};
    stdout_closed_ = true;
    co_return fail(ErrorCode::cancelled, "stdout was closed");
  }

  Task<int> next_signal() {
    const int number = co_await signals_.async_wait(asio::use_awaitable);
    co_return number;
  }

  // Returns when this command has to end by itself; the run is over then.
  Task<int> wait_for_signals() {
    caught_ = co_await next_signal();
    if (place_.run.empty()) co_await first_of(began_.wait(Deadline::after(beginning_patience)), next_signal());
    if (caught_ == SIGINT && !place_.run.empty()) {
      json::object interrupt;
      interrupt["signal"] = "INT";
      json::value body = std::move(interrupt);
      std::string target = place_.target() + "/signal";
      [[maybe_unused]] auto sent = co_await service_.post(std::move(target), std::move(body));
      // The end of the run ends the wait, too. A second signal is impatient.
      co_await first_of(pause_for(ending_patience), next_signal());
    }
    co_await end_run();
    co_return caught_;
  }

  Task<> end_run() {
    if (place_.run.empty()) co_return;
    std::string target = place_.target();
    auto removed = co_await service_.remove(std::move(target));
    if (removed || removed.error().code == ErrorCode::not_found) co_return;
    std::fprintf(stderr, "cloche: the run may continue for up to 30 s: %s\n",
                 printable(removed.error().message).c_str());
  }

  Service& service_;
  Descriptor out_;
  Descriptor err_;
  asio::signal_set signals_;
  Event began_;
  RunPlace place_;
  int caught_ = 0;
  bool stdout_closed_ = false;
};

}  // namespace

Task<Result<int>> exec_live(Service& service, ExecRequest request) {
  const auto executor = co_await asio::this_coro::executor;
  LiveRun live(executor, service);
  auto ended = co_await live.run(std::move(request));
  co_return ended;
}

void explain_result(const json::object& result) {
  if (const json::value* compile = result.if_contains("compile"); compile != nullptr && compile->is_object()) {
    for (const char* name : {"stdout", "stderr"}) {
      const std::string words = json::bytes(compile->get_object(), name);
      std::fwrite(words.data(), 1, words.size(), stderr);
    }
  }
  if (json::truth(result, "truncated")) {
    std::fprintf(stderr,
                 "cloche: output is incomplete: the service keeps only the first MiB of stdout and of stderr\n");
  }
  const std::string cause = json::text(result, "cause");
  const std::string reason = printable(json::text(result, "reason"));
  // An exit code other than 0 needs no explanation.
  if (cause != "none" && cause != "exit_code" && !reason.empty()) std::fprintf(stderr, "cloche: %s\n", reason.c_str());
}

}  // namespace cloche::cli

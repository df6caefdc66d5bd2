// `cloche top`: pools and sessions of a running service, live; without a terminal, once.
#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>

#include "cli/client/run_client.hpp"
#include "cli/command.hpp"
#include "cli/stdio.hpp"
#include "cli/text/print.hpp"
#include "cli/top/screen.hpp"
#include "cli/top/view.hpp"
#include "core/async/event.hpp"
#include "core/async/first_of.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

namespace {

struct TopFlags {
  ServerFlags server;
  double interval = 2;
  std::string sort = "name";
  bool json = false;
};

SortBy sort_named(const std::string& name) {
  for (const SortBy sort : {SortBy::name, SortBy::state, SortBy::age, SortBy::idle, SortBy::calls}) {
    if (to_string(sort) == name) return sort;
  }
  return SortBy::name;
}

struct Answers {
  json::value stats;
  json::value sessions;
};

Task<Result<Answers>> ask(Service& service) {
  Answers answers;
  std::string stats = "/stats";
  CLOCHE_CO_TRY(answers.stats, co_await service.get(std::move(stats)));
  std::string sessions = "/sessions";
  CLOCHE_CO_TRY(answers.sessions, co_await service.get(std::move(sessions)));
  co_return answers;
}

Snapshot snapshot_of(const Service& service, const Answers& answers) {
  Snapshot snapshot;
  snapshot.place = service.place();
  snapshot.pools = read_pools(answers.stats);
  snapshot.sessions = read_sessions(answers.sessions);
  return snapshot;
}

class Live {
 public:
  Live(Executor executor, Service& service, const TopFlags& flags, Snapshot first)
      : service_(service),
        interval_(std::chrono::milliseconds(static_cast<std::int64_t>(flags.interval * 1000))),
        snapshot_(std::move(first)),
        paint_(paint_for(STDOUT_FILENO)),
        in_(Descriptor::own(executor, STDIN_FILENO)),
        resizes_(executor, SIGWINCH) {
    view_.sort = sort_named(flags.sort);
  }

  // Until the user quits.
  Task<> run() {
    redraw();
    co_await first_of(watch_service(), watch_keys(), watch_size());
  }

 private:
  Task<> watch_service() {
    for (;;) {
      co_await pause_for(interval_);
      auto answers = co_await ask(service_);
      if (answers) {
        snapshot_ = snapshot_of(service_, *answers);
      } else {
        snapshot_.failure = answers.error().message;
      }
      redraw();
    }
  }

  Task<> watch_keys() {
    std::string typed;
    for (;;) {
      const std::string bytes = co_await in_.read();
      if (bytes.empty()) co_return;  // the terminal is gone
      typed += bytes;
      for (const Key key : take_keys(typed)) {
        if (key == Key::quit) co_return;
        view_ = after(view_, key, snapshot_.sessions.size(), session_rows(snapshot_, screen_.size()));
      }
      redraw();
    }
  }

  Task<> watch_size() {
    for (;;) {
      co_await resizes_.async_wait(asio::use_awaitable);
      redraw();
    }
  }

  void redraw() {
    // Sessions may be fewer than before, and the screen smaller.
    const WindowSize size = screen_.size();
    view_ = after(view_, Key::none, snapshot_.sessions.size(), session_rows(snapshot_, size));
    screen_.show(draw(snapshot_, view_, size, wall_clock(), paint_));
  }

  Service& service_;
  std::chrono::milliseconds interval_;
  Snapshot snapshot_;
  View view_;
  Paint paint_;
  Descriptor in_;
  asio::signal_set resizes_;
  Screen screen_;
};

Task<Result<int>> top(Service& service, const TopFlags& flags) {
  CLOCHE_CO_TRY(const Answers answers, co_await ask(service));
  if (flags.json) {
    json::object both;
    both["pools"] = answers.stats;
    const json::value* list = json::find(answers.sessions, "sessions");
    both["sessions"] = list != nullptr ? *list : json::value();
    co_return print_json(both);
  }
  Snapshot first = snapshot_of(service, answers);
  if (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0) {
    View view;
    view.sort = sort_named(flags.sort);
    co_return print_text(plain_text(first, view, wall_clock(), paint_for(STDOUT_FILENO)));
  }
  const auto executor = co_await asio::this_coro::executor;
  Live live(executor, service, flags, std::move(first));
  co_await live.run();
  co_return 0;
}

}  // namespace

void add_top_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<TopFlags>();
  auto* command =
      app.add_subcommand("top", "Show pools and sessions of a running service, live; without a terminal, once");
  command->footer(
      "Keys: q quits, up and down (or k and j) scroll, left and right (or s) change the sort column, r reverses the "
      "order.");
  command->add_option("--interval", flags->interval, "Refresh interval in seconds")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--sort", flags->sort, "Sort sessions by this column")
      ->check(CLI::IsMember({"name", "state", "age", "idle", "calls"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "Print JSON once and exit");
  flags->server.add_to(*command);
  command->callback([flags, &chosen] {
    chosen = [flags] { return run_client(flags->server, [flags](Service& service) { return top(service, *flags); }); };
  });
}

}  // namespace cloche::cli

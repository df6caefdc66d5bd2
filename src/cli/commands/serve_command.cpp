// `cloche serve`: the service, until it is told to end.
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value_from.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "auth/tokens/token_file.hpp"
#include "cli/command.hpp"
#include "cli/engine_flags.hpp"
#include "cli/text/print.hpp"
#include "core/async/first_of.hpp"
#include "core/async/task_group.hpp"
#include "core/log.hpp"
#include "json/write_json.hpp"
#include "library/throwing.hpp"
#include "server/access.hpp"
#include "server/listen.hpp"
#include "server/service.hpp"
#include "server/service_manager.hpp"

namespace cloche::cli {

namespace {

struct ServeFlags {
  std::string config;
  std::vector<std::string> listen;
  std::string log_level;
  std::string log_format;
  bool end_with_stdin = false;
  bool json = false;
  std::map<std::string, std::string> over_environment;  // by the variable they stand over
};

config::Config config_of(const ServeFlags& flags) {
  config::Environment environment = config::process_environment();
  for (const auto& [variable, value] : flags.over_environment) {
    if (!value.empty()) environment[variable] = value;
  }
  return value_or_throw(config::read_config(flags.config, environment));
}

log::Form log_form_of(config::LogForm form) {
  switch (form) {
    case config::LogForm::text: return log::Form::text;
    case config::LogForm::json: return log::Form::json;
    case config::LogForm::automatic: break;
  }
  return log::Form::automatic;
}

void set_up_log(const ServeFlags& flags, const config::LogSettings& settings) {
  const std::string level = flags.log_level.empty() ? settings.level : flags.log_level;
  log::Form form = log_form_of(settings.form);
  if (flags.log_format == "auto") form = log::Form::automatic;
  if (flags.log_format == "text") form = log::Form::text;
  if (flags.log_format == "json") form = log::Form::json;
  log::set_up(spdlog::level::from_str(level), form);
}

// Nobody can show it again. One that could not be shown is of no use, and is revoked.
void show_first_token(const std::string& file, const auth::NewToken& token, Form form) {
  int printed = 0;
  if (form == Form::json) {
    boost::json::object json;
    json["event"] = "first_token";
    json["tenant"] = token.record.tenant;
    json["token"] = token.text;
    json["file"] = file;
    printed = std::printf("%s\n", write_json(json).c_str());
  } else {
    printed = std::printf(
        "cloche: first admin token, of tenant %s; it is shown only once:\n%s\n"
        "cloche: its hash is in %s; create more with `cloche token create`\n",
        token.record.tenant.c_str(), token.text.c_str(), file.c_str());
  }
  if (printed >= 0 && std::fflush(stdout) == 0) return;
  [[maybe_unused]] auto revoked = auth::TokenFile(file).revoke(token.record.id);
  throw SandboxError(
      "the first token could not be printed and was revoked; create one with `cloche token create "
      "--tenant default --role admin`");
}

server::ServiceOptions options_of(config::Config config, const ServeFlags& flags) {
  server::ServiceOptions options;
  options.listen = value_or_throw(server::listen_on(config.server, flags.listen));
  server::Access access = value_or_throw(server::open_access(config, options.listen));
  options.auth = std::move(access.options);
  if (access.first_token) show_first_token(*options.auth.token_file, *access.first_token, form_of(flags.json));
  options.config = std::move(config);
  return options;
}

void reload(server::Service& service) {
  if (auto reloaded = service.reload_certificates(); reloaded) {
    log::info("SIGHUP: certificates reloaded");
  } else {
    log::error("SIGHUP: certificates not reloaded: {}", reloaded.error().message);
  }
}

enum class OnHangUp { reload, end };

// What ends the service, beside SIGTERM, SIGINT and SIGUSR1.
struct EndRules {
  OnHangUp on_hang_up = OnHangUp::end;
  bool with_stdin = false;
};

// Why the service is to end, and whether its sandboxes stay for the next start.
struct End {
  std::string why;
  bool keeps_sandboxes = false;
};

Task<End> wait_for_signal(server::Service& service, asio::signal_set& signals, OnHangUp on_hang_up) {
  int number = co_await signals.async_wait(asio::use_awaitable);
  while (number == SIGHUP && on_hang_up == OnHangUp::reload) {
    reload(service);
    number = co_await signals.async_wait(asio::use_awaitable);
  }
  co_return End{"signal " + std::to_string(number), number == SIGUSR1};
}

// Reads stdin, a pipe from the process that started the service, to its end: the service ends with that process,
// however that one ended. A stdin that cannot be read is at its end.
Task<End> wait_for_end_of_stdin() {
  asio::posix::stream_descriptor input(co_await asio::this_coro::executor);
  boost::system::error_code failed;
  input.assign(::dup(STDIN_FILENO), failed);
  std::array<char, 4096> dropped{};
  while (!failed) {
    co_await input.async_read_some(asio::buffer(dropped), asio::redirect_error(asio::use_awaitable, failed));
  }
  co_return End{"stdin was closed"};
}

Task<End> wait_for_end(server::Service& service, asio::signal_set& signals, EndRules rules) {
  if (!rules.with_stdin) co_return co_await wait_for_signal(service, signals, rules.on_hang_up);
  auto end = co_await first_of(wait_for_signal(service, signals, rules.on_hang_up), wait_for_end_of_stdin());
  co_return end.index() == 0 ? std::get<0>(std::move(end)) : std::get<1>(std::move(end));
}

void say_where(const server::Service& service, Form form) {
  if (form == Form::json) {
    boost::json::object json;
    json["event"] = "listening";
    json["addresses"] = boost::json::value_from(service.addresses());
    std::printf("%s\n", write_json(json).c_str());
  } else {
    for (const std::string& address : service.addresses()) std::printf("cloche: listening on %s\n", address.c_str());
  }
  std::fflush(stdout);
}

// A server that cannot start has begun to take over what an earlier one left, and sessions are part of that: it ends as
// one that is killed does, and leaves all of it to the next start. To put it away in order would end them. One that
// cannot end in time leaves what it could not remove in the same way.
[[noreturn]] void leave_to_the_next(const Error& why) {
  std::fprintf(stderr, "cloche: %s\n", why.message.c_str());
  std::fflush(nullptr);
  std::_Exit(why.code == ErrorCode::unavailable || why.code == ErrorCode::unsupported ? exit_unavailable
                                                                                      : exit_failure);
}

// Leaves everything as a process that is killed does, once the requests in flight have finished.
[[noreturn]] void leave_sandboxes_to_the_next() {
  log::info("sandboxes and sessions stay for the next start");
  std::fflush(nullptr);
  std::_Exit(0);
}

Task<Status> end_service(server::Service& service, asio::signal_set& signals, const End& end) {
  log::info("{}: shutting down; send another signal to stop at once", end.why);
  const auto keeps_sandboxes = std::make_shared<bool>(end.keeps_sandboxes);
  signals.async_wait([&service, keeps_sandboxes](boost::system::error_code error, int number) {
    if (error) return;
    // The service manager may not start the service again after this one.
    if (number == SIGTERM || number == SIGINT) *keeps_sandboxes = false;
    service.hasten();
  });
  if (*keeps_sandboxes) {
    co_await service.hand_over();
    if (*keeps_sandboxes) leave_sandboxes_to_the_next();
  }
  auto ended = co_await service.shut_down();
  if (!ended) leave_to_the_next(ended.error());
  signals.cancel();
  co_return ended;
}

Task<Status> run_until_stopped(server::Service& service, asio::signal_set& signals, EndRules rules, Form form) {
  const auto manager = server::ServiceManager::from_environment();
  manager.notify("STATUS=starting");
  auto started = co_await service.start();
  if (!started) leave_to_the_next(started.error());
  say_where(service, form);
  manager.notify("READY=1\nSTATUS=serving");
  TaskGroup watchdog(co_await asio::this_coro::executor);
  watchdog.spawn("watchdog", [&manager] { return manager.feed_watchdog(); });
  const End end = co_await wait_for_end(service, signals, rules);
  manager.notify("STOPPING=1\nSTATUS=shutting down");
  auto ended = co_await end_service(service, signals, end);
  co_await watchdog.shut_down();
  co_return ended;
}

int serve(const ServeFlags& flags) {
  config::Config config = config_of(flags);
  set_up_log(flags, config.log);
  const EndRules rules{config.server.tls ? OnHangUp::reload : OnHangUp::end, flags.end_with_stdin};
  asio::io_context io{1};
  // From here on: one that is told to end before it has started ends in order as soon as it has.
  asio::signal_set signals(io, SIGTERM, SIGINT, SIGHUP);
  signals.add(SIGUSR1);
  server::ServiceOptions options = options_of(std::move(config), flags);
  auto service = value_or_throw(server::Service::create(io.get_executor(), std::move(options)));
  std::exception_ptr failure;
  Status ended;
  asio::co_spawn(
      io, [&]() -> Task<> { ended = co_await run_until_stopped(*service, signals, rules, form_of(flags.json)); },
      [&](std::exception_ptr error) { failure = error; });
  io.run();
  if (failure) std::rethrow_exception(failure);
  value_or_throw(std::move(ended));
  return 0;
}

}  // namespace

void add_serve_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app.add_subcommand(
      "serve", "Serve sandboxes over HTTP until SIGTERM or SIGINT; SIGUSR1 keeps sandboxes for the next start");
  command
      ->add_option("--config", flags->config, "Configuration file (default: $CLOCHE_CONFIG, or /etc/cloche/cloche.yml)")
      ->type_name("FILE");
  command->add_option("--listen", flags->listen,
                      "Address to listen on: 127.0.0.1:8080 (the default), [::1]:8080 or unix:/path; may be repeated");
  command->add_flag("--end-with-stdin", flags->end_with_stdin,
                    "Also stop when stdin is closed, such as when the parent process ends");
  command->add_flag("--json", flags->json, "Print the addresses and the first token as JSON, one object per line");
  auto& over = flags->over_environment;
  command->add_option("--backend", over["CLOCHE_BACKEND"], "Backend: " + describe_backends())->check(is_backend());
  command->add_option("--instance", over["CLOCHE_INSTANCE"],
                      "Instance name; sandboxes of other instances are left alone (default: default)");
  command
      ->add_option("--state-dir", over["CLOCHE_STATE_DIR"],
                   "Directory for the journal and root filesystems (default: /var/lib/cloche)")
      ->type_name("DIR");
  command
      ->add_option("--run-dir", over["CLOCHE_RUN_DIR"],
                   "Directory for the state of running sandboxes (default: /run/cloche)")
      ->type_name("DIR");
  command->add_option("--docker-host", over["DOCKER_HOST"], "Docker engine: unix:///path or tcp://host:port");
  command->add_option("--log-level", flags->log_level, "Least severe messages to log (default: info)")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}));
  command
      ->add_option("--log-format", flags->log_format,
                   "Log format: text, json (one object per line), or auto: text on a terminal (the default)")
      ->check(CLI::IsMember({"auto", "text", "json"}));
  command->callback([flags, &app, &chosen] {
    // The flag of all commands, in front of this one, says the same.
    const CLI::Option* general = app.get_option("--log-level");
    if (flags->log_level.empty() && general->count() > 0) flags->log_level = general->as<std::string>();
    chosen = [flags] { return serve(*flags); };
  });
}

}  // namespace cloche::cli

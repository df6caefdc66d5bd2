// `cloche serve`: the service, until it is told to end.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <map>

#include "cli/command.hpp"
#include "core/log.hpp"
#include "lib/throwing.hpp"
#include "server/service.hpp"

namespace cloche::cli {

namespace {

struct ServeFlags {
  std::string config;
  std::vector<std::string> listen{"127.0.0.1:8080"};
  std::map<std::string, std::string> over_environment;  // by the variable they stand over
};

server::ServiceOptions options_of(const ServeFlags& flags) {
  config::Environment environment = config::process_environment();
  for (const auto& [variable, value] : flags.over_environment) {
    if (!value.empty()) environment[variable] = value;
  }
  server::ServiceOptions options;
  options.config = value_or_throw(config::read_config(flags.config, environment));
  for (const std::string& text : flags.listen) options.listen.push_back(value_or_throw(server::parse_listen(text)));
  return options;
}

Task<Status> run_until_told(server::Service& service) {
  auto started = co_await service.start();
  if (!started) co_return started;
  for (const std::string& address : service.addresses()) std::printf("cloche: listening on %s\n", address.c_str());
  std::fflush(stdout);
  asio::signal_set signals(co_await asio::this_coro::executor, SIGTERM, SIGINT);
  const int number = co_await signals.async_wait(asio::use_awaitable);
  log::info("signal {}: shutting down; another one hastens", number);
  signals.async_wait([&service](boost::system::error_code error, int) {
    if (!error) service.hasten();
  });
  auto ended = co_await service.shut_down();
  signals.cancel();
  co_return ended;
}

int serve(const ServeFlags& flags) {
  asio::io_context io{1};
  auto service = value_or_throw(server::Service::create(io.get_executor(), options_of(flags)));
  std::exception_ptr failure;
  Status ended;
  asio::co_spawn(
      io, [&]() -> Task<> { ended = co_await run_until_told(*service); },
      [&](std::exception_ptr error) { failure = error; });
  io.run();
  if (failure) std::rethrow_exception(failure);
  value_or_throw(std::move(ended));
  return 0;
}

}  // namespace

void add_serve_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app.add_subcommand("serve", "Lends sandboxes over HTTP, until SIGTERM or SIGINT");
  command->add_option("--config", flags->config, "cloche.yml; else $CLOCHE_CONFIG, else /etc/cloche/cloche.yml");
  command
      ->add_option("--listen", flags->listen,
                   "Where to listen: 127.0.0.1:8080, [::1]:8080 or unix:/path; may be repeated")
      ->capture_default_str();
  auto& over = flags->over_environment;
  command->add_option("--backend", over["CLOCHE_BACKEND"], "Who makes sandboxes: oci (an OCI runtime) or docker")
      ->check(CLI::IsMember({"oci", "docker"}));
  command->add_option("--instance", over["CLOCHE_INSTANCE"], "Whose sandboxes these are (default: default)");
  command->add_option("--state-dir", over["CLOCHE_STATE_DIR"], "Journal, root filesystems (default: /var/lib/cloche)");
  command->add_option("--run-dir", over["CLOCHE_RUN_DIR"], "Living sandboxes (default: /run/cloche)");
  command->add_option("--docker-host", over["DOCKER_HOST"], "The Docker engine: unix:///path or tcp://host:port");
  command->callback([flags, &chosen] { chosen = [flags] { return serve(*flags); }; });
}

}  // namespace cloche::cli

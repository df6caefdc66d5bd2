// `cloche pools`: the figures of every pool of a running service.
#include <unistd.h>

#include <boost/json/object.hpp>

#include "cli/client/run_client.hpp"
#include "cli/command.hpp"
#include "cli/figures.hpp"
#include "cli/text/print.hpp"

namespace cloche::cli {

namespace {

struct PoolsFlags {
  ServerFlags server;
  bool json = false;
};

Task<Result<int>> show_pools(Service& service, Form form) {
  std::string target = "/stats";
  CLOCHE_CO_TRY(const boost::json::value stats, co_await service.get(std::move(target)));
  if (form == Form::json) co_return print_json(stats);
  const std::string text = pool_table(read_pools(stats)).text(paint_for(STDOUT_FILENO));
  co_return print_text(text);
}

}  // namespace

void add_pools_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<PoolsFlags>();
  auto* command = app.add_subcommand("pools", "Show statistics of every pool of a running service");
  command->add_flag("--json", flags->json, "Print JSON");
  flags->server.add_to(*command);
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_client(flags->server, [flags](Service& service) { return show_pools(service, form_of(flags->json)); });
    };
  });
}

}  // namespace cloche::cli

#include "cli/commands/copy_command.hpp"

#include <boost/json/object.hpp>
#include <cstdio>

#include "cli/client/run_client.hpp"
#include "cli/copy/download.hpp"
#include "cli/copy/upload.hpp"
#include "cli/text/print.hpp"
#include "library/throwing.hpp"

namespace cloche::cli {

namespace {

struct CopyFlags {
  ServerFlags server;
  std::string tenant;
  std::string from;
  std::string to;
  bool json = false;
};

Task<Result<int>> copy(Service& service, const CopyFlags& flags, CopyArguments args) {
  const bool is_up = args.way == CopyArguments::Way::up;
  Result<Copied> done = Copied{};
  if (is_up) {
    done = co_await upload(service, std::move(args), flags.tenant);
  } else {
    done = co_await download(service, std::move(args), flags.tenant);
  }
  if (!done) co_return fail(std::move(done).error());
  if (done->stdout_closed) co_return exit_stdout_closed;
  if (!flags.json || done->to_stdout) co_return 0;
  boost::json::object json;
  json["from"] = flags.from;
  json["to"] = flags.to;
  json["path"] = done->path;
  json["entries"] = done->entries;
  json["bytes"] = done->bytes;
  json["left_out"] = done->left_out;
  co_return print_json(json);
}

}  // namespace

void add_copy_command(CLI::App& sessions, Action& chosen) {
  auto flags = std::make_shared<CopyFlags>();
  CLI::App* command = sessions.add_subcommand("cp", "Copy a file or directory into or out of a session");
  command->footer(
      "As with cp -r, a copy to a directory is placed in it, and FROM/. copies the contents of a directory. - is\n"
      "stdin or stdout; a directory is written to stdout as a tar archive:\n"
      "  cloche sessions cp data.csv demo:\n"
      "  cloche sessions cp demo:plots .\n"
      "  cloche sessions cp demo:report.txt - | less");
  command->add_option("FROM", flags->from, "Local path, SESSION:PATH in the workspace of a session, or -")
      ->required()
      ->type_name("PLACE");
  command->add_option("TO", flags->to, "The same; a session that does not exist is created")
      ->required()
      ->type_name("PLACE");
  add_tenant_flag(*command, flags->tenant);
  command->add_flag("--json", flags->json, "Print a summary as JSON");
  flags->server.add_to(*command);
  command->callback([flags, &chosen] {
    chosen = [flags] {
      const CopyArguments args = value_or_throw(plan_copy(flags->from, flags->to));
      return run_client(flags->server, [flags, args](Service& service) { return copy(service, *flags, args); });
    };
  });
}

}  // namespace cloche::cli

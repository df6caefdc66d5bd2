// `cloche completion SHELL` prints what teaches a shell to complete; `cloche complete`, hidden, is what that asks.
#include <CLI/App.hpp>
#include <cstdlib>

#include "cli/client/run_client.hpp"
#include "cli/command.hpp"
#include "cli/figures.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/print.hpp"
#include "cli/tree/complete.hpp"
#include "cli/tree/completion_scripts.hpp"
#include "core/async/event.hpp"
#include "json/lenient_json.hpp"
#include "library/throwing.hpp"

namespace cloche::cli {

namespace {

// A popup list must appear quickly.
constexpr std::chrono::milliseconds patience{500};

ServerFlags server_in(const std::vector<std::string>& words) {
  ServerFlags flags;
  const auto value_of = [&](const std::string& name, const char* variable) -> std::string {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == name && i + 1 < words.size()) return words[i + 1];
      if (words[i].starts_with(name + "=")) return words[i].substr(name.size() + 1);
    }
    const char* own = std::getenv(variable);
    return own != nullptr ? own : "";
  };
  flags.server = value_of("--server", "CLOCHE_SERVER");
  flags.token_file = value_of("--token-file", "");
  flags.authority = value_of("--ca-file", "CLOCHE_CA_FILE");
  return flags;
}

Task<Result<std::vector<std::string>>> session_names(Service& service) {
  http::Request request;
  request.method = "GET";
  request.target = "/sessions";
  const http::BodySink none;
  const Deadline soon = Deadline::after(patience);
  CLOCHE_CO_TRY(const http::Response response, co_await service.send(std::move(request), none, soon));
  CLOCHE_CO_TRY(const json::value answer, json::parse(response.body));
  std::vector<std::string> names;
  for (const SessionFigures& each : read_sessions(answer)) names.push_back(printable(each.session));
  co_return names;
}

// None when no service says anything soon: completion has no place for words about that.
std::vector<std::string> ask_sessions(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  try {
    run_client(server_in(words), [&](Service& service) -> Task<Result<int>> {
      CLOCHE_CO_TRY(names, co_await session_names(service));
      co_return 0;
    });
  } catch (const std::exception&) {
    names.clear();
  }
  return names;
}

int print_candidates(const CLI::App& app, const std::vector<std::string>& words) {
  const Completion completion = complete(app, words, &ask_sessions);
  std::string text;
  if (completion.files == Completion::Files::any) text += "files\n";
  if (completion.files == Completion::Files::directories) text += "directories\n";
  for (const Candidate& each : completion.candidates) text += each.text + "\t" + each.description + "\n";
  return print_text(text);
}

}  // namespace

void add_completion_command(CLI::App& app, Action& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print a shell completion script");
  completion->footer(
      "To use it in the current shell:\n"
      "  source <(cloche completion bash)\n"
      "`make install` installs the scripts of all three shells.");
  completion->add_option("SHELL", *shell, "Which")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([shell, &chosen] {
    chosen = [shell] {
      return print_text(*shell == "bash" ? bash_completion() : *shell == "zsh" ? zsh_completion() : fish_completion());
    };
  });

  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* complete_command =
      app.add_subcommand("complete", "Print possible completions; used by the scripts of `completion`");
  complete_command->group("");
  complete_command->add_option("WORDS", *words, "Words after `cloche`; the last is being typed");
  complete_command->callback(
      [words, &app, &chosen] { chosen = [words, &app] { return print_candidates(app, *words); }; });
}

}  // namespace cloche::cli

#include "cli/tree/manual.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "cli/tree/command_tree.hpp"

namespace cloche::cli {

namespace {

std::string bold(std::string_view text) { return "\\fB" + roff_text(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff_text(text) + "\\fR"; }

// The placeholder of an option's value.
std::string placeholder(const CLI::Option& option) {
  const auto values = values_of(option);
  if (values.empty()) {
    const std::string kind = kind_of(option);
    return italic(kind.empty() ? "VALUE" : kind);
  }
  std::string all;
  for (const std::string& value : values) all += (all.empty() ? "" : "|") + roff_text(value);
  return all;
}

std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

std::string option_entry(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : names_of(option)) names += (names.empty() ? "" : ", ") + bold(name);
  if (takes_value(option)) names += " " + placeholder(option);
  std::string text = ".TP\n" + names + "\n" + roff_text(sentence(option.get_description())) + "\n";
  if (!option.get_default_str().empty()) text += "Default: " + bold(option.get_default_str()) + ".\n";
  if (!option.get_envname().empty())
    text += "Can also be set by the environment variable " + bold(option.get_envname()) + ".\n";
  return text;
}

std::string argument_entry(const CLI::Option& option) {
  std::string text =
      ".TP\n" + italic(option.get_name(true)) + "\n" + roff_text(sentence(option.get_description())) + "\n";
  const auto values = values_of(option);
  if (!values.empty()) text += "One of " + placeholder(option) + ".\n";
  return text;
}

std::string synopsis(const CLI::App& command) {
  std::string line = bold(full_name(command)) + " [" + italic("OPTION") + "]...";
  for (const CLI::Option* each : positionals(command)) {
    const std::string name = italic(each->get_name(true));
    line += each->get_required() ? " " + name : " [" + name + "]";
    if (takes_many(*each)) line += "...";
  }
  return line;
}

// Lines that are set apart stand as they are; the others flow.
std::string footer_text(const std::string& footer) {
  std::string text;
  bool in_example = false;
  std::string_view rest = footer;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const bool is_example = line.starts_with("  ");
    if (is_example != in_example) text += is_example ? ".PP\n.nf\n.RS\n" : ".RE\n.fi\n.PP\n";
    in_example = is_example;
    if (!line.empty()) text += roff_text(is_example ? line.substr(2) : line) + "\n";
  }
  if (in_example) text += ".RE\n.fi\n";
  return text;
}

void collect_leaves(const CLI::App& app, std::vector<const CLI::App*>& leaves) {
  const auto below = visible_commands(app);
  if (below.empty()) leaves.push_back(&app);
  for (const CLI::App* each : below) collect_leaves(*each, leaves);
}

std::string command_section(const CLI::App& command) {
  std::string text = ".SS " + synopsis(command) + "\n" + roff_text(sentence(command.get_description())) + "\n";
  for (const CLI::Option* each : positionals(command)) text += argument_entry(*each);
  for (const CLI::Option* each : visible_options(command)) {
    if (each != command.get_help_ptr()) text += option_entry(*each);
  }
  if (const std::string footer = command.get_footer(); !footer.empty()) text += ".PP\n" + footer_text(footer);
  return text;
}

std::string environment_section(const std::vector<const CLI::App*>& commands) {
  std::map<std::string, std::string> variables{
      {"CLOCHE_TOKEN", "Token that commands send to a service, unless --token-file is given."},
      {"CLOCHE_CONFIG", "Configuration file of serve and token, unless --config is given."},
      {"DOCKER_HOST", "Address of the Docker engine, unless --docker-host is given."},
      {"NO_COLOR", "If not empty, output has no colors unless --color is given."},
      {"TMPDIR", "Directory for the temporary file that holds stdin while it is copied into a session."},
  };
  for (const CLI::App* command : commands) {
    for (const CLI::Option* option : visible_options(*command)) {
      if (option->get_envname().empty()) continue;
      variables.emplace(option->get_envname(), "The same as " + names_of(*option).back() + ".");
    }
  }
  std::string text = ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : variables) text += ".TP\n" + bold(name) + "\n" + roff_text(meaning) + "\n";
  return text;
}

struct ExitCode {
  const char* code;
  const char* meaning;
};
constexpr ExitCode exit_codes[] = {
    {"0",
     "Success. run and exec exit with the exit code of the program, or 128 plus the number of the signal that ended "
     "it."},
    {"64", "Invalid command line."},
    {"69", "The host or the service cannot do it, or the service does not respond."},
    {"70", "Any other error."},
    {"129, 130, 143", "The command was stopped by SIGHUP, SIGINT or SIGTERM."},
    {"141", "stdout was closed."},
};

}  // namespace

std::string roff_text(std::string_view text) {
  std::string roff;
  bool at_line_start = true;
  while (!text.empty()) {
    const char c = text.front();
    if (at_line_start && (c == '.' || c == '\'')) roff += "\\&";
    at_line_start = c == '\n';
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else if (c == '\'') {
      roff += "\\(aq";
    } else if (c == '`') {
      roff += "\\(ga";
    } else if (c == '^') {
      roff += "\\(ha";
    } else if (c == '~') {
      roff += "\\(ti";
    } else if (text.starts_with("…")) {
      roff += "...";
      text.remove_prefix(std::string_view("…").size() - 1);
    } else {
      roff += c;
    }
    text.remove_prefix(1);
  }
  return roff;
}

std::string manual_page(const CLI::App& app, std::string_view version) {
  std::vector<const CLI::App*> commands;
  collect_leaves(app, commands);
  // No date: the same sources make the same page.
  std::string page = ".TH CLOCHE 1 \"\" \"cloche " + roff_text(version) + "\" \"User Commands\"\n.nh\n.ad l\n";
  page += ".SH NAME\ncloche \\- sandboxes for untrusted code\n";
  page += ".SH SYNOPSIS\n";
  for (const CLI::App* command : commands) page += synopsis(*command) + "\n.br\n";
  page += ".SH DESCRIPTION\n" + roff_text(app.get_description()) + "\n";
  page += ".SH OPTIONS\nThese apply to all commands.\n";
  for (const CLI::Option* each : visible_options(app)) page += option_entry(*each);
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : commands) page += command_section(*command);
  page += environment_section(commands);
  page += ".SH EXIT STATUS\n";
  for (const ExitCode& each : exit_codes) page += ".TP\n" + bold(each.code) + "\n" + roff_text(each.meaning) + "\n";
  page += ".SH FILES\n.TP\n" + italic("/etc/cloche/cloche.yml") + "\nThe configuration of the service.\n.TP\n" +
          italic("/var/lib/cloche") + "\nRoot filesystems, images, tokens and the service\\(aqs records.\n";
  return page;
}

}  // namespace cloche::cli

// The commands and their options as completion and manual see them: the parser's own tree, less what is hidden.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace cloche::cli {

std::vector<const CLI::App*> visible_commands(const CLI::App& app);
// Options with dashes, in the order in which they were added; the help first.
std::vector<const CLI::Option*> visible_options(const CLI::App& app);
std::vector<const CLI::Option*> positionals(const CLI::App& app);

// `-t`, `--tty`.
std::vector<std::string> names_of(const CLI::Option& option);
bool takes_value(const CLI::Option& option);
bool takes_many(const CLI::Option& option);

// The type of an option's value, as known to the parser: the words of `{a,b}` if it is one of several.
std::vector<std::string> values_of(const CLI::Option& option);
// The kind of thing otherwise: FILE, DIR, SESSION, PLACE, URL, TEXT, …
std::string kind_of(const CLI::Option& option);

// `cloche sessions cp`.
std::string full_name(const CLI::App& app);

}  // namespace cloche::cli

// From a language and a source to the steps that run it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/language.hpp"
#include "core/result.hpp"

namespace cloche {

// What is set in the first, else what is set in the second.
StepLimits over(const StepLimits& limits, StepLimits beneath);

// One program to run, and what it may use.
struct Step {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  StepLimits limits;
};

struct Steps {
  std::string file;  // what the source is written to, in the work directory
  std::optional<Step> compile;
  Step run;
  // Where the sandbox has this zygote, a run may be forked from it: argv is then this and not run's.
  std::string zygote;
  std::vector<std::string> zygote_argv;
};

// The names of a source file and its class.
struct SourceNames {
  std::string file;
  std::string class_name = "Main";
  std::string package;              // of the class, with dots; empty: none
  std::vector<std::string> others;  // what {sources} names beside the file
};

// The default names of a source: the file name of the language, and the class name found in the source.
Result<SourceNames> names_of(const Language& language, std::string_view source);

// Where a source is when its program starts in the source's own directory.
inline constexpr std::string_view here = ".";

// Rejects names that a program could misinterpret. `directory` is the directory of the source, relative to where the
// commands start. If that is the current directory, `{dir}/` at the start of an argument is omitted, so that compiler
// messages say main.c and not ./main.c.
Result<Steps> expand(const Language& language, const SourceNames& names, std::string_view directory = here);

// Whether the command is the compiled program itself, and not a tool that runs it.
bool runs_what_it_compiled(const Language& language);

// Whether the commands say {dir}. Those of a language that does not can only start in the source's own directory.
bool names_directory(const Language& language);

// The language's prefix and the source; a byte order mark stays in front.
std::string with_prefix(const Language& language, std::string_view source);

// The message if a tool of the language is not in the sandbox.
std::string missing_tool(const Language& language, const Tool& tool);

// A plain name of a file: no directory, nothing that looks like an option, no control characters.
Status validate_file_name(std::string_view name);

// Refuses unknown placeholders and single braces.
enum class TemplateOf { file, command };
Status validate_template(std::string_view pattern, TemplateOf use);

}  // namespace cloche

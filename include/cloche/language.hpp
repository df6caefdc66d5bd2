/// @file
/// Language: data that describes how source code becomes a program. The built-in languages are in
/// src/language/languages.yml; `languages:` of a configuration changes them and adds others.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloche/bytes.hpp"
#include "cloche/profile.hpp"

namespace cloche {

/// Limits of one step. Unset values are decided by the sandbox or the caller.
struct StepLimits {
  std::optional<std::chrono::milliseconds> wall;  ///< Wall-clock time.
  std::optional<std::chrono::milliseconds> cpu;   ///< User plus system time.
  std::optional<Bytes> memory;                    ///< Memory of the sandbox.
  std::optional<std::uint32_t> pids;              ///< Processes and threads.
  std::optional<Bytes> file_size;                 ///< Size of one file that the step writes.
  std::optional<Bytes> output;  ///< Bytes of stdout and of stderr. A program that prints more is stopped.
};

/// A program that a language requires.
struct Tool {
  std::string program;  ///< A name to find in PATH, or an absolute path.
  std::string package;  ///< The Debian package that contains it. Empty if there is none.
};

/// How the name of the main class is found.
enum class ClassFrom {
  nothing,  ///< It is always Main.
  java,     ///< It is read from the Java source.
};

/// One language. In `file`, {class} is replaced by the class name. In the commands, {filename} is replaced by the file
/// name, {stem} by the file name without its extension, {class} by the class with its package and {dir} by the
/// directory of the source. {{ and }} are literal braces. Each argument stays one argument, except {sources}, which
/// must be a separate argument: it is replaced by the source and all other files with the extensions of the language,
/// one argument each.
struct Language {
  std::string name;                           ///< The name, in lower case.
  std::string title;                          ///< The name to show to people.
  std::vector<std::string> aliases;           ///< Other names, in lower case.
  std::string profile;                        ///< The profile of the sandboxes that it runs in.
  std::string image;                          ///< The image on docker if nothing else sets one.
  std::string file;                           ///< The name of the source file if the caller does not give one.
  std::vector<std::string> extensions;        ///< The file name extensions, including their dots.
  std::string prefix;                         ///< Text that is inserted before the source.
  ClassFrom class_from = ClassFrom::nothing;  ///< How {class} is found.
  std::vector<std::string> compile;           ///< The compile command. Empty if there is no compile step.
  std::vector<std::string> run;               ///< The run command.
  std::vector<std::string> arguments;         ///< Arguments after those of `run`.
  std::map<std::string, std::string> env;     ///< The environment of both steps.
  /// The variable with the module search path. In a session, the workspace is prepended to it.
  std::string module_path;
  StepLimits compile_limits;  ///< Limits of the compile step.
  StepLimits run_limits;      ///< Limits of the run step.
  /// The compile limits that the configuration sets. They take precedence over those of a profile.
  StepLimits compile_limits_set;
  StepLimits run_limits_set;         ///< The run limits that the configuration sets.
  std::optional<ZygoteSpec> zygote;  ///< A zygote that runs can be forked from if the sandbox has it.
  std::vector<Tool> toolchain;       ///< The programs that `cloche doctor` checks.
  std::string missing;               ///< What to do if a tool is missing and no Debian package contains it.
};

}  // namespace cloche

/// @file
/// Language: how source becomes a program, as data. The shipped ones are in src/runner/languages.yml; `languages:` of a
/// configuration changes them and adds others.
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

/// What one step may use. What is unset is the sandbox's, or the caller's, to say.
struct StepLimits {
  std::optional<std::chrono::milliseconds> wall;  ///< from start to end
  std::optional<std::chrono::milliseconds> cpu;   ///< user and system time together
  std::optional<Bytes> memory;                    ///< of the sandbox
  std::optional<std::uint32_t> pids;              ///< processes and threads
  std::optional<Bytes> file_size;                 ///< of one file it writes
  std::optional<Bytes> output;                    ///< of stdout, and of stderr; a program that prints more is ended
};

/// A program that a language cannot do without.
struct Tool {
  std::string program;  ///< a name to be found in PATH, or an absolute path
  std::string package;  ///< of Debian, that brings it; empty when none does
};

/// How the name of the class that holds the program is found.
enum class ClassFrom {
  nothing,  ///< it is always Main
  java,     ///< in the source, as the Java language has it
};

/// In `file`, {class} stands for the class; in the commands, {filename} stands for the file's name, {stem} for that
/// without its extension, {class} for the class with its package and {dir} for the directory that the source is in.
/// {{ and }} are braces. Each argument stays one argument, but for {sources}, which stands alone: the source and all
/// other files with the language's extensions, an argument each.
struct Language {
  std::string name;                           ///< lower case
  std::string title;                          ///< for people
  std::vector<std::string> aliases;           ///< other names, lower case
  std::string profile;                        ///< of the sandboxes it runs in
  std::string image;                          ///< on docker, where nothing else names one
  std::string file;                           ///< what the source is called where the caller does not say
  std::vector<std::string> extensions;        ///< with their dot
  std::string prefix;                         ///< put in front of the source
  ClassFrom class_from = ClassFrom::nothing;  ///< how {class} is found
  std::vector<std::string> compile;           ///< a command; empty where there is nothing to compile
  std::vector<std::string> run;               ///< a command
  std::vector<std::string> arguments;         ///< behind those of `run`
  std::map<std::string, std::string> env;     ///< of both steps
  /// The variable that says where else modules are looked for. In a session it has the workspace in front.
  std::string module_path;
  StepLimits compile_limits;      ///< of the compile step
  StepLimits run_limits;          ///< of the run step
  StepLimits compile_limits_set;  ///< those of compile_limits that the configuration says; they stand over a profile's
  StepLimits run_limits_set;      ///< the same of run_limits
  std::optional<ZygoteSpec> zygote;  ///< runs may be forked from it where the sandbox has it
  std::vector<Tool> toolchain;       ///< what `cloche doctor` looks for
  std::string missing;               ///< what to do when a tool is not there, where no package of Debian brings it
};

}  // namespace cloche

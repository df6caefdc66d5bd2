// Programs of the host by name, and the environments that Cloche gives them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::process {

// Where distributions and administrators put programs, and PATH for that.
inline constexpr std::string_view system_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// The same without programs for administrators.
inline constexpr std::string_view user_path = "/usr/local/bin:/usr/bin:/bin";

// The absolute directories of a list such as PATH, each once. Relative ones are skipped: they would depend on the
// current directory.
std::vector<std::string> directories_of(std::string_view path);
// Those of PATH, as a shell would search, then those of system_path.
std::vector<std::string> search_directories();

// True for a regular file that this process may execute.
bool is_program(const std::string& path);
// The path of a program in the first of the directories that has it. A name with a slash is a path already.
std::optional<std::string> find_program(const std::string& name, const std::vector<std::string>& directories);
// The same with search_directories().
std::optional<std::string> find_program(const std::string& name);

// This process's variables, some of them changed, as NAME=value.
std::vector<std::string> own_environment(const std::map<std::string, std::string>& changes = {});

}  // namespace cloche::process

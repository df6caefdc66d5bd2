// How `cloche run` runs a source file: its language, its name in the sandbox, and the steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cloche/language.hpp"
#include "core/result.hpp"
#include "language/language.hpp"

namespace cloche::cli {

// By name or alias, case-insensitive, or, if `language` is empty, by the file's extension. The error lists the known
// languages.
Result<Language> find_language(std::string_view language, std::string_view file);

// The steps for a file of this name, with these arguments for the program.
Result<Steps> plan_run(const Language& language, const std::string& file, std::string_view source,
                       const std::vector<std::string>& arguments);

}  // namespace cloche::cli

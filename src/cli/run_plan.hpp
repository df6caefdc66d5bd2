// What `cloche run` does with a source file: which language it is, what it is called in the sandbox, which steps run
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cloche/language.hpp"
#include "core/result.hpp"
#include "runner/language.hpp"

namespace cloche::cli {

// By name or alias, whatever the case, or, when `language` is empty, by the file's extension. The error lists what
// there is.
Result<Language> find_language(std::string_view language, std::string_view file);

// The steps for a file of this name, with these arguments for the program.
Result<Steps> plan_run(const Language& language, const std::string& file, std::string_view source,
                       const std::vector<std::string>& arguments);

}  // namespace cloche::cli

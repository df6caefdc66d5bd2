// Scripts that teach a shell to complete `cloche`. They ask the program itself each time, and so never are out of date.
#pragma once

#include <string_view>

namespace cloche::cli {

std::string_view bash_completion();
std::string_view zsh_completion();
std::string_view fish_completion();

}  // namespace cloche::cli

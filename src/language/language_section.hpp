// One language, as a configuration or languages.yml describes it.
#pragma once

#include <string_view>

#include "cloche/language.hpp"
#include "config/section.hpp"

namespace cloche {

// Changes `language`, whose name is set; a new language gets defaults.
void read_language(config::Section& section, Language& language);

// A name of a language: at most 32 lower-case letters, digits and `_ + # . -`, as in c++ and c#.
bool is_language_name(std::string_view text);

}  // namespace cloche

// Words for a shell, so that it reads each as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cloche::cli {

// The word as POSIX shells read it back, byte for byte. There must be no NUL in it.
std::string quote_word(std::string_view word);
// Words with blanks between them.
std::string quote_words(const std::vector<std::string>& words);

}  // namespace cloche::cli

// A short excerpt of untrusted output for a message: one line, valid UTF-8, limited length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cloche::runner {

// In backquotes; control bytes and invalid UTF-8 as \xNN, and `…` where it was cut.
std::string excerpt(std::string_view text, std::size_t most = 60);

// The whole text as valid UTF-8, at most so many bytes of it; line breaks and tabs stay.
std::string readable(std::string_view text, std::size_t most);

}  // namespace cloche::runner

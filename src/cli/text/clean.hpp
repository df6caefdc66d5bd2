// Text of strangers, made fit for a terminal: it can neither move the cursor, colour anything nor turn words around.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cloche::cli {

// One line of UTF-8. A line feed or tab is a blank, any other control character (those that change the direction of
// writing among them) a question mark, a byte of no character U+FFFD.
std::string printable(std::string_view text);
// The same, but line feeds stay.
std::string printable_lines(std::string_view text);

// Columns that UTF-8 takes on a terminal: characters of East Asia and pictures take two, accents none.
std::size_t display_width(std::string_view text);
// So many columns at most; what is cut ends with `…`.
std::string cut_to_width(std::string_view text, std::size_t columns);

}  // namespace cloche::cli

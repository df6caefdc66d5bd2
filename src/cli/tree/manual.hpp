// The man page, from the parser's own tree: whatever option there is, it is in it.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>

namespace cloche::cli {

// Text as roff shows it: no letter of it is an order.
std::string roff_text(std::string_view text);

// `cloche.1`, in the macros of man(7).
std::string manual_page(const CLI::App& app, std::string_view version);

}  // namespace cloche::cli

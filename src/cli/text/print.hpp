// What a command prints on stdout, all of it or with an exit code that says why not.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

namespace cloche::cli {

enum class Form { for_people, json };
// What --json says.
constexpr Form form_of(bool json) { return json ? Form::json : Form::for_people; }

// 0, or 141 when nobody reads any more. Throws SandboxError when it cannot be written, as on a full disk.
int print_text(std::string_view text);
// As one line.
int print_json(const boost::json::value& json);

}  // namespace cloche::cli

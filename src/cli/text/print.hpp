// Output of a command on stdout: complete, or an exit code that says why not.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

namespace cloche::cli {

enum class Form { for_people, json };
// The form that --json selects.
constexpr Form form_of(bool json) { return json ? Form::json : Form::for_people; }

// 0, or 141 if stdout was closed. Throws SandboxError if it cannot be written, as on a full disk.
int print_text(std::string_view text);
// As one line.
int print_json(const boost::json::value& json);

}  // namespace cloche::cli

// Words and JSON for the events of a script.
#pragma once

#include <string>
#include <string_view>

#include "cloche/script.hpp"

namespace cloche {

std::string_view to_string(LogEvent::Source source);
std::string_view to_string(LogEvent::Level level);
std::string_view to_string(ScriptFault fault);

// One JSON object without a line break: {"type":"intermediate","label":"rows","data":[1,2]}.
std::string to_json(const ScriptEvent& event);

}  // namespace cloche

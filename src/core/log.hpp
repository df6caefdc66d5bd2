// The log: one line an event, to stderr. Never a secret, never code or output of a caller.
#pragma once

#include <spdlog/spdlog.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

namespace cloche::log {

using spdlog::debug;
using spdlog::error;
using spdlog::info;
using spdlog::warn;

using Level = spdlog::level::level_enum;

enum class Form {
  automatic,  // text where stderr is a terminal, else JSON
  text,       // for people: time, level, message, name=value
  json,       // for programs: an object a line, with time, level and message
};

// Sets level (`trace` to `off`) and form. Until it is called, spdlog's own defaults hold.
void set_up(Level level, Form form = Form::text);

// Something that belongs to an event, under a name of its own: in JSON a member of the object.
struct Field {
  std::string_view name;  // letters and '_'
  std::variant<std::string_view, std::int64_t, double> value;
};
void event(Level level, std::string_view message, std::span<const Field> fields);

// Formats a line. Whatever a message contains, it stays one line, and valid UTF-8 in JSON.
std::unique_ptr<spdlog::formatter> make_formatter(Form form);

}  // namespace cloche::log

// JSON as Cloche writes it, everywhere: responses, events, `--json` output, the log. Numbers are plain decimals that
// people can read: 0.014928, never 1.4928E-2.
#pragma once

#include <string>
#include <string_view>

#include "json/json.hpp"

namespace cloche {

// Numbers that JSON does not have, NaN and infinity, become null: a value may come from outside, and a reader makes
// infinity of 1e999.
std::string write_json(const json::value& value);

// The shortest decimal that reads back as the same number; null for NaN and infinity.
std::string write_json_number(double number);

// Quoted and escaped. The text is UTF-8.
std::string write_json_string(std::string_view text);

// Puts bytes under `key` as text. What is not UTF-8 is replaced by U+FFFD there, and then the bytes themselves are
// under `key` + "_base64". See json::bytes.
void put_bytes(json::object& into, std::string_view key, std::string_view bytes);

// About how many bytes `write_json` makes of it, counted without writing. Stops counting beyond `enough`.
std::size_t json_weight(const json::value& value, std::size_t enough);

}  // namespace cloche

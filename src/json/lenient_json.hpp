// JSON of others, read leniently: a missing value or one of another type reads as a default, never as a crash. For
// responses of engines and services whose version may be older or newer than this program.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "json/json.hpp"

namespace cloche::json {

// `protocol` if it is not JSON or is nested deeper than 32 levels.
Result<value> parse(std::string_view text);
// The same, and `protocol` if it is not an object.
Result<object> parse_object(std::string_view text);

// The value at a path of names: find(v, "HostConfig", "Memory"). Null if there is none.
const value* find(const object& in, std::string_view name);
const value* find(const value& in, std::string_view name);
template <class... Names>
const value* find(const value& in, std::string_view name, Names... more) {
  const value* found = find(in, name);
  return found ? find(*found, more...) : nullptr;
}

std::string text(const value* found);                             // "" if it is not a string
std::int64_t number(const value* found);                          // 0 if it is not a whole number
double real(const value* found);                                  // 0 if it is not a number
bool truth(const value* found);                                   // false if it is not a boolean
std::vector<std::string> texts(const value* found);               // strings of an array
std::vector<object> objects(const value* found);                  // objects of an array
std::vector<std::string> names(const value* found);               // names of an object's members
std::map<std::string, std::string> text_map(const value* found);  // members of an object that are strings

// The member of this name.
inline std::string text(const object& in, std::string_view name) { return text(find(in, name)); }
inline std::int64_t number(const object& in, std::string_view name) { return number(find(in, name)); }
inline double real(const object& in, std::string_view name) { return real(find(in, name)); }
inline bool truth(const object& in, std::string_view name) { return truth(find(in, name)); }
// Bytes that are given as text and, if that is not exact, also under the name with `_base64`. See put_bytes.
std::string bytes(const object& in, std::string_view name);

}  // namespace cloche::json

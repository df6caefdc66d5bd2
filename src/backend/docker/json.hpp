// Reading JSON that somebody else wrote: what is missing or of another kind reads as a default, never as a crash.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::docker::json {

using boost::json::array;
using boost::json::object;
using boost::json::value;

// `protocol` when it is no JSON, or nested deeper than anything an engine says.
Result<value> parse(std::string_view text);

// The value at a path of names: find(v, "HostConfig", "Memory"). Null when there is none.
const value* find(const value& in, std::string_view name);
template <class... Names>
const value* find(const value& in, std::string_view name, Names... more) {
  const value* found = find(in, name);
  return found ? find(*found, more...) : nullptr;
}

std::string text(const value* found);                             // "" when it is no string
std::int64_t number(const value* found);                          // 0 when it is no whole number
double real(const value* found);                                  // 0 when it is no number
bool truth(const value* found);                                   // false when it is no boolean
std::vector<std::string> texts(const value* found);               // strings of an array
std::vector<std::string> names(const value* found);               // names of an object's members
std::map<std::string, std::string> text_map(const value* found);  // members of an object that are strings

}  // namespace cloche::docker::json

// Lenient access to foreign JSON: a missing value or one of another type reads as a default, never as a crash.
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

// `protocol` if it is not JSON or is nested deeper than anything an engine sends.
Result<value> parse(std::string_view text);

// The value at a path of names: find(v, "HostConfig", "Memory"). Null if there is none.
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
std::vector<std::string> names(const value* found);               // names of an object's members
std::map<std::string, std::string> text_map(const value* found);  // members of an object that are strings

}  // namespace cloche::docker::json

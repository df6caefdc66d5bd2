// Fields of the service's responses. A missing field or one of another type is empty: the command should not fail with
// a newer or older service if something can be shown.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::cli {

std::string text_in(const boost::json::object& object, std::string_view name);
std::int64_t number_in(const boost::json::object& object, std::string_view name);
double real_in(const boost::json::object& object, std::string_view name);
bool flag_in(const boost::json::object& object, std::string_view name);
// The objects of a list.
std::vector<boost::json::object> objects_in(const boost::json::value& value, std::string_view name);
// Bytes that are given as text and, if that is not exact, also under the name with `_base64`.
std::string bytes_in(const boost::json::object& object, std::string_view name);

}  // namespace cloche::cli

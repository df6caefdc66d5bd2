// Fields of the service's answers. What is missing or of another type is empty: a newer or older service is no reason
// to fail where something can be shown.
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
// Bytes that stand there as text and, where that is not all, under the name with `_base64` too.
std::string bytes_in(const boost::json::object& object, std::string_view name);

}  // namespace cloche::cli

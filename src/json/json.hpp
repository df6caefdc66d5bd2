// cloche::json: Boost's JSON types under a short name. Headers of this folder add functions to it.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace cloche::json {

using namespace boost::json;
// Declared here, so that no name of an outer namespace comes first.
using boost::json::array;
using boost::json::object;
using boost::json::value;

}  // namespace cloche::json

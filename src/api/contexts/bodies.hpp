// Bodies of a session's contexts, to and from our types.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "session/contexts.hpp"

namespace cloche::api {

struct NewContext {
  std::string name;
  std::string language;
};

// {"name", "language"}
Result<NewContext> read_new_context(const boost::json::value& body);

boost::json::object to_json(const session::ContextInfo& info);

}  // namespace cloche::api

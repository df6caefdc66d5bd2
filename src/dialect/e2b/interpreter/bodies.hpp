// Bodies of requests to the code interpreter. No I/O.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <optional>
#include <string>

#include "core/result.hpp"

namespace cloche::dialect::e2b {

struct ExecuteBody {
  std::string code;
  std::optional<std::string> context_id;
  std::optional<std::string> language;
  std::map<std::string, std::string> env_vars;
};
// Unknown fields are ignored, null counts as absent.
Result<ExecuteBody> read_execute_body(const boost::json::value& body);

struct ContextBody {
  std::string language = "python";
  std::string cwd;  // empty: the home directory
};
Result<ContextBody> read_context_body(const boost::json::value& body);

}  // namespace cloche::dialect::e2b

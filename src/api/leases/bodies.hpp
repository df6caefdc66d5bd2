// Bodies of the lease interface, to and from our types. Fields that are not known are passed over, as its own server
// does.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cloche/container_types.hpp"
#include "cloche/network.hpp"
#include "core/result.hpp"
#include "http/server/request/target.hpp"
#include "json/shape.hpp"

namespace cloche::api {

namespace json = boost::json;

// The shape of all bodies of the interface.
extern const Shape lease_body_shape;

// {"submission_files": {name: {"filename", "content"}}}, or the same as a list.
Result<FileTree> read_submission_files(const json::value& body);
// {field: [{"target", "content" base64, "read_only": true}]}
Result<std::vector<Asset>> read_assets(const json::value& body, std::string_view field);
Result<std::vector<Asset>> read_resolved_assets(const json::value& body);

// {"network"}; absent: the profile's.
Result<std::optional<NetworkPolicy>> read_lease_network(const json::value& body);

struct CommandCall {
  std::string command;
  CommandOptions options;
};
Result<CommandCall> read_command(const json::value& body);

struct BatchCall {
  std::vector<std::string> lines;
  std::optional<std::string> program;
  CommandOptions options;
};
Result<BatchCall> read_batch(const json::value& body);

// {"method", "endpoint", "kwargs": {}}, kwargs as of Python's requests.
Result<AppRequest> read_app_request(const json::value& body);

struct FileQuery {
  std::string path;
  Bytes most;
};
Result<FileQuery> read_file_query(const http::Query& query);

json::object to_json(const CommandResponse& response);
json::object to_json(const ExtractedFile& file);
json::object to_json(const AppResponse& response);

}  // namespace cloche::api

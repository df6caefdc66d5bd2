#include "api/leases/bodies.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

#include "core/base64.hpp"
#include "core/utf8.hpp"
#include "json/json_object.hpp"
#include "json/write_json.hpp"
#include "session/network_json.hpp"

namespace cloche::api {

namespace {

constexpr std::chrono::seconds longest_command{3600};
constexpr std::chrono::seconds default_command{30};
constexpr std::chrono::seconds default_request{5};
constexpr std::int64_t default_most = 1048576;

constexpr ShapeMember submitted_file_members[] = {{"filename", &shapes::text}, {"content", &shapes::text}};
constexpr Shape submitted_file = shapes::object_of(submitted_file_members);
constexpr Shape submitted_files{
    .kinds = Shape::object | Shape::list, .wanted = "an object or a list", .each = &submitted_file};
constexpr ShapeMember asset_members[] = {
    {"target", &shapes::text}, {"content", &shapes::text}, {"read_only", &shapes::flag}};
constexpr Shape asset_shape = shapes::object_of(asset_members);
constexpr Shape assets_shape{.kinds = Shape::list, .wanted = "a list", .each = &asset_shape};
constexpr std::size_t most_lines_of_case = 100'000;
constexpr Shape case_shape{
    .kinds = Shape::list, .wanted = "", .each = &shapes::text_within, .most = most_lines_of_case};
constexpr Shape cases_shape{.kinds = Shape::list, .wanted = "a list of lists of strings", .each = &case_shape};
constexpr ShapeMember lease_members[] = {{"language", &shapes::text},        {"submission_files", &submitted_files},
                                         {"program_command", &shapes::text}, {"test_cases", &cases_shape},
                                         {"assets", &assets_shape},          {"resolved_assets", &assets_shape},
                                         {"command", &shapes::text},         {"commands", &shapes::texts},
                                         {"timeout", &shapes::number},       {"workdir", &shapes::text},
                                         {"method", &shapes::text},          {"endpoint", &shapes::text}};

Status read_one_file(FileTree& files, const json::value& value, std::string_view fallback) {
  CLOCHE_TRY(auto file, JsonObject::of(value, "submission_files"));
  CLOCHE_TRY(std::string name, file.text("filename", std::string(fallback)));
  CLOCHE_TRY(std::string content, file.text("content"));
  if (name.empty()) return fail(ErrorCode::invalid_argument, "submission_files: filename is missing");
  files[std::move(name)] = std::move(content);
  return {};
}

Result<CommandOptions> read_options(JsonObject& body) {
  CommandOptions options;
  CLOCHE_TRY(options.timeout, body.seconds("timeout", longest_command, default_command));
  CLOCHE_TRY(options.work_dir, body.text("workdir", ""));
  return options;
}

// What Python's requests converts to a string, including numbers and booleans.
Result<std::string> scalar_text(const json::value& value, const std::string& where) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_bool()) return std::string(value.get_bool() ? "True" : "False");
  if (value.is_number()) return write_json(value);
  return fail(ErrorCode::invalid_argument, where + ": values must be strings or numbers");
}

Result<NameValues> read_pairs(JsonObject& from, std::string_view name) {
  NameValues pairs;
  const json::value* found = from.find(name);
  if (found == nullptr) return pairs;
  if (!found->is_object()) return fail(ErrorCode::invalid_argument, from.place_of(name) + " must be an object");
  for (const auto& [key, value] : found->get_object()) {
    if (value.is_array()) {
      for (const json::value& each : value.get_array()) {
        CLOCHE_TRY(std::string text, scalar_text(each, from.place_of(name)));
        pairs.emplace_back(std::string(key), std::move(text));
      }
      continue;
    }
    if (value.is_null()) continue;
    CLOCHE_TRY(std::string text, scalar_text(value, from.place_of(name)));
    pairs.emplace_back(std::string(key), std::move(text));
  }
  return pairs;
}

}  // namespace

constinit const Shape lease_body_shape = shapes::object_of(lease_members);

Result<FileTree> read_submission_files(const json::value& value) {
  CLOCHE_TRY(auto body, JsonObject::of(value, "the body"));
  FileTree files;
  const json::value* found = body.find("submission_files");
  if (found == nullptr) return fail(ErrorCode::invalid_argument, "the body: submission_files is missing");
  if (found->is_object()) {
    for (const auto& [name, file] : found->get_object()) CLOCHE_CHECK(read_one_file(files, file, name));
  } else if (found->is_array()) {
    for (const json::value& file : found->get_array()) CLOCHE_CHECK(read_one_file(files, file, ""));
  } else {
    return fail(ErrorCode::invalid_argument, "the body: submission_files must be an object or a list");
  }
  return files;
}

Result<std::vector<Asset>> read_assets(const json::value& value, std::string_view field) {
  CLOCHE_TRY(auto body, JsonObject::of(value, "the body"));
  std::vector<Asset> assets;
  const json::value* found = body.find(field);
  if (found == nullptr) return assets;
  if (!found->is_array()) return fail(ErrorCode::invalid_argument, body.place_of(field) + " must be a list");
  for (const json::value& each : found->get_array()) {
    CLOCHE_TRY(auto given, JsonObject::of(each, std::string(field)));
    Asset asset;
    CLOCHE_TRY(asset.target, given.text("target"));
    CLOCHE_TRY(asset.content, given.base64("content"));
    CLOCHE_TRY(const bool read_only, given.flag("read_only", true));
    asset.access = read_only ? Access::read_only : Access::read_write;
    assets.push_back(std::move(asset));
  }
  return assets;
}

Result<std::vector<Asset>> read_resolved_assets(const json::value& body) {
  return read_assets(body, "resolved_assets");
}

Result<std::optional<NetworkPolicy>> read_lease_network(const json::value& value) {
  CLOCHE_TRY(auto body, JsonObject::of(value, "the body"));
  const json::value* given = body.find("network");
  if (given == nullptr) return std::nullopt;
  CLOCHE_TRY(NetworkPolicy network, session::read_network(*given, "network"));
  return network;
}

Result<CommandCall> read_command(const json::value& value) {
  CLOCHE_TRY(auto body, JsonObject::of(value, "the body"));
  CommandCall call;
  CLOCHE_TRY(call.command, body.text("command"));
  CLOCHE_TRY(call.options, read_options(body));
  return call;
}

Result<BatchCall> read_batch(const json::value& value) {
  CLOCHE_TRY(auto body, JsonObject::of(value, "the body"));
  BatchCall call;
  CLOCHE_TRY(call.lines, body.texts("commands"));
  if (body.has("program_command")) {
    CLOCHE_TRY(call.program, body.text("program_command"));
  }
  CLOCHE_TRY(call.options, read_options(body));
  return call;
}

Result<AppRequest> read_app_request(const json::value& value) {
  CLOCHE_TRY(auto body, JsonObject::of(value, "the body"));
  AppRequest request;
  CLOCHE_TRY(request.method, body.text("method"));
  CLOCHE_TRY(request.endpoint, body.text("endpoint"));
  const json::value none = json::object();
  const json::value* given = body.find("kwargs");
  CLOCHE_TRY(auto kwargs, JsonObject::of(given == nullptr ? none : *given, "kwargs"));
  CLOCHE_TRY(request.params, read_pairs(kwargs, "params"));
  CLOCHE_TRY(request.headers, read_pairs(kwargs, "headers"));
  if (const json::value* sent = kwargs.find("json")) request.json = write_json(*sent);
  if (const json::value* data = kwargs.find("data")) {
    if (data->is_string()) {
      request.data = std::string(data->get_string());
    } else {
      CLOCHE_TRY(request.form, read_pairs(kwargs, "data"));
    }
  }
  CLOCHE_TRY(request.timeout, kwargs.seconds("timeout", longest_command, default_request));
  return request;
}

Result<FileQuery> read_file_query(const http::Query& query) {
  FileQuery wanted;
  const auto path = query.find("path");
  if (!path || path->empty()) return fail(ErrorCode::invalid_argument, "the query: path is missing");
  wanted.path = *path;
  const std::string_view most = query.find("max_bytes").value_or(std::string_view());
  std::int64_t bytes = default_most;
  if (!most.empty()) {
    const auto [end, error] = std::from_chars(most.data(), most.data() + most.size(), bytes);
    if (error != std::errc() || end != most.data() + most.size() || bytes < 1 || bytes > (std::int64_t{1} << 30)) {
      return fail(ErrorCode::invalid_argument, "the query: max_bytes must be a number from 1 to 1073741824");
    }
  }
  wanted.most = Bytes{static_cast<std::uint64_t>(bytes)};
  return wanted;
}

json::object to_json(const CommandResponse& response) {
  json::object body;
  body["stdout"] = to_utf8(response.out);
  body["stderr"] = to_utf8(response.err);
  body["exit_code"] = response.exit_code;
  body["execution_time"] = std::chrono::duration<double>(response.execution_time).count();
  body["category"] = to_string(response.category);
  return body;
}

json::object to_json(const ExtractedFile& file) {
  json::object body;
  body["path"] = to_utf8(file.path);
  body["content_bytes"] = encode_base64(file.content);
  body["size"] = file.size;
  body["content_text"] = file.text ? json::value(*file.text) : json::value();
  body["encoding"] = file.encoding.empty() ? json::value() : json::value(file.encoding);
  return body;
}

json::object to_json(const AppResponse& response) {
  json::object headers;
  for (const auto& [name, value] : response.headers) headers[to_utf8(name)] = to_utf8(value);
  json::object body;
  body["status_code"] = response.status_code;
  body["text"] = to_utf8(response.content);
  body["headers"] = std::move(headers);
  body["content"] = encode_base64(response.content);
  body["ok"] = response.ok();
  return body;
}

}  // namespace cloche::api

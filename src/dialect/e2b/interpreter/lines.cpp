#include "dialect/e2b/interpreter/lines.hpp"

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "core/utc_time.hpp"
#include "json/members.hpp"
#include "json/write_json.hpp"

namespace cloche::dialect::e2b {

namespace {

namespace json = boost::json;

// The names that results have for MIME types.
constexpr std::array form_names{
    std::pair<std::string_view, std::string_view>{"text/plain", "text"},
    std::pair<std::string_view, std::string_view>{"text/html", "html"},
    std::pair<std::string_view, std::string_view>{"text/markdown", "markdown"},
    std::pair<std::string_view, std::string_view>{"image/svg+xml", "svg"},
    std::pair<std::string_view, std::string_view>{"image/png", "png"},
    std::pair<std::string_view, std::string_view>{"image/jpeg", "jpeg"},
    std::pair<std::string_view, std::string_view>{"application/pdf", "pdf"},
    std::pair<std::string_view, std::string_view>{"text/latex", "latex"},
    std::pair<std::string_view, std::string_view>{"application/json", "json"},
    std::pair<std::string_view, std::string_view>{"application/javascript", "javascript"},
    std::pair<std::string_view, std::string_view>{"application/vnd.cloche.data+json", "data"},
    std::pair<std::string_view, std::string_view>{"application/vnd.cloche.chart+json", "chart"},
};

constexpr std::size_t most_depth = 64;

json::object line_of(std::string_view type) {
  json::object line;
  line["type"] = type;
  return line;
}

std::string finished(const json::object& line) { return write_json(line) + "\n"; }

std::string_view name_of(std::string_view mime_type) {
  for (const auto& [type, name] : form_names) {
    if (type == mime_type) return name;
  }
  return {};
}

}  // namespace

std::string execution_count_line(std::uint64_t count) {
  json::object line = line_of("number_of_executions");
  line["execution_count"] = count;
  return finished(line);
}

std::string output_line(std::string_view stream, std::string_view text, std::chrono::system_clock::time_point at) {
  json::object line = line_of(stream);
  line["text"] = text;
  line["timestamp"] = to_utc_text(at);
  return finished(line);
}

std::string error_line(const CellError& error) {
  json::object line = line_of("error");
  line["name"] = error.type;
  line["value"] = error.message;
  line["traceback"] = error.traceback;
  return finished(line);
}

std::string keepalive_line() { return finished(line_of("keepalive")); }

std::string end_line() { return finished(line_of("end_of_execution")); }

std::string result_line(std::string_view described) {
  json::parse_options options;
  options.max_depth = most_depth;
  json::error_code error;
  const json::value parsed = json::parse({described.data(), described.size()}, error, {}, options);
  const json::object* object = error ? nullptr : parsed.if_object();
  const json::object* forms = object != nullptr ? object_member(*object, "forms") : nullptr;
  if (forms == nullptr) return {};
  json::object line = line_of("result");
  line["is_main_result"] = flag_member(*object, "main").value_or(false);
  json::object extra;
  for (const auto& form : *forms) {
    const std::string_view name = name_of({form.key().data(), form.key().size()});
    if (name.empty()) {
      extra[form.key()] = form.value();
    } else {
      line[name] = form.value();
    }
  }
  if (!extra.empty()) line["extra"] = std::move(extra);
  return finished(line);
}

}  // namespace cloche::dialect::e2b

#include "context/cell.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "context/driver_reader.hpp"
#include "core/bytes.hpp"
#include "core/utf8.hpp"
#include "json/members.hpp"

namespace cloche {

namespace {

namespace json = boost::json;

constexpr Bytes longest_code = mib(4);
constexpr Bytes longest_input = mib(16);
constexpr std::chrono::hours longest_run{24};
constexpr std::size_t most_depth = 8;

json::string_view view(std::string_view text) { return {text.data(), text.size()}; }

// The prefix, a number, ".png": nothing that a report says can name another file.
bool is_figure(std::string_view path, std::string_view prefix) {
  constexpr std::string_view suffix = ".png";
  if (!path.starts_with(prefix) || !path.ends_with(suffix) || path.size() <= prefix.size() + suffix.size())
    return false;
  return parse_number(path.substr(prefix.size(), path.size() - prefix.size() - suffix.size())).has_value();
}

}  // namespace

Status validate(const CellRequest& request) {
  if (request.code.size() > longest_code.count) {
    return fail(ErrorCode::invalid_argument, "a cell must have at most " + to_string(longest_code));
  }
  if (!is_utf8(request.code)) return fail(ErrorCode::invalid_argument, "the cell is not UTF-8");
  if (request.input && request.input->size() > longest_input.count) {
    return fail(ErrorCode::invalid_argument, "a cell's input must have at most " + to_string(longest_input));
  }
  if (request.wall_limit.count() <= 0 || request.wall_limit > longest_run) {
    return fail(ErrorCode::invalid_argument, "a cell's time limit must be from 1 ms to 24 h");
  }
  return {};
}

std::string to_driver_input(const CellRequest& request, const CellFrame& frame) {
  json::object object;
  object["id"] = view(frame.id);
  object["code"] = view(request.code);
  object["interrupts"] = frame.interrupts;
  object["figures"] = view(frame.figure_prefix);
  object["most_figures"] = most_figures;
  if (request.input) object["input"] = request.input->size();
  if (frame.rich) object["rich"] = true;
  if (!request.env.empty()) {
    json::object env;
    for (const auto& [name, value] : request.env) env[view(name)] = view(value);
    object["env"] = std::move(env);
  }
  std::string line = json::serialize(object);
  line += '\n';
  if (request.input) line += *request.input;
  return line;
}

Status take_report(std::string_view report, const std::string& figure_prefix, CellResult& result) {
  json::parse_options options;
  options.max_depth = most_depth;
  json::error_code error;
  const json::value parsed = json::parse(view(report), error, {}, options);
  const auto* object = error ? nullptr : parsed.if_object();
  if (object == nullptr) return fail(ErrorCode::protocol, "the context's report on a cell is not a JSON object");
  result.value = text_member(*object, "value");
  result.value_cut = flag_member(*object, "value_cut").value_or(false);
  if (const auto code = number_member(*object, "exit_code")) result.exit_code = static_cast<int>(*code & 0xff);
  if (const json::object* raised = object_member(*object, "error")) {
    const auto text = [&](std::string_view name) { return std::string(text_member(*raised, name).value_or("")); };
    result.error = CellError{text("type"), text("message"), text("traceback")};
  }
  if (const auto left_out = number_member(*object, "figures_left_out"); left_out && *left_out > 0) {
    result.figures_left_out = static_cast<std::uint32_t>(*left_out);
  }
  const json::array* figures = array_member(*object, "figures");
  if (figures == nullptr) return {};
  for (const json::value& figure : *figures) {
    const auto* path = figure.if_string();
    if (path == nullptr || result.figures.size() >= most_figures) continue;
    std::string name(path->data(), path->size());
    if (is_figure(name, figure_prefix)) result.figures.push_back(std::move(name));
  }
  return {};
}

}  // namespace cloche

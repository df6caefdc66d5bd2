#include "script/script_request.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "core/bytes.hpp"
#include "core/utf8.hpp"
#include "json/raw_json.hpp"

namespace cloche {

namespace {

constexpr Bytes longest_source = mib(4);
constexpr Bytes longest_inputs = mib(16);
constexpr std::chrono::hours longest_run{24};
// Less would not hold a traceback.
constexpr Bytes least_event = kib(4);

bool is_file_name(const std::string& name) {
  const auto odd = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '<' || c == '>'; };
  return !name.empty() && name.size() <= 200 && is_utf8(name) && std::ranges::none_of(name, odd);
}

Status validate(const ScriptCaps& caps) {
  if (caps.event.count < least_event.count || caps.event.count > caps.event_bytes.count) {
    return fail(ErrorCode::invalid_argument,
                "the limit of one event must be at least 4 KiB and at most the limit of all events");
  }
  // Zero means "no limit" further down, and there is always one.
  if (caps.keep_output.count == 0 || caps.stop_output.count == 0 || caps.events == 0) {
    return fail(ErrorCode::invalid_argument, "a script's limits of output and events must be greater than 0");
  }
  return {};
}

boost::json::string_view view(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::string_view to_string(ScriptMode mode) { return mode == ScriptMode::plan ? "plan" : "interactive"; }

Status validate(const ScriptRequest& request) {
  if (request.source.size() > longest_source.count) {
    return fail(ErrorCode::invalid_argument, "a script must have at most " + to_string(longest_source));
  }
  if (!is_utf8(request.source)) return fail(ErrorCode::invalid_argument, "the script is not UTF-8");
  if (!is_file_name(request.name)) {
    return fail(ErrorCode::invalid_argument,
                "a script's name must be plain text of at most 200 bytes, without < and >");
  }
  if (request.inputs.size() > longest_inputs.count) {
    return fail(ErrorCode::invalid_argument, "a script's inputs must have at most " + to_string(longest_inputs));
  }
  if (auto inputs = check_json(request.inputs); !inputs)
    return fail(std::move(inputs).error().at("the script's inputs"));
  if (request.wall_limit.count() <= 0 || request.wall_limit > longest_run) {
    return fail(ErrorCode::invalid_argument, "a script's time limit must be from 1 ms to 24 h");
  }
  return validate(request.caps);
}

std::string to_harness_input(const ScriptRequest& request) {
  boost::json::object input;
  input["name"] = view(request.name);
  input["source"] = view(request.source);
  input["mode"] = view(to_string(request.mode));
  input["inputs"] = view(request.inputs);  // a string in it: parsed once, by whom it is meant for
  input["most_bytes"] = request.caps.event.count;
  input["most_depth"] = most_json_depth;
  return boost::json::serialize(input);
}

ExecSpec to_exec(const ScriptRequest& request, std::string harness) {
  ExecSpec spec;
  spec.argv = {request.name};
  spec.env = request.env;
  spec.stdin_mode = Stdin::stream;
  spec.wall_limit = request.wall_limit;
  spec.cpu_limit = request.cpu_limit;
  spec.keep_output = request.caps.keep_output;
  spec.stop_output = request.caps.stop_output;
  spec.zygote = std::move(harness);
  spec.events = EventPipe{.keep = request.caps.event_bytes, .stop = request.caps.event_bytes};
  return spec;
}

}  // namespace cloche

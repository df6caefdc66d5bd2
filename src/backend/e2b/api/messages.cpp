#include "backend/e2b/api/messages.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "connect/code.hpp"
#include "core/base64.hpp"
#include "core/percent_encoding.hpp"
#include "http/address.hpp"
#include "json/lenient_json.hpp"

namespace cloche::e2b {

namespace {

constexpr std::size_t longest_id = 64;
constexpr std::size_t longest_token = 1024;
constexpr std::size_t longest_message = 600;
constexpr std::uint32_t longest_retry_s = 3600;
constexpr std::int64_t most_mebibytes = std::int64_t{1} << 24;
constexpr std::int64_t most_cpus = 1024;

std::unexpected<Error> wrong(std::string what) {
  return fail(ErrorCode::protocol, "invalid response: " + std::move(what));
}

// It becomes a part of paths and of host names.
bool is_sandbox_id(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= longest_id && text.front() != '-' && std::ranges::all_of(text, fits);
}

// It becomes the value of a field of a request.
bool is_token(std::string_view text) {
  return text.size() <= longest_token && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

Bytes mebibytes(const json::value* found) {
  const std::int64_t count = json::number(found);
  return count > 0 && count <= most_mebibytes ? mib(static_cast<std::uint64_t>(count)) : Bytes{};
}

// Fit for a log line and an error.
std::string tidy(std::string_view words) {
  const bool is_cut = words.size() > longest_message;
  std::string tidied(words.substr(0, longest_message));
  std::ranges::replace_if(tidied, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, ' ');
  while (tidied.ends_with(' ')) tidied.pop_back();
  return is_cut ? tidied + "..." : tidied;
}

Result<RemoteSandbox> sandbox_of(const json::object& said) {
  RemoteSandbox sandbox;
  sandbox.id = json::text(said, "sandboxID");
  sandbox.access_token = json::text(said, "envdAccessToken");
  sandbox.domain = json::text(said, "domain");
  sandbox.envd_version = tidy(json::text(said, "envdVersion"));
  sandbox.is_paused = json::text(said, "state") == "paused";
  sandbox.metadata = json::text_map(json::find(said, "metadata"));
  const double cpus = json::real(json::find(said, "cpuCount"));
  if (std::isfinite(cpus) && cpus > 0 && cpus <= most_cpus) sandbox.cpus = cpus;
  sandbox.memory = mebibytes(json::find(said, "memoryMB"));
  sandbox.disk = mebibytes(json::find(said, "diskSizeMB"));
  if (!is_sandbox_id(sandbox.id)) return wrong("no valid sandboxID");
  if (!is_token(sandbox.access_token)) return wrong("envdAccessToken contains characters that no token has");
  if (!sandbox.domain.empty() && !http::is_domain(sandbox.domain)) return wrong("domain is not a host name");
  return sandbox;
}

json::object selector_of(std::uint32_t pid) {
  json::object selector;
  selector["pid"] = pid;
  return selector;
}

Result<ProgramEvent> output_of(const json::value& data) {
  for (const char* name : {"stdout", "stderr"}) {
    const json::value* found = json::find(data, name);
    if (found == nullptr) continue;
    auto bytes = decode_base64(json::text(found));
    if (!bytes) return wrong("output that is not base64");
    ProgramOutput output;
    output.bytes = std::move(*bytes);
    output.is_error_output = std::string_view(name) == "stderr";
    return ProgramEvent(std::move(output));
  }
  return ProgramEvent(KeepAlive{});
}

}  // namespace

std::string write_new_sandbox(const NewSandbox& sandbox) {
  json::object metadata;
  for (const auto& [name, value] : sandbox.metadata) metadata[name] = value;
  json::object body;
  body["templateID"] = sandbox.template_name;
  body["timeout"] = sandbox.lifetime_s;
  body["secure"] = sandbox.secure_access;
  body["allow_internet_access"] = sandbox.allow_internet_access;
  body["autoPause"] = false;
  body["metadata"] = std::move(metadata);
  return boost::json::serialize(body);
}

Result<RemoteSandbox> read_sandbox(std::string_view body) {
  CLOCHE_TRY(const json::object said, json::parse_object(body));
  return sandbox_of(said);
}

Result<std::vector<RemoteSandbox>> read_sandboxes(std::string_view body, std::size_t most) {
  CLOCHE_TRY(const json::value said, json::parse(body));
  if (!said.is_array()) return wrong("not a list of sandboxes");
  if (said.get_array().size() > most) return wrong("more sandboxes than a page has");
  std::vector<RemoteSandbox> all;
  for (const json::value& each : said.get_array()) {
    if (!each.is_object()) return wrong("not a list of sandboxes");
    CLOCHE_TRY(RemoteSandbox sandbox, sandbox_of(each.get_object()));
    all.push_back(std::move(sandbox));
  }
  return all;
}

std::string write_metadata_filter(const Metadata& wanted) {
  // Names and values are encoded here, and once more as a part of the pairs: the service decodes them twice.
  std::string filter;
  for (const auto& [name, value] : wanted) {
    if (!filter.empty()) filter += '&';
    filter += percent_encoded(percent_encoded(name)) + "=" + percent_encoded(percent_encoded(value));
  }
  return filter;
}

std::string read_message(std::string_view body) {
  const auto parsed = json::parse(body);
  const std::string message = parsed ? json::text(json::find(*parsed, "message")) : std::string();
  return tidy(message.empty() ? body : std::string_view(message));
}

std::uint32_t read_retry_after(std::string_view value) {
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error != std::errc() || end != value.data() + value.size()) return 0;
  return std::min(seconds, longest_retry_s);
}

std::string write_start(const Command& command) {
  json::object process;
  process["cmd"] = command.argv.front();
  process["args"] = json::array(command.argv.begin() + 1, command.argv.end());
  process["cwd"] = "/";
  json::object body;
  body["process"] = std::move(process);
  body["stdin"] = command.has_stdin;
  if (!command.tag.empty()) body["tag"] = command.tag;
  return boost::json::serialize(body);
}

std::string write_input(std::uint32_t pid, std::string_view bytes) {
  json::object input;
  input["stdin"] = encode_base64(bytes);
  json::object body;
  body["process"] = selector_of(pid);
  body["input"] = std::move(input);
  return boost::json::serialize(body);
}

Result<ProgramEvent> read_event(std::string_view message) {
  CLOCHE_TRY(const json::value said, json::parse(message));
  const json::value* event = json::find(said, "event");
  if (event == nullptr || !event->is_object()) return wrong("a message without an event");
  if (const json::value* start = json::find(*event, "start")) {
    const std::int64_t pid = json::number(json::find(*start, "pid"));
    if (pid <= 0 || pid > INT32_MAX) return wrong("a program without a number");
    return ProgramEvent(ProgramStarted{static_cast<std::uint32_t>(pid)});
  }
  if (const json::value* data = json::find(*event, "data")) return output_of(*data);
  if (const json::value* end = json::find(*event, "end")) {
    ProgramEnded ended;
    ended.exit_code = static_cast<int>(std::clamp<std::int64_t>(json::number(json::find(*end, "exitCode")), -1, 255));
    ended.status = tidy(json::text(json::find(*end, "status")));
    // A program that a signal ended has not exited, whatever its code.
    if (ended.exit_code == 0 && !json::truth(json::find(*end, "exited"))) ended.exit_code = -1;
    return ProgramEvent(std::move(ended));
  }
  return ProgramEvent(KeepAlive{});
}

Status read_end(std::string_view message) {
  CLOCHE_TRY(const json::value said, json::parse(message));
  const json::value* error = json::find(said, "error");
  if (error == nullptr || error->is_null()) return {};
  const auto code = connect::parse_code(json::text(json::find(*error, "code")));
  return fail(code ? connect::error_code_of(*code) : ErrorCode::internal,
              tidy(json::text(json::find(*error, "message"))));
}

Error read_call_error(unsigned status, std::string_view body) {
  const auto parsed = json::parse(body);
  const auto code = connect::parse_code(parsed ? json::text(json::find(*parsed, "code")) : std::string());
  Error error;
  error.message = std::to_string(status) + " " + read_message(body);
  if (code) {
    error.code = connect::error_code_of(*code);
    return error;
  }
  switch (status) {
    case 400: error.code = ErrorCode::invalid_argument; break;
    case 401:
    case 403: error.code = ErrorCode::permission_denied; break;
    case 404: error.code = ErrorCode::not_found; break;
    case 409: error.code = ErrorCode::already_exists; break;
    case 413:
    case 429:
    case 507: error.code = ErrorCode::limit_reached; break;
    case 501: error.code = ErrorCode::unsupported; break;
    case 502:
    case 503:
    case 504: error.code = ErrorCode::unavailable; break;
    default: error.code = status < 500 ? ErrorCode::protocol : ErrorCode::internal; break;
  }
  return error;
}

}  // namespace cloche::e2b

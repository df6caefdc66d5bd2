#include "api/runs/answers.hpp"

#include <boost/json/array.hpp>

#include "api/errors.hpp"
#include "api/runs/bodies.hpp"
#include "core/base64.hpp"
#include "core/utc_time.hpp"
#include "core/utf8.hpp"
#include "json/json_object.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

namespace {

using session::Artifact;
using session::ContextResult;
using session::Run;
using session::RunResult;
using session::SessionKey;

constexpr std::chrono::seconds come_back_after{1};

double seconds(std::chrono::microseconds span) { return std::chrono::duration<double>(span).count(); }

json::object to_json(const Artifact& artifact) {
  json::object body;
  body["path"] = to_utf8(artifact.path);
  body["name"] = to_utf8(artifact.name);
  body["content_type"] = artifact.content_type;
  body["size"] = artifact.size;
  body["sha256"] = artifact.sha256;
  return body;
}

json::object to_json(const CompileReport& compile) {
  json::object body;
  put_bytes(body, "stdout", compile.out);
  put_bytes(body, "stderr", compile.err);
  body["exit_code"] = compile.outcome.exit_code;
  body["execution_time"] = seconds(compile.outcome.wall);
  return body;
}

void put_context(json::object& body, const ContextResult& result) {
  body["value"] = result.value ? json::value(to_utf8(*result.value)) : json::value();
  if (result.value_cut) body["value_truncated"] = true;
  if (result.error) {
    json::object error;
    error["name"] = to_utf8(result.error->type);
    error["message"] = to_utf8(result.error->message);
    error["traceback"] = to_utf8(result.error->traceback);
    body["error"] = std::move(error);
  }
  body["state"] = to_string(result.state);
  body["fresh"] = result.fresh;
}

json::object error_json(const Error& error) {
  const ErrorAnswer answer = answer_for(error.code);
  json::object body;
  body["code"] = answer.code;
  body["message"] = answer.status == 500 ? std::string(internal_error_message) : to_utf8(error.message);
  return body;
}

}  // namespace

void put_bytes(json::object& into, std::string_view name, std::string_view bytes) {
  into[name] = to_utf8(bytes);
  if (!is_utf8(bytes)) into[std::string(name) + "_base64"] = encode_base64(bytes);
}

json::object result_json(const Run& run, const SessionKey& key, Printed printed) {
  const session::RunEnd& end = *run.log().how();
  const RunResult& result = *session::result_in(end);
  json::object body;
  if (printed == Printed::included) {
    put_bytes(body, "stdout", run.log().output(Stream::out));
    put_bytes(body, "stderr", run.log().output(Stream::err));
  }
  body["exit_code"] = result.outcome.exit_code;
  body["category"] = to_string(result.category);
  body["cause"] = to_string(result.cause);
  body["reason"] = to_utf8(result.reason);
  body["execution_time"] = seconds(result.outcome.wall);
  body["cpu_time"] = seconds(result.outcome.cpu());
  body["memory_peak"] = result.outcome.peak_memory.count;
  body["truncated"] = result.truncated();
  json::array artifacts;
  for (const Artifact& artifact : result.artifacts.artifacts) artifacts.push_back(to_json(artifact));
  body["artifacts"] = std::move(artifacts);
  body["artifacts_truncated"] = result.artifacts.cut || result.artifacts.left_out > 0;
  body["artifacts_left_out"] = result.artifacts.left_out;
  body["artifacts_ignored"] = result.artifacts.ignored;
  if (result.compile.ran) body["compile"] = to_json(result.compile);
  if (const auto* in_context = std::get_if<ContextResult>(&end)) put_context(body, *in_context);
  body["run_id"] = run.id();
  body["tenant_id"] = key.tenant;
  body["session_id"] = key.id;
  return body;
}

std::size_t printed_size(const Run& run) {
  if (run.running()) return 0;
  std::size_t size = run.log().output(Stream::out).size() + run.log().output(Stream::err).size();
  if (const RunResult* result = session::result_in(*run.log().how())) {
    size += result->compile.out.size() + result->compile.err.size();
  }
  return size;
}

json::object summary_json(const Run& run) {
  json::object body;
  body["run_id"] = run.id();
  body["state"] = run.running() ? "running" : "ended";
  body["background"] = run.info().lifetime == Lifetime::background;
  // It is unknown for a program that an earlier process started.
  body["language"] = run.info().language.empty() ? json::value() : json::value(to_utf8(run.info().language));
  if (!run.info().context.empty()) body["context"] = run.info().context;
  body["text"] = to_utf8(run.info().text);
  body["started"] = to_utc_text(run.started());
  body["ended"] = run.ended() ? json::value(to_utc_text(*run.ended())) : json::value();
  body["stdout_size"] = run.log().output(Stream::out).size();
  body["stderr_size"] = run.log().output(Stream::err).size();
  return body;
}

json::object state_json(const Run& run, const SessionKey& key) {
  json::object body = summary_json(run);
  if (run.running()) return body;
  if (session::result_in(*run.log().how()) != nullptr) {
    body["result"] = result_json(run, key, Printed::included);
  } else {
    body["error"] = error_json(std::get<Error>(*run.log().how()));
  }
  return body;
}

http::ServerEvent first_event(const Run& run, const SessionKey& key, std::uint64_t position) {
  json::object body;
  body["run_id"] = run.id();
  body["tenant_id"] = key.tenant;
  body["session_id"] = key.id;
  http::ServerEvent event;
  event.name = "run";
  event.id = event_id({run.id(), position});
  event.data = write_json(body);
  event.retry = come_back_after;
  return event;
}

http::ServerEvent to_server_event(const Run& run, const SessionKey& key, const session::RunEvent& told) {
  http::ServerEvent event;
  event.id = event_id({run.id(), told.position});
  json::object body;
  if (const auto* output = std::get_if<Output>(&told.what)) {
    event.name = output->stream == Stream::out ? "stdout" : "stderr";
    put_bytes(body, "text", output->bytes);
  } else if (const auto* artifact = std::get_if<Artifact>(&told.what)) {
    event.name = "artifact";
    body = to_json(*artifact);
  } else if (const auto* error = std::get_if<Error>(std::get<const session::RunEnd*>(told.what))) {
    event.name = "error";
    body = error_json(*error);
  } else {
    event.name = "result";
    body = result_json(run, key, Printed::left_out);
  }
  event.data = write_json(body);
  return event;
}

}  // namespace cloche::api

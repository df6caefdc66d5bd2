#include "script/script_event.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace cloche {

namespace {

std::string quoted(std::string_view text) {
  return boost::json::serialize(boost::json::value(boost::json::string_view(text.data(), text.size())));
}

struct Writer {
  std::string operator()(const ReadyEvent&) const { return R"({"type":"ready"})"; }
  std::string operator()(const LogEvent& event) const {
    return R"({"type":"log","source":)" + quoted(to_string(event.source)) + R"(,"level":)" +
           quoted(to_string(event.level)) + R"(,"message":)" + quoted(event.message) + "}";
  }
  std::string operator()(const IntermediateEvent& event) const {
    return R"({"type":"intermediate","label":)" + quoted(event.label) + R"(,"data":)" + event.data + "}";
  }
  std::string operator()(const FinalResultEvent& event) const {
    return R"({"type":"final_result","data":)" + event.data + "}";
  }
  std::string operator()(const ErrorEvent& event) const {
    return R"({"type":"error","kind":)" + quoted(to_string(event.fault)) + R"(,"message":)" + quoted(event.message) +
           R"(,"traceback":)" + quoted(event.traceback) + "}";
  }
  std::string operator()(const ScriptDoneEvent& event) const {
    return R"({"type":"script_done","exit_code":)" + std::to_string(event.exit_code) + "}";
  }
};

}  // namespace

std::string_view to_string(LogEvent::Source source) {
  switch (source) {
    case LogEvent::Source::script: return "script";
    case LogEvent::Source::out: return "stdout";
    case LogEvent::Source::err: return "stderr";
    case LogEvent::Source::cloche: break;
  }
  return "cloche";
}

std::string_view to_string(LogEvent::Level level) {
  switch (level) {
    case LogEvent::Level::debug: return "debug";
    case LogEvent::Level::info: return "info";
    case LogEvent::Level::warning: return "warning";
    case LogEvent::Level::error: break;
  }
  return "error";
}

std::string_view to_string(ScriptFault fault) {
  switch (fault) {
    case ScriptFault::exception: return "exception";
    case ScriptFault::data: return "data";
    case ScriptFault::protocol: return "protocol";
    case ScriptFault::timeout: return "timeout";
    case ScriptFault::memory: return "memory";
    case ScriptFault::output_limit: return "output_limit";
    case ScriptFault::crashed: return "crashed";
    case ScriptFault::cancelled: break;
  }
  return "cancelled";
}

std::string to_json(const ScriptEvent& event) { return std::visit(Writer{}, event); }

}  // namespace cloche

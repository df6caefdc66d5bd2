#include "api/leases/execute_body.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/json_object.hpp"
#include "api/leases/bodies.hpp"
#include "core/utf8.hpp"

namespace cloche::api {

namespace {

Result<std::vector<TestCase>> read_cases(JsonObject& body) {
  std::vector<TestCase> cases;
  const json::value* found = body.find("test_cases");
  if (found == nullptr) return cases;
  const auto wrong = [&] {
    return fail(ErrorCode::invalid_argument, body.place_of("test_cases") + " must be a list of lists of strings");
  };
  if (!found->is_array()) return wrong();
  for (const json::value& each : found->get_array()) {
    if (!each.is_array()) return wrong();
    std::vector<std::string> lines;
    for (const json::value& line : each.get_array()) {
      if (!line.is_string()) return wrong();
      lines.emplace_back(line.get_string());
    }
    TestCase test;
    test.input = input_lines(lines);
    cases.push_back(std::move(test));
  }
  return cases;
}

json::object to_result(const std::string& out, Category category, const std::string& error,
                       std::chrono::microseconds wall) {
  json::object result;
  result["output"] = to_utf8(out);
  result["category"] = to_string(category);
  result["error_message"] = error.empty() ? json::value() : json::value(to_utf8(error));
  result["execution_time"] = std::chrono::duration<double>(wall).count();
  return result;
}

}  // namespace

Result<Submission> read_submission(const json::value& value) {
  CLOCHE_TRY(auto body, JsonObject::of(value, "the body"));
  Submission submission;
  CLOCHE_TRY(submission.program.language, body.text("language"));
  CLOCHE_TRY(submission.program.files, read_submission_files(value));
  CLOCHE_TRY(submission.program.command, body.text("program_command", ""));
  if (submission.program.command == "CMD") submission.program.command.clear();
  CLOCHE_TRY(submission.cases, read_cases(body));
  CLOCHE_TRY(submission.assets, read_assets(value, "assets"));
  return submission;
}

json::object to_results(const Report& report) {
  json::array results;
  if (report.compile.ran && report.category == Category::compilation_error) {
    const std::string& words = report.compile.err.empty() ? report.compile.out : report.compile.err;
    results.push_back(to_result("", report.category, words, report.compile.outcome.wall));
  }
  for (const CaseReport& each : report.cases) {
    const bool fine = each.category == Category::success;
    const std::string error = fine ? "" : each.err.empty() ? each.reason : each.err;
    results.push_back(to_result(each.out, each.category, error, each.outcome.wall));
  }
  json::object body;
  body["results"] = std::move(results);
  return body;
}

}  // namespace cloche::api

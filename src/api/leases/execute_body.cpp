#include "api/leases/execute_body.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/leases/bodies.hpp"
#include "core/utf8.hpp"
#include "json/json_object.hpp"
#include "runner/autograder/command_step.hpp"

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

std::string_view title_of(Category category) {
  switch (category) {
    case Category::compilation_error: return "Compilation failed";
    case Category::runtime_error: return "Runtime error occurred";
    case Category::timeout: return "Execution timed out";
    case Category::system_error: return "System error occurred";
    case Category::success: break;
  }
  return "";
}

// What a program printed, and how it ended.
struct Ended {
  Category category;
  std::string_view out;
  std::string_view err;
  int exit_code;
  std::chrono::microseconds wall;
};

// `output` is what was printed on stdout, then a line feed and what was printed on stderr, without what is empty.
json::object to_result(const Ended& ended) {
  std::string output(ended.out);
  if (!ended.out.empty() && !ended.err.empty()) output += '\n';
  output += ended.err;
  json::value error;
  if (ended.category != Category::success) {
    std::string words(title_of(ended.category));
    if (!ended.err.empty()) words.append(": ").append(ended.err);
    error = to_utf8(words);
  }
  json::object result;
  result["output"] = to_utf8(output);
  result["category"] = to_string(ended.category);
  result["error_message"] = std::move(error);
  result["execution_time"] = std::chrono::duration<double>(ended.wall).count();
  result["stdout"] = to_utf8(ended.out);
  result["stderr"] = to_utf8(ended.err);
  result["exit_code"] = ended.exit_code;
  return result;
}

json::object result_of(const CaseReport& report, std::chrono::milliseconds wall) {
  std::string err = report.err;
  runner::add_forced_end_message(err, report.cause, report.outcome, wall);
  if (report.category == Category::system_error && err.empty()) err = report.reason;
  const int exit_code = report.cause == Cause::wall ? runner::timed_out_code : report.outcome.exit_code;
  return to_result({report.category, report.out, err, exit_code, report.outcome.wall});
}

json::object result_of_compiling(const Report& report) {
  std::string err = report.compile.err;
  const bool is_explained = report.cause == Cause::exit_code && !(err.empty() && report.compile.out.empty());
  if (!is_explained) {
    if (!err.empty() && !err.ends_with('\n')) err += '\n';
    err += report.reason;
  }
  const Outcome& outcome = report.compile.outcome;
  return to_result({report.category, report.compile.out, err, outcome.exit_code, outcome.wall});
}

}  // namespace

Result<Submission> read_submission(const json::value& value) {
  CLOCHE_TRY(auto body, JsonObject::of(value, "the body"));
  Submission submission;
  CLOCHE_TRY(submission.program.language, body.text("language"));
  CLOCHE_TRY(submission.program.files, read_submission_files(value));
  CLOCHE_TRY(submission.program.command, body.text("program_command", ""));
  if (submission.program.command == "CMD") submission.program.command.clear();
  submission.program.command_alone = !submission.program.command.empty();
  CLOCHE_TRY(submission.cases, read_cases(body));
  CLOCHE_TRY(submission.assets, read_assets(value, "assets"));
  CLOCHE_TRY(submission.network, read_lease_network(value));
  return submission;
}

json::object to_results(const Report& report, std::chrono::milliseconds wall) {
  json::array results;
  for (const CaseReport& each : report.cases) results.push_back(result_of(each, wall));
  // If there is no program to run, every case ends like the compile step.
  for (std::uint32_t i = 0; report.cases.empty() && i < std::max(1U, report.skipped); ++i) {
    results.push_back(result_of_compiling(report));
  }
  json::object body;
  body["results"] = std::move(results);
  return body;
}

}  // namespace cloche::api

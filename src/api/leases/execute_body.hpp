// The body of /api/v1/execute, and its answer.
#pragma once

#include <boost/json/value.hpp>

#include "cloche/submission.hpp"
#include "core/result.hpp"

namespace cloche::api {

// {"language", "submission_files": [{"filename", "content"}], "program_command", "test_cases": [[line]] | null,
//  "assets": [], "network"}
Result<Submission> read_submission(const boost::json::value& body);

// {"results": [{"output", "category", "error_message", "execution_time", "stdout", "stderr", "exit_code"}]}, one for
// each case. `wall` is how long each of them might take.
boost::json::object to_results(const Report& report, std::chrono::milliseconds wall);

}  // namespace cloche::api

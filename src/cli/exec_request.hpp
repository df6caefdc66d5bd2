// The request of `cloche exec`, from its command line. No I/O.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace cloche::cli {

struct ExecArguments {
  std::string session;
  std::string tenant;              // empty: the caller's own
  std::vector<std::string> words;  // a program and its arguments
  std::string language;            // of the code; empty: the words are run
  std::string code;
  std::string input;
  std::map<std::string, std::string> env;
  std::string work_dir;
  std::optional<double> timeout;
  bool background = false;
};

struct ExecRequest {
  std::string target;
  boost::json::object body;
};

// `invalid_argument` for what cannot be sent: a NUL, or text that is not UTF-8.
Result<ExecRequest> plan_exec(const ExecArguments& args);

// The line of shell that becomes the program: nothing in it but the words, each read back as it is.
Result<std::string> line_for(const std::vector<std::string>& words);
// The same for a terminal, whose route knows neither environment nor directory; empty for a shell to talk to.
Result<std::string> terminal_line_for(const ExecArguments& args);

// "NAME=VALUE", or "NAME" alone, whose value is this process's own.
using OwnVariable = std::function<const char*(const char*)>;
Result<std::map<std::string, std::string>> parse_env(const std::vector<std::string>& entries, const OwnVariable& own);

}  // namespace cloche::cli

// Possible completions of a command line of `cloche`, from the parser's own tree. No I/O except a request for sessions.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

namespace cloche::cli {

struct Candidate {
  std::string text;
  std::string description;

  bool operator==(const Candidate&) const = default;
};

struct Completion {
  std::vector<Candidate> candidates;
  enum class Files { none, any, directories } files = Files::none;  // besides
};

// The names of sessions; asked only where one can stand. `line` is what was typed, so that a --server in it is minded.
using AskSessions = std::function<std::vector<std::string>(const std::vector<std::string>& line)>;

// `words` are those behind `cloche`, the last being the one that is typed, perhaps empty.
Completion complete(const CLI::App& app, const std::vector<std::string>& words, const AskSessions& ask_sessions);

}  // namespace cloche::cli

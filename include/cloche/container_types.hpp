/// @file
/// What a SandboxContainer is asked and what it answers; see cloche/sandbox_container.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cloche/submission.hpp"

namespace cloche {

/// What a container is told of the program in it.
struct ContainerOptions {
  std::string language;       ///< whose own command "CMD" stands for; may be empty
  std::uint16_t port = 8000;  ///< of the web application that make_request speaks to
};

/// Of one command.
struct CommandOptions {
  std::chrono::milliseconds timeout = std::chrono::seconds(30);  ///< until it is ended
  std::string work_dir;                                          ///< empty: the sandbox's own
};

/// How a command ended.
struct CommandResponse {
  std::string out;                             ///< what it printed on stdout
  std::string err;                             ///< what it printed on stderr
  int exit_code = 0;                           ///< 124 after a timeout, -1 when Cloche failed
  std::chrono::microseconds execution_time{};  ///< from its start to its end
  Category category = Category::success;       ///< as the autograder counts it
  Cause cause = Cause::none;                   ///< why, precisely
  bool truncated = false;                      ///< not all it printed is here
};

/// A file of the sandbox.
struct ExtractedFile {
  std::string path;                 ///< as it was asked for
  std::string content;              ///< its bytes
  std::uint64_t size = 0;           ///< how many there are
  std::optional<std::string> text;  ///< the same, if it is UTF-8
  std::string encoding;             ///< "utf-8", or empty when it is none
};

/// In their order; a name may come twice.
using NameValues = std::vector<std::pair<std::string, std::string>>;

/// One HTTP request to the application in the sandbox.
struct AppRequest {
  std::string method = "GET";       ///< any that HTTP knows
  std::string endpoint = "/";       ///< a path with or without a query, or http://localhost:PORT/…
  NameValues params;                ///< into the query
  NameValues headers;               ///< beside those that the body needs
  std::optional<std::string> json;  ///< JSON text
  NameValues form;                  ///< where there is no json
  std::string data;                 ///< where there is neither: the body as it is
  std::chrono::milliseconds timeout = std::chrono::seconds(5);  ///< for the whole answer
  Bytes most = mib(16);                                         ///< of the answer's body; a longer one is an error
};

/// What the application answered.
struct AppResponse {
  unsigned status_code = 0;  ///< of HTTP
  std::string reason;        ///< the words behind the status
  NameValues headers;        ///< as they came
  std::string content;       ///< the body

  /// It was not refused.
  bool ok() const { return status_code < 400; }
};

}  // namespace cloche

/// @file
/// Requests and responses of a SandboxContainer; see cloche/sandbox_container.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cloche/submission.hpp"

namespace cloche {

/// Options of a container.
struct ContainerOptions {
  std::string language;       ///< The language whose command replaces "CMD". May be empty.
  std::uint16_t port = 8000;  ///< The port of the web application that make_request connects to.
};

/// Options of one command.
struct CommandOptions {
  std::chrono::milliseconds timeout = std::chrono::seconds(30);  ///< The time limit.
  std::string work_dir;  ///< The working directory. Empty: the work directory of the sandbox.
};

/// How a command ended.
struct CommandResponse {
  std::string out;                             ///< What it wrote to stdout.
  std::string err;                             ///< What it wrote to stderr.
  int exit_code = 0;                           ///< The exit code: 124 after a timeout, -1 if Cloche failed.
  std::chrono::microseconds execution_time{};  ///< The time from its start to its end.
  Category category = Category::success;       ///< The category in the autograder's terms.
  Cause cause = Cause::none;                   ///< The precise cause.
  bool truncated = false;                      ///< True if the output is incomplete.
};

/// A file of the sandbox.
struct ExtractedFile {
  std::string path;                 ///< The requested path.
  std::string content;              ///< The bytes of the file.
  std::uint64_t size = 0;           ///< The number of bytes.
  std::optional<std::string> text;  ///< The content if it is valid UTF-8.
  std::string encoding;             ///< "utf-8", or empty if the content is not UTF-8.
};

/// Names and values in order. A name may occur more than once.
using NameValues = std::vector<std::pair<std::string, std::string>>;

/// One HTTP request to the application in the sandbox.
struct AppRequest {
  std::string method = "GET";       ///< Any HTTP method.
  std::string endpoint = "/";       ///< A path with or without a query, or http://localhost:PORT/….
  NameValues params;                ///< Parameters to add to the query.
  NameValues headers;               ///< Additional header fields.
  std::optional<std::string> json;  ///< A JSON body.
  NameValues form;                  ///< A form body, used if there is no json.
  std::string data;                 ///< The body as bytes, used if there is neither json nor form.
  std::chrono::milliseconds timeout = std::chrono::seconds(5);  ///< The time limit for the whole response.
  Bytes most = mib(16);  ///< The limit of the response body. A longer body is an error.
};

/// The response of the application.
struct AppResponse {
  unsigned status_code = 0;  ///< The HTTP status.
  std::string reason;        ///< The reason phrase of the status.
  NameValues headers;        ///< The header fields as received.
  std::string content;       ///< The body.

  /// Returns true if the status is below 400.
  bool ok() const { return status_code < 400; }
};

}  // namespace cloche

// What a SandboxContainer is asked and what it answers; see cloche/sandbox_container.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cloche/submission.hpp"

namespace cloche {

struct ContainerOptions {
  std::string language;       // whose own command "CMD" stands for; may be empty
  std::uint16_t port = 8000;  // of the web application that make_request speaks to
};

struct CommandOptions {
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  std::string work_dir;  // empty: the sandbox's own
};

struct CommandResponse {
  std::string out;
  std::string err;
  int exit_code = 0;  // 124 after a timeout, -1 when Cloche failed
  std::chrono::microseconds execution_time{};
  Category category = Category::success;
  Cause cause = Cause::none;
  bool truncated = false;  // not all it printed is here
};

struct ExtractedFile {
  std::string path;
  std::string content;
  std::uint64_t size = 0;
  std::optional<std::string> text;  // the same, if it is UTF-8
  std::string encoding;             // "utf-8", or empty when it is none
};

using NameValues = std::vector<std::pair<std::string, std::string>>;

struct AppRequest {
  std::string method = "GET";
  std::string endpoint = "/";  // a path with or without a query, or http://localhost:PORT/…
  NameValues params;           // into the query
  NameValues headers;
  std::optional<std::string> json;  // JSON text
  NameValues form;                  // where there is no json
  std::string data;                 // where there is neither: the body as it is
  std::chrono::milliseconds timeout = std::chrono::seconds(5);
  Bytes most = mib(16);  // of the answer's body; a longer one is an error
};

struct AppResponse {
  unsigned status_code = 0;
  std::string reason;
  NameValues headers;
  std::string content;

  bool ok() const { return status_code < 400; }
};

}  // namespace cloche

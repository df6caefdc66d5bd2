// A session's files over HTTP, as tests ask for them.
#pragma once

#include <boost/json/object.hpp>

#include "service/service_test.hpp"

namespace cloche {

class FileApi : public ServiceTest {
 protected:
  // POSTs the object, `session_id` added where it has none.
  Task<Answered> post(std::string route, boost::json::object body);
  Task<Answered> write(std::string path, std::string content);
  // The content of a file as /read has it, or a failed test.
  Task<std::string> text_of(std::string path);
  Task<http::Response> raw(std::string method, std::string target, http::Fields fields, std::string body);

  // Runs a line of shell in the session and waits for its end; what it printed.
  Task<std::string> shell(std::string line);

  std::string session_ = "s1";
  std::string below_session(std::string_view path) const { return "/sessions/default/" + session_ + std::string(path); }
};

// The code in {"error": {"code"}}.
std::string error_code_of(const Answered& answered);
std::string error_message_of(const Answered& answered);

std::string percent_encoded(std::string_view text);

}  // namespace cloche

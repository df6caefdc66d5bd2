// Runs over HTTP, as tests ask for them.
#pragma once

#include <boost/json/object.hpp>

#include "service/service_test.hpp"

namespace cloche {

struct SentEvent {
  std::string name;
  std::string id;
  boost::json::object data;
};

class RunApi : public ServiceTest {
 protected:
  // The test ends here, counted, where the sandbox has no gcc.
  bool has_no_compiler();
  // POSTs the object, `session_id` added where it has none.
  Task<Answered> post(std::string route, boost::json::object body);
  Task<Answered> execute(std::string language, std::string code);
  Task<Answered> bash(std::string command);
  // The events of a request, until the answer's end, or until so many have come and the client hangs up.
  Task<std::vector<SentEvent>> events(std::string method, std::string target, boost::json::object body,
                                      std::string last_event_id, std::size_t most = SIZE_MAX);

  std::string session_ = "s1";
  std::string runs(std::string_view below = "") const {
    return "/sessions/default/" + session_ + "/runs" + std::string(below);
  }
};

// All that these events carry of a stream.
std::string text_in(const std::vector<SentEvent>& events, std::string_view stream);
std::vector<std::string> names_of(const std::vector<SentEvent>& events);

}  // namespace cloche

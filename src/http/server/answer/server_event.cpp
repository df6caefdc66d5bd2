#include "http/server/answer/server_event.hpp"

#include <algorithm>

namespace cloche::http {

Result<std::string> serialise_event(const ServerEvent& event) {
  using namespace std::string_view_literals;
  const bool one_line = event.name.find_first_of("\r\n\0"sv) == std::string::npos &&
                        event.id.find_first_of("\r\n\0"sv) == std::string::npos;
  if (!one_line) return fail(ErrorCode::invalid_argument, "event names and ids must not contain line breaks");
  std::string text;
  text.reserve(event.data.size() + 64);
  if (!event.name.empty()) text.append("event: ").append(event.name).append("\n");
  if (!event.id.empty()) text.append("id: ").append(event.id).append("\n");
  if (event.retry) text.append("retry: ").append(std::to_string(event.retry->count())).append("\n");
  // A client ends lines at \n, \r and \r\n; each line of the data becomes one of the event, and it joins them with \n.
  for (std::string_view rest = event.data;;) {
    const auto end = std::min(rest.find_first_of("\r\n"), rest.size());
    text.append("data: ").append(rest.substr(0, end)).append("\n");
    if (end == rest.size()) break;
    rest.remove_prefix(end + (rest.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return text += "\n";
}

}  // namespace cloche::http

#include "backend/kubernetes/api/status.hpp"

#include <algorithm>
#include <charconv>

namespace cloche::kubernetes {

namespace {

constexpr std::size_t longest_text = 600;
constexpr unsigned longest_pause_s = 60;

ErrorCode code_of(unsigned status, std::string_view message) {
  switch (status) {
    case 400:
    case 410:
    case 422: return ErrorCode::invalid_argument;
    case 401: return ErrorCode::permission_denied;
    case 403:
      return message.find("exceeded quota") != message.npos ? ErrorCode::limit_reached : ErrorCode::permission_denied;
    case 404: return ErrorCode::not_found;
    case 409: return ErrorCode::already_exists;
    case 429: return ErrorCode::limit_reached;
    case 501: return ErrorCode::unsupported;
    default: return status >= 500 ? ErrorCode::unavailable : ErrorCode::protocol;
  }
}

// `User "x" cannot create resource "pods" in API group "" in the namespace "y"` says it all; admission does not.
std::string advice_for(unsigned status, const std::string& message) {
  if (status == 401) return " (the cluster rejects the credentials: check the kubeconfig)";
  if (status != 403) return "";
  if (message.find("exceeded quota") != std::string::npos)
    return " (a ResourceQuota of the namespace is reached: remove pods or raise it)";
  if (message.find("PodSecurity") != std::string::npos)
    return " (the namespace's Pod Security level must be baseline or privileged; see docs/kubernetes.md)";
  if (message.find(" cannot ") != std::string::npos)
    return " (grant this verb for this resource to the account; see docs/kubernetes.md)";
  return "";
}

Error make_error(const std::string& what, unsigned status, const std::string& message) {
  return Error{code_of(status, message), what + ": " + std::to_string(status) + (message.empty() ? "" : " ") + message +
                                             advice_for(status, message)};
}

}  // namespace

std::string tidy(std::string_view text) {
  const bool is_cut = text.size() > longest_text;
  std::string tidied(text.substr(0, longest_text));
  std::ranges::replace_if(tidied, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, ' ');
  while (tidied.ends_with(' ')) tidied.pop_back();
  return is_cut ? tidied + "..." : tidied;
}

Error error_of(const std::string& what, unsigned status, std::string_view body) {
  const auto said = json::parse(body);
  std::string message = said ? json::text(json::find(*said, "message")) : std::string();
  if (message.empty() && !said) message = body;
  return make_error(what, status, tidy(message));
}

Error error_of(const std::string& what, const json::value& status) {
  const auto code = json::number(json::find(status, "code"));
  return make_error(what, code > 0 && code < 1000 ? static_cast<unsigned>(code) : 500,
                    tidy(json::text(json::find(status, "message"))));
}

std::chrono::seconds retry_after(const http::Response& response) {
  const std::string_view text = response.field("Retry-After");
  unsigned seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return std::chrono::seconds(std::min(seconds, longest_pause_s));
}

}  // namespace cloche::kubernetes

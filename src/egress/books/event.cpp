#include "egress/books/event.hpp"

#include "core/utc_time.hpp"
#include "core/utf8.hpp"
#include "json/write_json.hpp"

namespace cloche::egress {

namespace {

// With milliseconds: `2031-05-17T09:30:00.250Z`.
std::string moment(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(time - seconds).count();
  std::string text = to_utc_text(seconds);
  const std::string digits = std::to_string(1000 + rest);
  text.insert(text.size() - 1, "." + digits.substr(1));
  return text;
}

}  // namespace

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::http_connect: return "connect";
    case Protocol::http: return "http";
    case Protocol::socks: return "socks";
    case Protocol::tcp: break;
  }
  return "tcp";
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::allowed: return "allowed";
    case Outcome::closed: return "closed";
    case Outcome::denied: return "denied";
    case Outcome::over_quota: return "over_quota";
    case Outcome::ended: return "ended";
    case Outcome::failed: break;
  }
  return "failed";
}

std::string to_json(const EgressEvent& event) {
  json::object object;
  const auto put = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) object[name] = to_utf8(text);
  };
  object["number"] = event.number;
  object["id"] = event.id;
  put("time", moment(event.time));
  put("tenant", event.tenant);
  put("where", event.where);
  put("protocol", to_string(event.protocol));
  put("host", event.host);
  if (event.address) put("address", event.address->text());
  if (event.port != 0) object["port"] = event.port;
  put("method", event.method);
  put("path", event.path);
  if (event.status != 0) object["status"] = event.status;
  put("rule", event.rule);
  put("secret", event.secret);
  put("outcome", to_string(event.outcome));
  put("reason", event.reason);
  if (event.outcome != Outcome::allowed) {
    object["bytes_up"] = event.bytes_up;
    object["bytes_down"] = event.bytes_down;
    object["duration_ms"] = event.duration.count();
  }
  return write_json(object);
}

}  // namespace cloche::egress

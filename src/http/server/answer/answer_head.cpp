#include "http/server/answer/answer_head.hpp"

#include <array>
#include <boost/beast/http/status.hpp>
#include <ctime>

namespace cloche::http {

namespace {

constexpr std::array<std::string_view, 9> hop_by_hop{
    "Connection", "Content-Length", "Keep-Alive",       "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
    "TE",         "Trailer",        "Transfer-Encoding"};
constexpr std::array<std::string_view, 4> about_the_connection{"Connection", "Content-Length", "Keep-Alive",
                                                               "Transfer-Encoding"};
constexpr std::array<std::string_view, 2> about_the_answer{"Date", "X-Request-Id"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view each) { return same_word(each, name); });
}

// "Sun, 06 Nov 1994 08:49:37 GMT"; made once a second.
const std::string& date_now() {
  static thread_local std::time_t made_at = 0;
  static thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != made_at || text.empty()) {
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char buffer[64];
    // Day and month in the C locale: the standard's names, whatever the user's language.
    static const ::locale_t plain = ::newlocale(LC_TIME_MASK, "C", nullptr);
    text.assign(buffer, ::strftime_l(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts, plain));
    made_at = now;
  }
  return text;
}

}  // namespace

Result<std::string> serialise_answer_head(const AnswerHead& head) {
  if (head.status < 100 || head.status > 599) {
    return fail(ErrorCode::invalid_argument, "invalid HTTP status: " + std::to_string(head.status));
  }
  const auto reason = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(head.status));
  std::string text = "HTTP/1.1 " + std::to_string(head.status) + " ";
  text.append(reason.data(), reason.size()).append("\r\n");
  const bool is_proxy = head.role == Role::proxy;
  if (!is_proxy) text.append("Date: ").append(date_now()).append("\r\n");
  for (const auto& [name, value] : head.fields) {
    if (!is_token(name) || !is_field_value(value)) {
      return fail(ErrorCode::invalid_argument, "invalid HTTP header field: '" + name + "'");
    }
    if (is_one_of(about_the_connection, name) || (!is_proxy && is_one_of(about_the_answer, name)))
      return fail(ErrorCode::invalid_argument, "header field reserved for the server: " + name);
    text.append(name).append(": ").append(value).append("\r\n");
  }
  if (!head.request_id.empty() && !is_proxy) text.append("X-Request-Id: ").append(head.request_id).append("\r\n");
  if (head.framing == AnswerFraming::length) {
    text.append("Content-Length: ").append(std::to_string(head.length)).append("\r\n");
  } else if (head.framing == AnswerFraming::chunked) {
    text += "Transfer-Encoding: chunked\r\n";
  }
  if (!head.connection.empty()) text.append("Connection: ").append(head.connection).append("\r\n");
  return text += "\r\n";
}

Fields without_hop_by_hop(const Fields& fields) {
  Fields kept;
  const auto named_by_connection = [&](std::string_view name) {
    return std::ranges::any_of(fields, [&](const auto& field) {
      return same_word(field.first, "Connection") && list_has(field.second, name);
    });
  };
  for (const auto& field : fields) {
    if (!is_one_of(hop_by_hop, field.first) && !same_word(field.first, "Upgrade") &&
        !named_by_connection(field.first)) {
      kept.push_back(field);
    }
  }
  return kept;
}

}  // namespace cloche::http

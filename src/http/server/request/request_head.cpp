#include "http/server/request/request_head.hpp"

#include <charconv>

#include "http/grammar.hpp"

namespace cloche::http {

namespace {

constexpr std::size_t longest_method = 32;

std::string_view take_line(std::string_view& text) {
  const auto end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return line;
}

OrRequestError<Version> parse_version(std::string_view text) {
  if (text == "HTTP/1.1") return Version::http_1_1;
  if (text == "HTTP/1.0") return Version::http_1_0;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool well_formed =
      text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' && is_digit(text[7]);
  if (well_formed) return refuse(505, "unsupported HTTP version; use HTTP/1.1 or HTTP/1.0");
  return refuse(400, "the request line does not end with an HTTP version");
}

// All that one name has, for the fields that decide where a request ends and whom it is for.
struct Occurrences {
  std::size_t count = 0;
  std::string_view value;  // the last one's
};

Occurrences occurrences(const Fields& fields, std::string_view name) {
  Occurrences found;
  for (const auto& [field, value] : fields) {
    if (!same_word(field, name)) continue;
    ++found.count;
    found.value = value;
  }
  return found;
}

OrRequestError<Framing> parse_framing(const Fields& fields, Version version) {
  const auto coding = occurrences(fields, "Transfer-Encoding");
  const auto length = occurrences(fields, "Content-Length");
  Framing framing;
  if (coding.count > 0) {
    if (length.count > 0) return refuse(400, "both Content-Length and Transfer-Encoding");
    if (version == Version::http_1_0) return refuse(400, "Transfer-Encoding is not allowed in HTTP/1.0");
    if (coding.count > 1 || !same_word(coding.value, "chunked")) {
      return refuse(400, "unsupported Transfer-Encoding; only chunked is supported");
    }
    framing.chunked = true;
  } else if (length.count > 0) {
    const std::string_view text = length.value;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size() && text.size() <= 18;
    if (length.count > 1 || !is_number) return refuse(400, "Content-Length must be a single number");
    framing.length = value;
  }
  return framing;
}

bool is_host(std::string_view text) {
  const auto fits = [](char c) {
    return is_token_character(c) ? c != '`' && c != '^' && c != '|' && c != '#'
                                 : std::string_view("()*+,;=:[]").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, fits);
}

OrRequestError<void> check_host(const Fields& fields, Version version) {
  const auto host = occurrences(fields, "Host");
  if (host.count > 1) return refuse(400, "more than one Host header");
  if (host.count == 0) {
    if (version == Version::http_1_0) return {};
    return refuse(400, "missing Host header");
  }
  if (!is_host(host.value)) return refuse(400, "invalid Host header");
  return {};
}

// "http://host/path" becomes "/path", provided that the Host field agrees.
OrRequestError<std::string> origin_form(std::string_view target, std::string_view method, const Fields& fields) {
  if (target == "*" && method == "OPTIONS") return std::string(target);
  if (target.starts_with('/')) return std::string(target);
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!same_word(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const auto end = std::min(target.find_first_of("/?"), target.size());
    if (!same_word(target.substr(0, end), occurrences(fields, "Host").value)) {
      return refuse(400, "the request target and the Host header name different hosts");
    }
    target.remove_prefix(end);
    return target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  }
  return refuse(400, "the request target must be a path or an http URL of this server");
}

// The same for a proxy, whose requests name the server they are for.
OrRequestError<void> read_proxy_target(std::string_view target, RequestHead& request) {
  if (request.method == "CONNECT") {
    if (!is_host(target)) return refuse(400, "the target of CONNECT must be host:port");
    request.authority = target;
    return {};
  }
  const bool is_asterisk = target == "*" && request.method == "OPTIONS";
  if (!target.starts_with('/') && !is_asterisk) {
    const std::string_view scheme = "http://";
    if (same_word(target.substr(0, 8), "https://")) {
      return refuse(400, "a proxy carries https URLs by CONNECT only");
    }
    if (!same_word(target.substr(0, scheme.size()), scheme)) {
      return refuse(400, "the request target must be a path or an http URL");
    }
    target.remove_prefix(scheme.size());
    const auto end = std::min(target.find_first_of("/?"), target.size());
    if (!is_host(target.substr(0, end))) return refuse(400, "invalid host in the request target");
    request.authority = target.substr(0, end);
    target.remove_prefix(end);
  }
  auto split = split_target(target);
  if (!split) return std::unexpected(std::move(split).error());
  request.target = std::move(*split);
  return {};
}

OrRequestError<void> read_target(std::string_view target, Role role, RequestHead& request) {
  if (role == Role::proxy) return read_proxy_target(target, request);
  auto origin = origin_form(target, request.method, request.fields);
  if (!origin) return std::unexpected(std::move(origin).error());
  auto parsed = parse_target(*origin);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  request.target = std::move(*parsed);
  return {};
}

bool wants_to_go_on(const Fields& fields, Version version) {
  bool keep_alive = false;
  for (const auto& [name, value] : fields) {
    if (!same_word(name, "Connection")) continue;
    if (list_has(value, "close")) return false;
    keep_alive = keep_alive || list_has(value, "keep-alive");
  }
  return version == Version::http_1_1 || keep_alive;
}

}  // namespace

OrRequestError<std::optional<std::size_t>> HeadFinder::find(std::string_view bytes) {
  for (; seen_ < bytes.size(); ++seen_) {
    if (seen_ >= limits_.size.count) return refuse(lines_ == 0 ? 414 : 431, "the request head is too long");
    const auto c = static_cast<unsigned char>(bytes[seen_]);
    if (c == '\r') {
      if (seen_ + 1 == bytes.size()) return std::nullopt;
      if (bytes[seen_ + 1] != '\n') return refuse(400, "carriage return without line feed");
      const std::size_t length = seen_ - line_start_;
      ++seen_;
      line_start_ = seen_ + 1;
      if (length == 0 && lines_ > 0) return line_start_;
      auto ended = end_line(length);
      if (!ended) return std::unexpected(std::move(ended).error());
    } else if (c == '\n') {
      return refuse(400, "line feed without carriage return");
    } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return refuse(400, "control character in the request head");
    }
    if (lines_ == 0 && seen_ - line_start_ > limits_.request_line.count && seen_ >= line_start_) {
      return refuse(414, "the request line is too long");
    }
  }
  return std::nullopt;
}

OrRequestError<void> HeadFinder::end_line(std::size_t length) {
  if (length == 0) {
    // Some clients send one extra line break after a body; more than one is an error.
    if (skipped_empty_line_) return refuse(400, "too many empty lines before the request line");
    skipped_empty_line_ = true;
    return {};
  }
  // The request line is one, and the fields follow.
  if (++lines_ > limits_.fields + 1) return refuse(431, "too many header fields");
  return {};
}

OrRequestError<std::pair<std::string, std::string>> parse_field(std::string_view line) {
  if (line.starts_with(' ') || line.starts_with('\t'))
    return refuse(400, "header fields must not be folded over several lines");
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return refuse(400, "header field without a colon");
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = without_blanks_around(line.substr(colon + 1));
  if (!is_token(name)) return refuse(400, "invalid header field name");
  if (!is_field_value(value)) return refuse(400, "control character in a header field");
  return std::pair(std::string(name), std::string(value));
}

OrRequestError<RequestHead> parse_head(std::string_view head, Role role) {
  if (head.starts_with("\r\n")) head.remove_prefix(2);
  RequestHead request;
  const std::string_view line = take_line(head);
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return refuse(400, "invalid request line");
  const std::string_view target = line.substr(first + 1, last - first - 1);
  request.method = line.substr(0, first);
  if (!is_token(request.method) || request.method.size() > longest_method) return refuse(400, "invalid method");
  auto version = parse_version(line.substr(last + 1));
  if (!version) return std::unexpected(std::move(version).error());
  request.version = *version;
  for (;;) {
    const std::string_view text = take_line(head);
    if (text.empty()) break;
    auto field = parse_field(text);
    if (!field) return std::unexpected(std::move(field).error());
    request.fields.push_back(std::move(*field));
  }
  if (auto host = check_host(request.fields, *version); !host) return std::unexpected(std::move(host).error());
  // It would be ambiguous which of the two counts.
  for (const std::string_view single : {"Authorization", "Content-Type"}) {
    if (occurrences(request.fields, single).count > 1) return refuse(400, "more than one " + std::string(single));
  }
  if (auto read = read_target(target, role, request); !read) return std::unexpected(std::move(read).error());
  auto framing = parse_framing(request.fields, *version);
  if (!framing) return std::unexpected(std::move(framing).error());
  request.framing = *framing;
  request.keeps_alive = wants_to_go_on(request.fields, *version);
  const auto expectation = occurrences(request.fields, "Expect");
  if (expectation.count > 0 && *version == Version::http_1_1) {
    if (expectation.count > 1 || !same_word(expectation.value, "100-continue"))
      return refuse(417, "unsupported Expect header");
    request.expects_continue = request.framing.chunked || request.framing.length.value_or(0) > 0;
  }
  return request;
}

}  // namespace cloche::http

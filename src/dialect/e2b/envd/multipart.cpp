#include "dialect/e2b/envd/multipart.hpp"

#include <algorithm>
#include <vector>

#include "core/text.hpp"
#include "http/grammar.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::size_t longest_boundary = 200;  // RFC 2046 allows 70; clients send more

std::unexpected<Error> not_multipart(std::string_view why) {
  return fail(ErrorCode::invalid_argument, "the body is not valid multipart/form-data: " + std::string(why));
}

struct Parameter {
  std::string name;
  std::string value;
};

// A value: a word, or text in quotes in which a backslash escapes quotes and backslashes.
Result<std::string> take_value(std::string_view& text) {
  std::string value;
  if (!text.starts_with('"')) {
    const auto end = std::min(text.find(';'), text.size());
    value = http::without_blanks_around(text.substr(0, end));
    text.remove_prefix(end);
    return value;
  }
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool escapes = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
    if (escapes) {
      value += text[++i];
    } else if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    } else {
      value += text[i];
    }
  }
  return not_multipart("a quote is not closed");
}

// What follows the first semicolon of a field's value.
Result<std::vector<Parameter>> parameters_in(std::string_view text) {
  std::vector<Parameter> all;
  for (text.remove_prefix(std::min(text.find(';'), text.size())); !text.empty();) {
    if (text.front() != ';') return not_multipart("invalid parameters of a field");
    text = http::without_blanks_around(text.substr(1));
    if (text.empty()) break;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return not_multipart("a parameter without a value");
    Parameter parameter;
    parameter.name = lower(http::without_blanks_around(text.substr(0, equals)));
    text = http::without_blanks_around(text.substr(equals + 1));
    CLOCHE_TRY(parameter.value, take_value(text));
    text = http::without_blanks_around(text);
    all.push_back(std::move(parameter));
  }
  return all;
}

std::string_view type_in(std::string_view value) {
  return http::without_blanks_around(value.substr(0, std::min(value.find(';'), value.size())));
}

int hex_value(char c) {
  const auto at = hex_digits.find(lower(c));
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

// RFC 5987: UTF-8''name%20with%20blanks
Result<std::string> extended_value(std::string_view text) {
  constexpr std::string_view charset = "utf-8'";
  const auto second = text.size() > charset.size() ? text.find('\'', charset.size()) : std::string_view::npos;
  if (!same_word(text.substr(0, charset.size()), charset) || second == std::string_view::npos)
    return not_multipart("an extended parameter must be in UTF-8");
  std::string value;
  for (std::size_t i = second + 1; i < text.size(); ++i) {
    if (text[i] != '%') {
      value += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) return not_multipart("invalid percent-encoding");
    value += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return value;
}

Result<MultipartReader::PartBegins> part_of(std::string_view disposition) {
  if (!same_word(type_in(disposition), "form-data")) return not_multipart("a part without form-data");
  CLOCHE_TRY(const auto parameters, parameters_in(disposition));
  MultipartReader::PartBegins part;
  for (const Parameter& each : parameters) {
    if (each.name == "name") part.name = each.value;
    if (each.name == "filename" && !part.file_name) part.file_name = each.value;
    if (each.name == "filename*") {
      CLOCHE_TRY(part.file_name, extended_value(each.value));
    }
  }
  return part;
}

}  // namespace

Result<std::string> boundary_of(std::string_view content_type) {
  if (!same_word(type_in(content_type), "multipart/form-data"))
    return fail(ErrorCode::unsupported, "the body must be multipart/form-data or application/octet-stream");
  CLOCHE_TRY(const auto parameters, parameters_in(content_type));
  const auto found = std::ranges::find(parameters, "boundary", &Parameter::name);
  if (found == parameters.end() || found->value.empty()) return not_multipart("no boundary in Content-Type");
  if (found->value.size() > longest_boundary) return not_multipart("the boundary is too long");
  return found->value;
}

MultipartReader::MultipartReader(std::string_view boundary, Limits limits)
    : delimiter_("\r\n--" + std::string(boundary)), limits_(limits), bytes_("\r\n") {}

void MultipartReader::feed(std::string_view piece) {
  if (phase_ != Phase::done) bytes_.append(piece);
}

Result<MultipartReader::Event> MultipartReader::next() {
  for (;;) {
    switch (phase_) {
      case Phase::preamble: {
        CLOCHE_TRY(Event event, read_preamble());
        if (phase_ == Phase::preamble) return event;
        break;
      }
      case Phase::after_boundary: {
        CLOCHE_TRY(auto event, read_after_boundary());
        if (event) return std::move(*event);
        break;
      }
      case Phase::head: return read_head();
      case Phase::content: return read_content();
      case Phase::done: return AllRead{};
    }
  }
}

Result<MultipartReader::Event> MultipartReader::read_preamble() {
  const auto at = bytes_.find(delimiter_);
  if (at == std::string::npos) {
    // The beginning of a delimiter may be at the end.
    bytes_.erase(0, bytes_.size() - std::min(bytes_.size(), delimiter_.size() - 1));
    return NeedsMore{};
  }
  bytes_.erase(0, at + delimiter_.size());
  phase_ = Phase::after_boundary;
  return NeedsMore{};
}

// Two hyphens after the last boundary, else the end of the line, possibly after blanks.
Result<std::optional<MultipartReader::Event>> MultipartReader::read_after_boundary() {
  if (bytes_.starts_with("--")) {
    phase_ = Phase::done;
    bytes_.clear();
    return AllRead{};
  }
  const auto end = bytes_.find_first_not_of(" \t");
  const std::size_t blanks = std::min(end, bytes_.size());
  if (blanks > limits_.head) return not_multipart("too many blanks after a boundary");
  const std::string_view rest = std::string_view(bytes_).substr(blanks);
  if (rest.starts_with("\r\n")) {
    if (++parts_ > limits_.parts)
      return fail(ErrorCode::limit_reached, "the body has more than " + std::to_string(limits_.parts) + " parts");
    bytes_.erase(0, blanks + 2);
    phase_ = Phase::head;
    return std::nullopt;
  }
  const bool may_be_whole_later = rest.empty() || rest == "\r" || (blanks == 0 && rest == "-");
  if (!may_be_whole_later) return not_multipart("a boundary is followed by other text");
  return NeedsMore{};
}

Result<MultipartReader::Event> MultipartReader::read_head() {
  const bool is_empty = bytes_.starts_with("\r\n");
  const auto end = is_empty ? 0 : bytes_.find("\r\n\r\n");
  if (end == std::string::npos || end > limits_.head) {
    if (bytes_.size() > limits_.head) return fail(ErrorCode::limit_reached, "the head of a part is too long");
    return NeedsMore{};
  }
  if (is_empty) return not_multipart("a part without fields");
  std::string_view head = std::string_view(bytes_).substr(0, end);
  std::optional<PartBegins> part;
  while (!head.empty()) {
    const auto line_end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, line_end);
    head.remove_prefix(std::min(line_end + 2, head.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return not_multipart("invalid field of a part");
    if (!same_word(line.substr(0, colon), "content-disposition")) continue;
    CLOCHE_TRY(part, part_of(http::without_blanks_around(line.substr(colon + 1))));
  }
  if (!part) return not_multipart("a part without Content-Disposition");
  bytes_.erase(0, end + 4);
  phase_ = Phase::content;
  return std::move(*part);
}

Result<MultipartReader::Event> MultipartReader::read_content() {
  const auto at = bytes_.find(delimiter_);
  if (at == 0) {
    bytes_.erase(0, delimiter_.size());
    phase_ = Phase::after_boundary;
    return PartEnds{};
  }
  const std::size_t safe =
      at != std::string::npos ? at : bytes_.size() - std::min(bytes_.size(), delimiter_.size() - 1);
  if (safe == 0) return NeedsMore{};
  PartData data{bytes_.substr(0, safe)};
  bytes_.erase(0, safe);
  return data;
}

}  // namespace cloche::dialect::e2b

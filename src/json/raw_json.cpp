#include "json/raw_json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>

namespace cloche {

namespace {

// Takes note of nothing: only whether the text is JSON is asked.
struct NullHandler {
  using error_code = boost::system::error_code;
  using string_view = boost::json::string_view;
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t, error_code&) { return true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(string_view, std::size_t, error_code&) { return true; }
  bool on_key(string_view, std::size_t, error_code&) { return true; }
  bool on_string_part(string_view, std::size_t, error_code&) { return true; }
  bool on_string(string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, string_view, error_code&) { return true; }
  bool on_double(double, string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Walks over text that is known to be valid JSON.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  char skip_to_next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void step() { ++at_; }

  std::string_view take_value() {
    skip_to_next();
    const std::size_t start = at_;
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        pass_string();
        if (depth == 0) break;
        continue;
      }
      if (c == '[' || c == '{') {
        ++depth;
      } else if (c == ']' || c == '}') {
        if (depth == 0) break;  // the end of a number or a word
        if (--depth == 0) {
          ++at_;
          break;
        }
      } else if (depth == 0 && (c == ',' || c == ':' || is_space(c))) {
        break;
      }
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }

 private:
  void pass_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<std::string> decoded(std::string_view text) {
  if (!text.starts_with('"')) return std::nullopt;
  boost::system::error_code code;
  const auto value = boost::json::parse(boost::json::string_view(text.data(), text.size()), code);
  if (code || !value.is_string()) return std::nullopt;
  return std::string(value.get_string().data(), value.get_string().size());
}

}  // namespace

Status check_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = most_json_depth;
  boost::json::basic_parser<NullHandler> parser(options);
  boost::system::error_code code;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
  if (!code && (used < text.size() || !parser.done())) code = boost::json::error::extra_data;
  if (code) return fail(ErrorCode::invalid_argument, "invalid JSON: " + code.message());
  return {};
}

Result<JsonMembers> JsonMembers::of(std::string_view text) {
  CLOCHE_CHECK(check_json(text));
  JsonMembers found;
  Walker walker(text);
  if (walker.skip_to_next() != '{') return fail(ErrorCode::invalid_argument, "not a JSON object");
  walker.step();
  while (walker.skip_to_next() == '"') {
    auto name = decoded(walker.take_value());
    if (!name || walker.skip_to_next() != ':') return fail(ErrorCode::internal, "member without a name");
    walker.step();
    const std::string_view value = walker.take_value();
    if (found.raw(*name)) return fail(ErrorCode::invalid_argument, "duplicate member");
    if (found.members_.size() == most) return fail(ErrorCode::invalid_argument, "too many members");
    found.members_.emplace_back(std::move(*name), value);
    if (walker.skip_to_next() != ',') break;
    walker.step();
  }
  return found;
}

std::optional<std::string_view> JsonMembers::raw(std::string_view name) const {
  for (const auto& [key, value] : members_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::optional<std::string> JsonMembers::text(std::string_view name) const {
  const auto found = raw(name);
  return found ? decoded(*found) : std::nullopt;
}

}  // namespace cloche

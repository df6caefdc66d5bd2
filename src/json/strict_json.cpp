#include "json/strict_json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>

namespace cloche {

namespace {

namespace json = boost::json;

// Counts the keys of all objects as they are written.
struct KeyCounter {
  using error_code = boost::system::error_code;
  using string_view = json::string_view;
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  std::size_t keys = 0;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t, error_code&) { return true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(string_view, std::size_t, error_code&) { return true; }
  bool on_key(string_view, std::size_t, error_code&) {
    ++keys;
    return true;
  }
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

// Recursion is bounded by the depth that the parser allowed.
std::size_t count_members(const json::value& value) {  // NOLINT(misc-no-recursion)
  std::size_t count = 0;
  if (const auto* object = value.if_object()) {
    count = object->size();
    for (const auto& member : *object) count += count_members(member.value());
  } else if (const auto* array = value.if_array()) {
    for (const auto& element : *array) count += count_members(element);
  }
  return count;
}

}  // namespace

Result<json::value> parse_strict_json(std::string_view text, std::size_t depth) {
  json::parse_options options;
  options.max_depth = depth;
  boost::system::error_code code;
  // Strings that are not UTF-8 are errors unless asked for otherwise.
  json::value value = json::parse(json::string_view(text.data(), text.size()), code, {}, options);
  if (code) return fail(ErrorCode::invalid_argument, "not JSON: " + code.message());
  // The tree keeps the last of equal keys: it then has fewer members than the text has keys.
  json::basic_parser<KeyCounter> counter(options);
  counter.write_some(false, text.data(), text.size(), code);
  if (code) return fail(ErrorCode::invalid_argument, "not JSON: " + code.message());
  if (counter.handler().keys != count_members(value)) {
    return fail(ErrorCode::invalid_argument, "not JSON that all would read alike: a key is there twice");
  }
  return value;
}

}  // namespace cloche

#include "json/json_reader.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <cmath>
#include <optional>
#include <vector>

namespace cloche {

namespace {

constexpr std::size_t longest_key = 20 << 10;    // a path may be a key
constexpr std::size_t longest_number = 2 << 10;  // the longest double without an exponent has 1,079 characters
constexpr std::size_t shown_of_key = 80;

std::string shown_key(std::string_view key) {
  return key.size() <= shown_of_key ? std::string(key) : std::string(key.substr(0, shown_of_key)) + "...";
}

// Receives the parser's events, checks each and adds it to the value.
class Builder {
 public:
  using error_code = boost::system::error_code;
  using string_view = json::string_view;
  // The checks below are stricter, and have better errors.
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  explicit Builder(const JsonRules& rules) : rules_(rules) {}

  std::optional<Error>& error() { return error_; }
  json::value take() { return std::move(root_); }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }

  bool on_object_begin(error_code& ec) { return open(Shape::object, json::object(), ec); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_array_begin(error_code& ec) { return open(Shape::list, json::array(), ec); }
  bool on_array_end(std::size_t, error_code&) { return close(); }

  bool on_key_part(string_view part, std::size_t size, error_code& ec) {
    if (size > longest_key) return refuse(invalid(std::string(rules_.name) + ": a key is too long"), ec);
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(string_view part, std::size_t size, error_code& ec) {
    if (!on_key_part(part, size, ec) || !count_key(ec)) return false;
    Frame& frame = open_.back();
    frame.key = std::exchange(key_, {});
    if (frame.value.get_object().contains(frame.key)) {
      return refuse(invalid(std::string(rules_.name) + ": duplicate key in JSON object"), ec);
    }
    frame.of_next = nullptr;
    for (const ShapeMember& member : frame.shape->members) {
      if (member.name == frame.key) frame.of_next = member.shape;
    }
    if (frame.of_next != nullptr) return true;
    frame.of_next = frame.shape->each;
    return ++frame.others <= frame.shape->most || refuse(too_many(frame), ec);
  }

  bool on_string_part(string_view part, std::size_t, error_code& ec) {
    if (!in_text_ && !begin_text(ec)) return false;
    text_.append(part);
    return true;
  }
  bool on_string(string_view part, std::size_t, error_code& ec) {
    if (!in_text_ && !begin_text(ec)) return false;
    text_.append(part);
    in_text_ = false;
    add(json::value(std::exchange(text_, json::string())));
    return true;
  }

  // The type is checked with the first part: a wrong number is not read to its end.
  bool on_number_part(string_view part, error_code& ec) {
    if (number_size_ == 0 && !fits(Shape::number, ec)) return false;
    number_size_ += part.size();
    return number_size_ <= longest_number || refuse(invalid(std::string(rules_.name) + ": a number is too long"), ec);
  }
  bool on_int64(std::int64_t number, string_view part, error_code& ec) { return end_number(number, part, ec); }
  bool on_uint64(std::uint64_t number, string_view part, error_code& ec) { return end_number(number, part, ec); }
  bool on_double(double number, string_view part, error_code& ec) {
    if (!std::isfinite(number)) return refuse(invalid(std::string(rules_.name) + ": a number is too large"), ec);
    return end_number(number, part, ec);
  }

  bool on_bool(bool value, error_code& ec) {
    if (!count_one(ec) || !fits(Shape::flag, ec)) return false;
    add(json::value(value));
    return true;
  }
  bool on_null(error_code& ec) {
    if (!count_one(ec) || !has_room(ec)) return false;
    add(json::value(nullptr));
    return true;
  }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  // An object or a list that has begun.
  struct Frame {
    const Shape* shape;
    const Shape* of_next;  // the shape of the value that comes next
    json::value value;
    std::string key;         // of the value that comes next, in an object
    std::size_t others = 0;  // members that the shape does not name
  };

  static Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }
  Error limit(std::string_view what) const {
    return {ErrorCode::limit_reached, std::string(rules_.name) + ": " + std::string(what)};
  }
  Error too_many(const Frame& frame) const {
    const std::string_view what = frame.value.is_array() ? "elements" : "members";
    const std::string in = open_.size() == 1 ? std::string(rules_.name) : place(open_.size() - 2);
    return {ErrorCode::limit_reached, in + " has too many " + std::string(what) + "; at most " +
                                          std::to_string(frame.shape->most) + " are allowed"};
  }

  bool refuse(Error error, error_code& ec) {
    error_ = std::move(error);
    ec = json::error::exception;
    return false;
  }

  // Where the value is that comes next in this frame: `the body: timeout`, `limits: memory`, `files["a.py"]: mode`.
  std::string place(std::size_t frame) const {
    std::string in(rules_.name);
    for (std::size_t i = 0; i < frame; ++i) in = inner(i, in);
    return open_[frame].value.is_object() ? in + ": " + shown_key(open_[frame].key) : inner(frame, in);
  }
  std::string inner(std::size_t frame, const std::string& in) const {
    const Frame& at = open_[frame];
    if (const auto* list = at.value.if_array()) return in + "[" + std::to_string(list->size()) + "]";
    const bool is_named = std::ranges::any_of(at.shape->members, [&](const auto& m) { return m.name == at.key; });
    return is_named || frame == 0 ? shown_key(at.key) : in + "[\"" + shown_key(at.key) + "\"]";
  }

  const Shape& wanted() const { return open_.empty() ? *rules_.shape : *open_.back().of_next; }

  bool count_one(error_code& ec) {
    if (&wanted() == &shapes::anything && ++unnamed_ > rules_.unnamed) {
      return refuse(limit("a field has more than " + std::to_string(rules_.unnamed) + " values"), ec);
    }
    return count_key(ec);
  }
  bool count_key(error_code& ec) {
    if (++values_ <= rules_.values) return true;
    return refuse(limit("it has more than " + std::to_string(rules_.values) + " values and keys"), ec);
  }
  // In a list: for one more element.
  bool has_room(error_code& ec) {
    if (open_.empty()) return true;
    const Frame& frame = open_.back();
    const auto* list = frame.value.if_array();
    return list == nullptr || list->size() < frame.shape->most || refuse(too_many(frame), ec);
  }
  bool fits(Shape::Kind kind, error_code& ec) {
    if (!has_room(ec)) return false;
    if ((wanted().kinds & kind) != 0) return true;
    std::size_t at = open_.size();
    const Shape* shape = &wanted();
    while (shape->wanted.empty() && at > 0) shape = open_[--at].shape;
    const std::string where = at == 0 ? std::string(rules_.name) : place(at - 1);
    return refuse(invalid(where + " must be " + std::string(shape->wanted)), ec);
  }

  bool open(Shape::Kind kind, json::value container, error_code& ec) {
    if (!count_one(ec) || !fits(kind, ec)) return false;
    const Shape* shape = &wanted();
    open_.push_back({shape, shape->each, std::move(container)});
    return true;
  }
  bool close() {
    json::value done = std::move(open_.back().value);
    open_.pop_back();
    add(std::move(done));
    return true;
  }
  bool begin_text(error_code& ec) {
    in_text_ = true;
    return count_one(ec) && fits(Shape::text, ec);
  }
  bool end_number(auto number, string_view part, error_code& ec) {
    if (!on_number_part(part, ec)) return false;
    number_size_ = 0;
    if (!count_one(ec)) return false;
    add(json::value(number));
    return true;
  }

  void add(json::value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (auto* list = open_.back().value.if_array()) {
      list->push_back(std::move(value));
    } else {
      open_.back().value.get_object().emplace(open_.back().key, std::move(value));
    }
  }

  JsonRules rules_;
  std::optional<Error> error_;
  json::value root_;
  std::vector<Frame> open_;
  std::size_t values_ = 0;
  std::size_t unnamed_ = 0;
  std::string key_;
  json::string text_;
  bool in_text_ = false;
  std::size_t number_size_ = 0;
};

json::parse_options options_of(const JsonRules& rules) {
  json::parse_options options;
  options.max_depth = rules.depth;
  return options;
}

}  // namespace

struct JsonReader::State {
  explicit State(const JsonRules& r) : rules(r), parser(options_of(r), r) {}

  Status failed(const boost::system::error_code& code) {
    if (parser.handler().error()) return fail(*parser.handler().error());
    return fail(ErrorCode::invalid_argument, std::string(rules.name) + ": invalid JSON: " + code.message());
  }

  JsonRules rules;
  json::basic_parser<Builder> parser;
};

JsonReader::JsonReader(const JsonRules& rules) : state_(std::make_unique<State>(rules)) {}
JsonReader::JsonReader(JsonReader&&) noexcept = default;
JsonReader& JsonReader::operator=(JsonReader&&) noexcept = default;
JsonReader::~JsonReader() = default;

Status JsonReader::feed(std::string_view piece) {
  boost::system::error_code code;
  const std::size_t used = state_->parser.write_some(true, piece.data(), piece.size(), code);
  if (!code && used < piece.size()) {
    code = json::error::extra_data;
    state_->parser.fail(code);
  }
  if (code) return state_->failed(code);
  return {};
}

Result<json::value> JsonReader::finish() {
  boost::system::error_code code;
  state_->parser.write_some(false, nullptr, 0, code);
  if (code) return fail(std::move(state_->failed(code)).error());
  return state_->parser.handler().take();
}

}  // namespace cloche

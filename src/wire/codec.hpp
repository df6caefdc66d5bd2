// How a message becomes bytes and back.
//
// A message is a struct with a free function that names its fields once, for both directions:
//
//   template <class Fields> void fields(Fields& f, ExecRequest& m) { f(1, m.argv); f(2, m.cwd); }
//
// The encoding of a field is: tag (varint), length (varint), value. Empty strings and lists are omitted and unknown
// tags are skipped, so either side may be older than the other. Vectors and maps are repeated fields. Numbers are
// varints (signed ones zigzag). The decoder accepts any bytes: it never reads past them, and its result is not larger
// than a small multiple of them.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/result.hpp"

namespace cloche::wire {

// One message at the front of a payload: its kind, then its fields.
void put_varint(std::string& out, std::uint64_t value);
// Removes a varint from the front; false if there is none.
bool take_varint(std::string_view& in, std::uint64_t& value);

class Encoder;
class FieldDecoder;

template <class T>
concept Described = requires(T& value, Encoder& encoder) { fields(encoder, value); };

// One entry of a map.
struct MapEntry {
  std::string key;
  std::string value;
};
template <class Fields>
void fields(Fields& f, MapEntry& m) {
  f(1, m.key);
  f(2, m.value);
}
using TextMap = std::map<std::string, std::string>;

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  template <class T>
  void operator()(std::uint32_t tag, const T& value) {
    if constexpr (is_vector<T>::value) {
      for (const auto& element : value) put_field(tag, element);
    } else if constexpr (std::is_same_v<T, TextMap>) {
      for (const auto& [key, text] : value) put_field(tag, MapEntry{key, text});
    } else if constexpr (is_optional<T>::value) {
      if (value) put_field(tag, *value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.empty()) put_field(tag, value);
    } else {
      put_field(tag, value);
    }
  }

  template <class T>
  struct is_vector : std::false_type {};
  template <class T>
  struct is_vector<std::vector<T>> : std::true_type {};
  template <class T>
  struct is_optional : std::false_type {};
  template <class T>
  struct is_optional<std::optional<T>> : std::true_type {};

 private:
  template <class T>
  void put_field(std::uint32_t tag, const T& value) {
    put_varint(out_, tag);
    std::string body;
    put_value(body, value);
    put_varint(out_, body.size());
    out_ += body;
  }

  template <class T>
  static void put_value(std::string& out, const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      out += value;
    } else if constexpr (std::is_enum_v<T>) {
      put_varint(out, static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_same_v<T, bool> || std::unsigned_integral<T>) {
      put_varint(out, value);
    } else if constexpr (std::signed_integral<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      put_varint(out, (static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
    } else {
      Encoder nested(out);
      fields(nested, const_cast<T&>(value));  // describing for encoding reads only
    }
  }

  std::string& out_;
};

// Elements one list may have: an empty element costs two bytes on the wire and many in memory.
constexpr std::size_t max_elements = 64 * 1024;

// Passes the bytes of one field to the member with its tag.
class FieldDecoder {
 public:
  FieldDecoder(std::uint64_t tag, std::string_view body, int depth) : tag_(tag), body_(body), depth_(depth) {}

  template <class T>
  void operator()(std::uint32_t tag, T& member) {
    if (tag != tag_) return;
    if constexpr (Encoder::is_vector<T>::value) {
      good_ = good_ && member.size() < max_elements && take_value(member.emplace_back());
    } else if constexpr (std::is_same_v<T, TextMap>) {
      MapEntry entry;
      good_ = good_ && member.size() < max_elements && take_value(entry);
      if (good_) member.insert_or_assign(std::move(entry.key), std::move(entry.value));
    } else if constexpr (Encoder::is_optional<T>::value) {
      good_ = good_ && take_value(member.emplace());
    } else {
      good_ = good_ && take_value(member);
    }
  }

  bool good() const { return good_; }

 private:
  template <class T>
  bool take_value(T& member);
  bool take_number(std::uint64_t& value) {
    std::string_view rest = body_;
    return take_varint(rest, value) && rest.empty();
  }

  std::uint64_t tag_;
  std::string_view body_;
  int depth_;
  bool good_ = true;
};

constexpr int max_depth = 8;

// Reads all fields of a message; false if the bytes are invalid.
template <class T>
bool take_fields(std::string_view in, T& message, int depth = 0) {
  if (depth > max_depth) return false;
  while (!in.empty()) {
    std::uint64_t tag = 0;
    std::uint64_t length = 0;
    if (!take_varint(in, tag) || !take_varint(in, length) || length > in.size()) return false;
    FieldDecoder decoder(tag, in.substr(0, length), depth);
    in.remove_prefix(length);
    fields(decoder, message);
    if (!decoder.good()) return false;
  }
  return true;
}

template <class T>
bool FieldDecoder::take_value(T& member) {
  std::uint64_t number = 0;
  if constexpr (std::is_same_v<T, std::string>) {
    member.assign(body_);
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    // Every enum on the wire has a last value `last_`; an unknown one is refused, not misread.
    if (!take_number(number) || number > static_cast<std::uint64_t>(T::last_)) return false;
    member = static_cast<T>(number);
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!take_number(number) || number > 1) return false;
    member = number == 1;
    return true;
  } else if constexpr (std::unsigned_integral<T>) {
    if (!take_number(number) || number > std::numeric_limits<T>::max()) return false;
    member = static_cast<T>(number);
    return true;
  } else if constexpr (std::signed_integral<T>) {
    if (!take_number(number)) return false;
    const auto wide = static_cast<std::int64_t>(number >> 1) ^ -static_cast<std::int64_t>(number & 1);
    if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) return false;
    member = static_cast<T>(wide);
    return true;
  } else {
    return take_fields(body_, member, depth_ + 1);
  }
}

// A message with its kind in front. `T::kind` distinguishes messages of one context.
template <class T>
std::string encode(const T& message) {
  std::string out;
  put_varint(out, static_cast<std::uint64_t>(T::kind));
  Encoder encoder(out);
  fields(encoder, const_cast<T&>(message));
  return out;
}

// The kind of an encoded message; nullopt if the bytes are invalid.
std::optional<std::uint64_t> kind_of(std::string_view bytes);

template <class T>
Result<T> decode(std::string_view bytes) {
  std::uint64_t kind = 0;
  T message;
  if (!take_varint(bytes, kind) || kind != static_cast<std::uint64_t>(T::kind) || !take_fields(bytes, message)) {
    return fail(ErrorCode::protocol, std::string("malformed message ") + T::name);
  }
  return message;
}

}  // namespace cloche::wire

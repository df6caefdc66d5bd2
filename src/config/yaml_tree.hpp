// A YAML document as a plain tree with line numbers.
//
// The text is untrusted: its size, its depth and the expansion of its aliases are limited, and what is unusual in a
// configuration (a duplicate key, a tag, a second document, control characters) is rejected.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/bytes.hpp"
#include "core/result.hpp"

namespace cloche::config {

inline constexpr Bytes max_document = mib(1);
inline constexpr Bytes max_unfolded_text = mib(4);  // with every alias replaced by its value
inline constexpr std::size_t max_unfolded_nodes = 50'000;
inline constexpr std::size_t max_depth = 32;

struct Key {
  std::string text;
  int line = 0;
};

struct YamlNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  bool quoted = false;  // a scalar that is text whatever it looks like
  int line = 1;
  std::string text;             // a scalar's
  std::vector<Key> keys;        // a map's, one for each of its items; no two are the same
  std::vector<YamlNode> items;  // a list's or a map's
};

// `name` is the file's, for errors. An empty document is a null.
Result<YamlNode> parse_yaml(std::string_view text, std::string_view name);

}  // namespace cloche::config

// Section: one map of a configuration, read key by key, strictly.
//
// A reader asks for each key that it knows. A key that was not asked for is an error, and so is a value of the wrong
// type or out of its range; a missing key leaves the value unchanged. Errors are not returned from each call but
// collected in ConfigErrors, so that a reader is a list of its keys, and the first error in the file is reported.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloche/bytes.hpp"
#include "config/scalars.hpp"
#include "config/yaml_tree.hpp"
#include "core/result.hpp"

namespace cloche::config {

class ConfigErrors {
 public:
  explicit ConfigErrors(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  enum class About { value, unknown_key };
  // Among errors in one line, an unknown key is probably the cause of the others.
  void add(int line, About about, std::string message);
  bool empty() const { return message_.empty(); }
  // The first by line, as invalid_argument, or success.
  Status status() const;

 private:
  std::string file_;
  int line_ = 0;
  About about_ = About::value;
  std::string message_;
};

// A part of a file that is kept for those who know what it means.
struct Part {
  std::string file;
  std::string path;
  YamlNode node;
  int line = 1;
};

struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
};

struct DurationRange {
  std::chrono::milliseconds least{0};
  std::chrono::milliseconds most = longest_duration;
};

class Section {
 public:
  using Reader = std::function<void(Section&)>;
  using NamedReader = std::function<void(const std::string& name, Section&)>;
  using TextReader = std::function<void(const std::string&)>;
  using Test = std::function<bool(std::string_view)>;

  // The whole of a document, or a part of it. Unlike the sections handed to readers, it needs its finish() called.
  Section(ConfigErrors& errors, const YamlNode& node, std::string path, int line);

  const std::string& path() const { return path_; }
  bool has(std::string_view key) const { return entry(key) != nullptr; }
  std::vector<std::string> keys() const;
  YamlNode::Kind kind(std::string_view key) const;  // null if it is missing

  void text(std::string_view key, std::string& value);
  // A text of which `test` is true; `what` says in an error what it must be.
  void text(std::string_view key, std::string& value, std::string_view what, const Test& test);
  void whole(std::string_view key, std::uint32_t& value, Range range);
  void whole(std::string_view key, std::uint64_t& value, Range range);
  void real(std::string_view key, double& value);
  void duration(std::string_view key, std::chrono::milliseconds& value, DurationRange range);
  void size(std::string_view key, Bytes& value);

  // A list is replaced; in a map, each given key is set and the others stay.
  void texts(std::string_view key, std::vector<std::string>& values);
  void texts(std::string_view key, std::map<std::string, std::string>& values);

  template <class Enum>
  void choice(std::string_view key, Enum& value, std::initializer_list<std::pair<std::string_view, Enum>> choices) {
    std::string word, all;
    for (const auto& [name, meaning] : choices) all += (all.empty() ? "" : ", ") + std::string(name);
    const auto is_choice = [&](std::string_view given) {
      for (const auto& [name, meaning] : choices) {
        if (given == name) return true;
      }
      return false;
    };
    text(key, word, (choices.size() == 1 ? "" : "one of ") + all, is_choice);
    for (const auto& [name, meaning] : choices) {
      if (word == name) value = meaning;
    }
  }

  // A map below; nothing at all is an empty one. Unknown keys in it are found when `read` is done.
  void section(std::string_view key, const Reader& read);
  // A map of maps.
  void sections(std::string_view key, const NamedReader& read);
  // A list of maps.
  void list(std::string_view key, const Reader& read);
  // A list of texts and maps.
  void list(std::string_view key, const TextReader& text, const Reader& read);

  // The unread value of this key.
  std::optional<Part> part(std::string_view key);

  // Reports an error in the value of this key or, if it is missing, in the section.
  void refuse(std::string_view key, const std::string& why);
  // Something is wrong with the section as a whole.
  void refuse(const std::string& why);
  // The same, unless something is known to be wrong already, which may well be why.
  void check(const Status& status);

  void finish();

 private:
  const YamlNode* entry(std::string_view key) const;
  // The value, if it exists; from now on the key is known.
  const YamlNode* find(std::string_view key);
  const YamlNode* find_scalar(std::string_view key, std::string_view what);
  void expected(std::string_view key, std::string_view what, const YamlNode& found);
  std::string path_of(std::string_view key) const;
  int line_of(std::string_view key) const;

  ConfigErrors& errors_;
  const YamlNode& node_;
  std::string path_;
  int line_;
  std::map<std::string_view, std::size_t> places_;  // of keys in node_
  std::set<std::string, std::less<>> known_;
};

}  // namespace cloche::config

#include "config/section.hpp"

#include <algorithm>
#include <limits>

#include "config/nearest.hpp"
#include "config/text.hpp"
#include "core/bytes.hpp"

namespace cloche::config {

void ConfigErrors::add(int line, About about, std::string message) {
  const bool comes_first = line < line_ || (line == line_ && about > about_);
  if (!message_.empty() && !comes_first) return;
  line_ = line;
  about_ = about;
  message_ = std::move(message);
}

Status ConfigErrors::status() const {
  if (message_.empty()) return {};
  return fail(ErrorCode::invalid_argument, file_ + ": " + message_);
}

namespace {

std::string described(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null: return "nothing";
    case YamlNode::Kind::scalar: return shown(node.text);
    case YamlNode::Kind::list: return "a list";
    case YamlNode::Kind::map: return "a map";
  }
  return "an unknown kind of value";
}

std::string whole_in(Range range) {
  const std::string from = "a whole number from " + std::to_string(range.least);
  return range.most == UINT64_MAX ? from : from + " to " + std::to_string(range.most);
}

std::string line_text(int line) { return " (line " + std::to_string(line) + ")"; }

// A name that is not a plain word, such as a path, is put in brackets so that the dots of a path stay unambiguous.
std::string joined(const std::string& path, std::string_view key) {
  const bool plain = !key.empty() && key.size() <= 64 &&
                     std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
  if (!plain) return path + "[" + shown(key) + "]";
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

}  // namespace

Section::Section(ConfigErrors& errors, const YamlNode& node, std::string path, int line)
    : errors_(errors), node_(node), path_(std::move(path)), line_(line) {
  if (node_.kind != YamlNode::Kind::map && node_.kind != YamlNode::Kind::null) {
    refuse("must be a map of keys to values, not " + described(node_));
  }
  for (std::size_t i = 0; i < node_.keys.size(); ++i) places_.emplace(node_.keys[i].text, i);
}

std::vector<std::string> Section::keys() const {
  std::vector<std::string> names;
  names.reserve(node_.keys.size());
  for (const Key& key : node_.keys) names.push_back(key.text);
  return names;
}

YamlNode::Kind Section::kind(std::string_view key) const {
  const YamlNode* value = entry(key);
  return value ? value->kind : YamlNode::Kind::null;
}

const YamlNode* Section::entry(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &node_.items[found->second];
}

const YamlNode* Section::find(std::string_view key) {
  known_.emplace(key);
  return entry(key);
}

const YamlNode* Section::find_scalar(std::string_view key, std::string_view what) {
  const YamlNode* value = find(key);
  if (value && value->kind == YamlNode::Kind::scalar) return value;
  if (value) expected(key, what, *value);
  return nullptr;
}

std::string Section::path_of(std::string_view key) const { return joined(path_, key); }

int Section::line_of(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? line_ : node_.keys[found->second].line;
}

void Section::expected(std::string_view key, std::string_view what, const YamlNode& found) {
  refuse(key, "must be " + std::string(what) + ", not " + described(found));
}

void Section::refuse(std::string_view key, const std::string& why) {
  errors_.add(line_of(key), ConfigErrors::About::value, path_of(key) + line_text(line_of(key)) + ": " + why);
}

void Section::refuse(const std::string& why) {
  errors_.add(line_, ConfigErrors::About::value, path_.empty() ? why : path_ + line_text(line_) + ": " + why);
}

void Section::check(const Status& status) {
  if (!status && errors_.empty()) refuse(status.error().message);
}

void Section::text(std::string_view key, std::string& value) {
  if (const YamlNode* found = find_scalar(key, "a string")) value = found->text;
}

void Section::text(std::string_view key, std::string& value, std::string_view what, const Test& test) {
  const YamlNode* found = find_scalar(key, what);
  if (!found) return;
  if (test(found->text)) {
    value = found->text;
  } else {
    expected(key, what, *found);
  }
}

void Section::whole(std::string_view key, std::uint64_t& value, Range range) {
  const YamlNode* found = find_scalar(key, whole_in(range));
  if (!found) return;
  if (found->quoted) return refuse(key, "must be " + whole_in(range) + ", without quotes");
  const auto number = parse_whole(found->text);
  if (!number || *number < range.least || *number > range.most) return expected(key, whole_in(range), *found);
  value = *number;
}

void Section::whole(std::string_view key, std::uint32_t& value, Range range) {
  range.most = std::min<std::uint64_t>(range.most, std::numeric_limits<std::uint32_t>::max());
  std::uint64_t wide = value;
  whole(key, wide, range);
  value = static_cast<std::uint32_t>(wide);
}

void Section::real(std::string_view key, double& value) {
  constexpr std::string_view what = "a number such as 0.5 or 2";
  const YamlNode* found = find_scalar(key, what);
  if (!found) return;
  if (found->quoted) return refuse(key, "must be " + std::string(what) + ", without quotes");
  const auto number = parse_real(found->text);
  if (!number) return expected(key, what, *found);
  value = *number;
}

void Section::duration(std::string_view key, std::chrono::milliseconds& value, DurationRange range) {
  const std::string what = "a duration from " + to_text(range.least) + " to " + to_text(range.most) +
                           ", in seconds or with a unit, such as 500ms, 10s, 5m or 2h";
  const YamlNode* found = find_scalar(key, what);
  if (!found) return;
  const auto duration = parse_duration(found->text);
  if (!duration || *duration < range.least || *duration > range.most) return expected(key, what, *found);
  value = *duration;
}

void Section::size(std::string_view key, Bytes& value) {
  constexpr std::string_view what = "a number of bytes such as 64k, 128m, 1g or 4096";
  const YamlNode* found = find_scalar(key, what);
  if (!found) return;
  const auto bytes = parse_bytes(found->text);
  if (!bytes) return expected(key, what, *found);
  value = *bytes;
}

void Section::texts(std::string_view key, std::vector<std::string>& values) {
  const YamlNode* found = find(key);
  if (!found) return;
  const auto is_scalar = [](const YamlNode& item) { return item.kind == YamlNode::Kind::scalar; };
  if (found->kind != YamlNode::Kind::list || !std::ranges::all_of(found->items, is_scalar)) {
    return refuse(key, "must be a list of strings, such as [one, two]");
  }
  values.clear();
  for (const YamlNode& item : found->items) values.push_back(item.text);
}

void Section::texts(std::string_view key, std::map<std::string, std::string>& values) {
  section(key, [&](Section& below) {
    for (const std::string& name : below.keys()) below.text(name, values[name]);
  });
}

void Section::section(std::string_view key, const Reader& read) {
  const YamlNode* found = find(key);
  if (!found) return;
  Section below(errors_, *found, path_of(key), line_of(key));
  if (found->kind != YamlNode::Kind::map && found->kind != YamlNode::Kind::null) return;
  read(below);
  below.finish();
}

void Section::sections(std::string_view key, const NamedReader& read) {
  section(key, [&](Section& below) {
    for (const std::string& name : below.keys()) {
      below.section(name, [&](Section& named) { read(name, named); });
    }
  });
}

void Section::list(std::string_view key, const Reader& read) { list(key, nullptr, read); }

void Section::list(std::string_view key, const TextReader& text, const Reader& read) {
  const YamlNode* found = find(key);
  if (!found) return;
  if (found->kind == YamlNode::Kind::null) return;
  if (found->kind != YamlNode::Kind::list) return expected(key, "a list", *found);
  for (std::size_t i = 0; i < found->items.size(); ++i) {
    const YamlNode& item = found->items[i];
    if (text && item.kind == YamlNode::Kind::scalar) {
      text(item.text);
      continue;
    }
    Section below(errors_, item, path_of(key) + "[" + std::to_string(i) + "]", item.line);
    if (item.kind != YamlNode::Kind::map) {
      if (item.kind == YamlNode::Kind::null) below.refuse("must be a map of keys to values, not nothing");
      continue;
    }
    read(below);
    below.finish();
  }
}

std::optional<Part> Section::part(std::string_view key) {
  const YamlNode* found = find(key);
  if (!found) return std::nullopt;
  return Part{errors_.file(), path_of(key), *found, line_of(key)};
}

void Section::finish() {
  const auto is_unknown = [&](const Key& key) { return !known_.contains(key.text); };
  const auto key = std::ranges::find_if(node_.keys, is_unknown);
  if (key == node_.keys.end()) return;
  std::string message =
      "unknown key " + shown(key->text) + line_text(key->line) + (path_.empty() ? " at the top level" : " in " + path_);
  const std::vector<std::string> known(known_.begin(), known_.end());
  if (const std::string meant = nearest(key->text, known); !meant.empty()) {
    message += "; did you mean `" + meant + "`?";
  } else {
    std::string all;
    for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
    message += "; known keys: " + (all.empty() ? "none" : all);
  }
  errors_.add(key->line, ConfigErrors::About::unknown_key, std::move(message));
}

}  // namespace cloche::config

#include "gpu/cdi_spec.hpp"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <cctype>
#include <set>

#include "config/section.hpp"
#include "config/text.hpp"
#include "json/strict_json.hpp"
#include "sandbox/spec.hpp"

namespace cloche::gpu {

namespace {

using config::Section;
using config::YamlNode;

constexpr std::array versions = {"0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0"};
constexpr std::size_t most_depth = 16;
constexpr std::size_t most_name = 253;
constexpr std::uint64_t most_device_number = 0xf'ffff;

bool is_word(std::string_view text, std::string_view signs) {
  return !text.empty() && text.size() <= most_name && std::isalnum(static_cast<unsigned char>(text.front())) &&
         std::isalnum(static_cast<unsigned char>(text.back())) && std::ranges::all_of(text, [&](unsigned char c) {
           return std::isalnum(c) || signs.find(static_cast<char>(c)) != signs.npos;
         });
}

bool is_kind(std::string_view text) {
  const auto slash = text.find('/');
  return slash != text.npos && is_word(text.substr(0, slash), "-_.") && is_word(text.substr(slash + 1), "-_.");
}

bool is_device_name(std::string_view text) { return is_word(text, "-_.:"); }

bool is_known_version(std::string_view text) { return std::ranges::find(versions, text) != versions.end(); }

bool is_variable(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('='));
  return name.size() < text.size() && !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(
             name, [](unsigned char c) { return std::isalnum(c) || c == '_'; }) &&
         text.find('\0') == text.npos;
}

constexpr std::string_view path_words = "an absolute path without '..', '.' or empty parts";

// The same tree as YAML has, so that one reader does for both. JSON has no line numbers.
YamlNode to_tree(const json::value& value) {
  YamlNode node;
  if (const auto* object = value.if_object()) {
    node.kind = YamlNode::Kind::map;
    for (const auto& member : *object) {
      node.keys.push_back({std::string(member.key()), 1});
      node.items.push_back(to_tree(member.value()));
    }
  } else if (const auto* array = value.if_array()) {
    node.kind = YamlNode::Kind::list;
    for (const json::value& item : *array) node.items.push_back(to_tree(item));
  } else if (!value.is_null()) {
    node.kind = YamlNode::Kind::scalar;
    node.quoted = value.is_string();
    node.text = value.is_string() ? std::string(value.get_string()) : boost::json::serialize(value);
  }
  return node;
}

void read_number(Section& section, std::string_view key, std::optional<std::uint32_t>& number) {
  if (section.has(key)) section.whole(key, number.emplace(), {0, most_device_number});
}

void read_node(Section& section, CdiEdits& edits) {
  CdiNode node;
  section.text("path", node.path, path_words, is_clean_absolute_path);
  section.text("hostPath", node.host_path, path_words, is_clean_absolute_path);
  const auto is_character = [](std::string_view text) { return text == "c" || text == "u"; };
  std::string type;
  section.text("type", type, "c, a character device", is_character);
  read_number(section, "major", node.major);
  read_number(section, "minor", node.minor);
  // The node's own mode and owner hold: it is shown, not created.
  std::uint32_t unused = 0;
  section.whole("fileMode", unused, {0, UINT32_MAX});
  section.whole("uid", unused, {0, UINT32_MAX});
  section.whole("gid", unused, {0, UINT32_MAX});
  std::string permissions;
  const auto is_access = [](std::string_view text) { return text.find_first_not_of("rwm") == text.npos; };
  section.text("permissions", permissions, "letters of r, w and m", is_access);
  if (!section.has("path")) return section.refuse("a device node needs a path");
  if (!node.path.starts_with("/dev/")) section.refuse("path", "a device node must be below /dev");
  if (node.host_path.empty()) node.host_path = node.path;
  edits.nodes.push_back(std::move(node));
}

void read_mount(Section& section, CdiEdits& edits) {
  CdiMount mount;
  section.text("hostPath", mount.host_path, path_words, is_clean_absolute_path);
  section.text("containerPath", mount.container_path, path_words, is_clean_absolute_path);
  std::vector<std::string> options;
  section.texts("options", options);
  std::string type;
  const auto is_bind = [](std::string_view text) { return text.empty() || text == "bind" || text == "none"; };
  section.text("type", type, "bind", is_bind);
  if (!section.has("hostPath") || !section.has("containerPath")) {
    return section.refuse("a mount needs a hostPath and a containerPath");
  }
  edits.mounts.push_back(std::move(mount));
}

void read_hook(Section& section, CdiEdits& edits) {
  std::string name, path;
  std::vector<std::string> arguments, env;
  section.text("hookName", name);
  section.text("path", path);
  section.texts("args", arguments);
  section.texts("env", env);
  std::uint32_t timeout = 0;
  section.whole("timeout", timeout, {0, UINT32_MAX});
  std::string words = name + " " + path;
  // The first argument is the program's name again.
  for (std::size_t i = 1; i < arguments.size() && words.size() < most_name; ++i) words += " " + arguments[i];
  edits.hooks.push_back(std::move(words));
}

CdiEdits read_edits(Section& section) {
  CdiEdits edits;
  std::vector<std::string> env;
  section.texts("env", env);
  for (const std::string& entry : env) {
    if (!is_variable(entry)) section.refuse("env", config::shown(entry) + " is not NAME=VALUE");
    const auto equals = entry.find('=');
    if (equals != entry.npos) edits.env.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
  }
  section.list("deviceNodes", [&](Section& node) { read_node(node, edits); });
  section.list("mounts", [&](Section& mount) { read_mount(mount, edits); });
  section.list("hooks", [&](Section& hook) { read_hook(hook, edits); });
  const bool has_cache = section.part("intelRdt").has_value();
  const bool has_groups = section.part("additionalGids").has_value();
  edits.sets_other_things = has_cache || has_groups;
  return edits;
}

void read_device(Section& section, CdiSpec& spec) {
  CdiDevice device;
  section.text("name", device.name, "letters, digits, '-', '_', '.' and ':'", is_device_name);
  section.part("annotations");
  section.section("containerEdits", [&](Section& edits) { device.edits = read_edits(edits); });
  if (!section.has("name")) return section.refuse("a device needs a name");
  spec.devices.push_back(std::move(device));
}

Result<YamlNode> read_tree(std::string_view text, const std::string& file, CdiForm form) {
  if (form == CdiForm::yaml) return config::parse_yaml(text, file);
  if (text.size() > config::max_document.count) {
    return fail(ErrorCode::invalid_argument, file + ": larger than " + to_string(config::max_document));
  }
  auto value = parse_strict_json(text, most_depth);
  if (!value) return fail(ErrorCode::invalid_argument, file + ": " + value.error().message);
  return to_tree(*value);
}

}  // namespace

std::string_view CdiSpec::device_class() const { return std::string_view(kind).substr(kind.find('/') + 1); }

Result<CdiSpec> parse_cdi(std::string_view text, const std::string& file, CdiForm form) {
  CLOCHE_TRY(const YamlNode root, read_tree(text, file, form));
  config::ConfigErrors errors(file);
  Section top(errors, root, "", 1);
  CdiSpec spec;
  top.text("cdiVersion", spec.version, "a version from 0.3.0 to 0.8.0", is_known_version);
  top.text("kind", spec.kind, "vendor/class", is_kind);
  top.part("annotations");
  top.section("containerEdits", [&](Section& edits) { spec.edits = read_edits(edits); });
  top.list("devices", [&](Section& device) { read_device(device, spec); });
  top.finish();
  CLOCHE_CHECK(errors.status());
  if (spec.version.empty() || spec.kind.empty()) {
    return fail(ErrorCode::invalid_argument, file + ": a CDI specification needs `cdiVersion` and `kind`");
  }
  std::set<std::string_view> names;
  for (const CdiDevice& device : spec.devices) {
    if (!names.insert(device.name).second) {
      return fail(ErrorCode::invalid_argument, file + ": more than one device is called '" + device.name + "'");
    }
  }
  return spec;
}

}  // namespace cloche::gpu

#include "config/sections/secrets_section.hpp"

#include "config/host_file.hpp"
#include "config/sections/profile_section.hpp"
#include "config/sections/tenants_section.hpp"
#include "config/text.hpp"
#include "sandbox/spec.hpp"

namespace cloche::config {

namespace {

constexpr Bytes largest_secret = kib(64);

}  // namespace

Result<std::string> read_secret_file(const std::string& path) {
  if (!is_clean_absolute_path(path)) {
    return fail(ErrorCode::invalid_argument,
                "must be an absolute path without '..', '.' or empty parts, not " + shown(path));
  }
  CLOCHE_TRY(HostFile file, read_host_file(path, largest_secret));
  if (file.others_can_read) {
    return fail(ErrorCode::invalid_argument,
                path + " contains a secret and is readable by every user of this host: run chmod o-r on it");
  }
  // A line break at the end of the file, from an editor or echo, is not part of the secret.
  if (file.content.ends_with('\n')) file.content.pop_back();
  if (file.content.ends_with('\r')) file.content.pop_back();
  if (file.content.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument,
                path + " contains a NUL byte, which an environment variable cannot contain");
  }
  return std::move(file.content);
}

namespace {

// Where a secret is, if it is not here.
struct Elsewhere {
  explicit Elsewhere(Section& section) {
    section.text("env", variable);
    section.text("file", path);
  }
  std::string variable;
  std::string path;
};

// From where exactly one of both says.
std::string read_elsewhere(Section& section, const Elsewhere& where,
                           const std::map<std::string, std::string>& environment) {
  const auto& [variable, path] = where;
  if (section.has("env")) {
    const auto found = environment.find(variable);
    if (found != environment.end()) return found->second;
    section.refuse("env", "no such environment variable: " + shown(variable));
    return {};
  }
  auto content = read_secret_file(path);
  if (content) return std::move(*content);
  section.refuse("file", content.error().message);
  return {};
}

void read_place(Section& section, const std::map<std::string, std::string>& environment, std::string& value) {
  const Elsewhere where(section);
  section.text("value", value);
  if (int{section.has("env")} + int{section.has("file")} + int{section.has("value")} != 1) {
    return section.refuse("set exactly one of `env`, `file` and `value`");
  }
  if (!section.has("value")) value = read_elsewhere(section, where, environment);
}

}  // namespace

std::string read_key(Section& section, const std::map<std::string, std::string>& environment) {
  const Elsewhere where(section);
  if (section.has("env") != section.has("file")) return read_elsewhere(section, where, environment);
  section.refuse("set exactly one of `env` and `file`");
  return {};
}

Secrets read_secrets(Section& section, const std::map<std::string, std::string>& environment) {
  Secrets secrets;
  for (const std::string& name : section.keys()) {
    if (!is_variable_name(name)) {
      section.refuse(name, "a secret name must be letters, digits and '_', and must not start with a digit");
    }
    std::string& value = secrets.values[name];
    if (section.kind(name) == YamlNode::Kind::map) {
      section.section(name, [&](Section& place) {
        read_place(place, environment, value);
        if (place.has("value")) secrets.given_by_value = true;
        if (auto tenants = read_tenants(place)) secrets.tenants.emplace(name, std::move(*tenants));
      });
    } else {
      section.text(name, value);
      secrets.given_by_value = true;
    }
  }
  return secrets;
}

}  // namespace cloche::config

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

void read_place(Section& section, const std::map<std::string, std::string>& environment, std::string& value) {
  std::string variable, path;
  section.text("env", variable);
  section.text("file", path);
  section.text("value", value);
  if (int{section.has("env")} + int{section.has("file")} + int{section.has("value")} != 1) {
    return section.refuse("set exactly one of `env`, `file` and `value`");
  }
  if (section.has("value")) return;
  if (section.has("env")) {
    const auto found = environment.find(variable);
    if (found == environment.end()) return section.refuse("env", "no such environment variable: " + shown(variable));
    value = found->second;
    return;
  }
  auto content = read_secret_file(path);
  if (!content) return section.refuse("file", content.error().message);
  value = std::move(*content);
}

}  // namespace

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

#include "config/sections/dialects_section.hpp"

#include <algorithm>

#include "config/sections/profile_section.hpp"

namespace cloche::config {

namespace {

using namespace std::chrono_literals;

void read_flag(Section& section, std::string_view key, bool& value) {
  section.choice(key, value, {{"true", true}, {"false", false}});
}

bool is_domain_label(std::string_view label) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, fits);
}

bool is_port_number(std::string_view text) {
  const bool digits = !text.empty() && text.size() <= 5 && text.front() != '0' &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return digits && std::stoul(std::string(text)) <= 65535;
}

// `sbx.example.com`, `sbx.example.com:8443`, or nothing.
bool is_domain(std::string_view text) {
  if (text.empty()) return true;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    if (!is_port_number(text.substr(colon + 1))) return false;
    text = text.substr(0, colon);
  }
  if (text.size() > 200) return false;
  for (;;) {
    const auto dot = text.find('.');
    if (!is_domain_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_template_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, fits);
}

void read_e2b(Section& section, E2bSettings& settings) {
  read_flag(section, "enabled", settings.enabled);
  section.text("domain", settings.domain, "a domain in lower case such as sbx.example.com, with a port if needed",
               is_domain);
  read_flag(section, "insecure", settings.insecure);
  read_flag(section, "public_traffic", settings.public_traffic);
  std::chrono::milliseconds longest = settings.max_timeout;
  section.duration("max_timeout", longest, {1s, 24h * 365});
  settings.max_timeout = std::chrono::floor<std::chrono::seconds>(longest);
  section.texts("templates", settings.templates);
  for (const auto& [name, profile] : settings.templates) {
    if (!is_template_name(name) || !is_profile_name(profile)) {
      section.refuse("templates",
                     "must be a map from names of templates (letters, digits, '-', '_' and '.') to profiles");
    }
  }
}

}  // namespace

void read_dialects(Section& section, DialectSettings& settings) {
  section.section("e2b", [&](Section& e2b) { read_e2b(e2b, settings.e2b); });
}

}  // namespace cloche::config

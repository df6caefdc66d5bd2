#include "cli/learn/destinations.hpp"

#include <charconv>
#include <functional>

#include "core/file_error.hpp"
#include "egress/policy/policy.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string_view unquoted(std::string_view text) {
  text = trimmed(text);
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

void for_each_part(std::string_view text, std::string_view separators,
                   const std::function<void(std::string_view)>& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (const std::string_view part = trimmed(text.substr(0, end)); !part.empty()) take(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// `name = value`, or `name='value'`.
bool has_key(std::string_view line, std::string_view& key, std::string_view& value) {
  const std::size_t equals = line.find('=');
  if (equals == line.npos) return false;
  key = trimmed(line.substr(0, equals));
  value = unquoted(line.substr(equals + 1));
  return true;
}

}  // namespace

std::string LearnedHost::rule() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<LearnedHost> host_of_url(std::string_view url) {
  url = unquoted(url);
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == url.npos) return std::nullopt;
  std::string_view scheme = url.substr(0, scheme_end);
  if (const std::size_t plus = scheme.rfind('+'); plus != scheme.npos) scheme = scheme.substr(plus + 1);
  if (scheme != "https" && scheme != "http") return std::nullopt;
  std::string_view authority = url.substr(scheme_end + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) authority = authority.substr(at + 1);
  unsigned port = scheme == "https" ? 443 : 80;
  const std::size_t colon = authority.rfind(':');
  const std::size_t bracket = authority.rfind(']');
  if (colon != authority.npos && (bracket == authority.npos || colon > bracket)) {
    const std::string_view digits = authority.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size() || port == 0 || port > 65535) return std::nullopt;
    authority = authority.substr(0, colon);
  }
  const auto destination = egress::parse_destination(authority, static_cast<std::uint16_t>(port));
  if (!destination) return std::nullopt;
  return LearnedHost{destination->name.empty() ? destination->address->text() : destination->name, port};
}

void Learned::add_url(std::string_view url) {
  if (const auto host = host_of_url(url)) {
    hosts.insert(*host);
    return;
  }
  // It may contain a password: its kind is enough.
  const std::string_view kind = url.substr(0, std::min(url.find(':'), url.size()));
  notes.push_back("a source of kind `" + cloche::shown(kind.substr(0, 20)) + "` has no host to allow");
}

Learned read_pip_config(std::string_view text) {
  Learned learned;
  for_each_part(text, "\n", [&](std::string_view line) {
    std::string_view key, value;
    if (!has_key(line, key, value)) return;
    if (!key.ends_with(".index-url") && !key.ends_with(".extra-index-url")) return;
    for_each_part(value, " \\", [&](std::string_view url) {
      if (url != "n") learned.add_url(url);
    });
  });
  return learned;
}

Learned read_npm_config(std::string_view text) {
  Learned learned;
  const auto config = json::parse_object(text);
  if (!config) {
    learned.notes.emplace_back("its configuration is not JSON");
    return learned;
  }
  for (const auto& [key, value] : *config) {
    const std::string_view name = key;
    if ((name == "registry" || name.ends_with(":registry")) && value.is_string()) {
      learned.add_url(std::string_view(value.get_string()));
    }
  }
  return learned;
}

Learned read_apt_targets(std::string_view text) {
  Learned learned;
  for_each_part(text, "\n", [&](std::string_view uri) { learned.add_url(uri); });
  return learned;
}

Learned read_go_env(std::string_view text) {
  Learned learned;
  const std::size_t line_end = std::min(text.find('\n'), text.size());
  for_each_part(text.substr(0, line_end), ",|", [&](std::string_view proxy) {
    if (proxy == "off") return;
    if (proxy == "direct") {
      learned.notes.emplace_back("modules that no proxy has come from their own hosts, which are not listed");
    } else {
      learned.add_url(proxy);
    }
  });
  // NAME, NAME+KEY or either and a URL.
  std::vector<std::string_view> words;
  for_each_part(text.substr(std::min(line_end + 1, text.size())), blanks,
                [&](std::string_view word) { words.push_back(word); });
  if (words.empty() || words[0] == "off") return learned;
  if (words.size() > 1) {
    learned.add_url(words[1]);
  } else {
    learned.add_url("https://" + std::string(words[0].substr(0, words[0].find('+'))));
  }
  return learned;
}

Learned read_cargo_config(std::string_view text) {
  Learned learned;
  bool in_registries = false;
  for_each_part(text, "\n", [&](std::string_view line) {
    if (line.starts_with('[')) {
      in_registries = line.starts_with("[registries.") || line.starts_with("[source.");
      return;
    }
    std::string_view key, value;
    if (!in_registries || line.starts_with('#') || !has_key(line, key, value)) return;
    if (key == "index" || key == "registry") learned.add_url(value);
  });
  return learned;
}

}  // namespace cloche::cli

#include "images/mirror.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "images/tool.hpp"

namespace cloche::images {

namespace {

bool is_plain(std::string_view word) {
  return std::ranges::all_of(word, [](unsigned char c) { return c > ' ' && c < 127 && c != '[' && c != ']'; });
}

Result<std::string> ask(std::vector<std::string> argv, const CancelToken& token) {
  ToolSpec spec;
  spec.argv = std::move(argv);
  spec.environment = plain_environment();
  spec.errors = ToolSpec::Errors::apart;
  return output_of(spec, token);
}

}  // namespace

std::string sources_from_targets(std::string_view targets) {
  std::string sources;
  std::set<std::string> seen;
  bool has_release = false;
  std::istringstream lines{std::string(targets)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string uri, codename, origin;
    words >> uri >> codename >> origin;
    const bool is_ours = origin == "Debian" &&
                         (codename == "bookworm" || codename == "bookworm-updates" || codename == "bookworm-security");
    if (!is_ours || !is_plain(uri) || !seen.insert(uri + " " + codename).second) continue;
    has_release = has_release || codename == "bookworm";
    sources.append("deb [signed-by=").append(debian_keyring).append("] ");
    sources.append(uri).append(" ").append(codename).append(" main\n");
  }
  return has_release ? sources : std::string();
}

std::vector<std::string> proxies_in(std::string_view dump) {
  std::vector<std::string> found;
  std::istringstream lines{std::string(dump)};
  for (std::string line; std::getline(lines, line);) {
    const bool is_acquire = line.starts_with("Acquire::http::") || line.starts_with("Acquire::https::");
    const std::string key = line.substr(0, line.find(' '));
    const bool is_proxy = key.find("::Proxy") != key.npos || key.find("::proxy") != key.npos;
    if (is_acquire && is_proxy && line.ends_with("\";") && !line.ends_with(" \"\";")) found.push_back(line);
  }
  return found;
}

Result<Mirror> find_mirror(const CancelToken& token) {
  Mirror mirror;
  if (!find_tool("apt-get") || !find_tool("apt-config")) return mirror;
  CLOCHE_TRY(
      const std::string targets,
      ask({"apt-get", "indextargets", "--format", targets_format, "Created-By: Packages", "Component: main"}, token));
  mirror.sources = sources_from_targets(targets);
  CLOCHE_TRY(const std::string dump, ask({"apt-config", "dump"}, token));
  mirror.aptconfig = proxies_in(dump);
  return mirror;
}

}  // namespace cloche::images

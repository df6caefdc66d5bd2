// Destinations in what package managers print: addresses of registries and mirrors. No I/O.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::cli {

// A host and a port, as a rule of the configuration writes them. Never a user, a password or a path.
struct LearnedHost {
  std::string host;  // a normalized name, or an address
  unsigned port = 0;

  std::string rule() const;
  auto operator<=>(const LearnedHost&) const = default;
};

// Of an http or https URL, which may have a prefix such as `sparse+`. None for anything else.
std::optional<LearnedHost> host_of_url(std::string_view url);

// What a client says it uses.
struct Learned {
  std::set<LearnedHost> hosts;
  std::vector<std::string> notes;  // what the reader has to add, for people

  // A note if it has no host.
  void add_url(std::string_view url);
};

// `pip config list`: `index-url` and `extra-index-url`, of any section.
Learned read_pip_config(std::string_view text);
// `npm config list --json`: `registry`, and those of scopes.
Learned read_npm_config(std::string_view text);
// `apt-get indextargets --format '$(REPO_URI)'`: one URI on each line.
Learned read_apt_targets(std::string_view text);
// `go env GOPROXY GOSUMDB`: a line each.
Learned read_go_env(std::string_view text);
// A `config.toml` of cargo: `registry` of sources and `index` of registries.
Learned read_cargo_config(std::string_view text);

}  // namespace cloche::cli

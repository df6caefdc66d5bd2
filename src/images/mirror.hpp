// Where this host gets Debian 12 from: the mirrors and proxies of its own apt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cancel_token.hpp"
#include "core/result.hpp"

namespace cloche::images {

inline constexpr const char* debian_keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

struct Mirror {
  std::string sources;                 // lines of a sources.list; empty: mmdebstrap's own default
  std::vector<std::string> aptconfig;  // lines of apt's configuration that say how to reach it
};

// The lines for Debian 12's own packages, and nothing of a third party, from what `apt-get indextargets` prints with
// `targets_format`. Empty when the host has another release.
inline constexpr const char* targets_format = "$(REPO_URI) $(CODENAME) $(ORIGIN)";
std::string sources_from_targets(std::string_view targets);

// The lines about proxies in what `apt-config dump` prints.
std::vector<std::string> proxies_in(std::string_view dump);

// A host without apt has mmdebstrap's default.
Result<Mirror> find_mirror(const CancelToken& token);

}  // namespace cloche::images

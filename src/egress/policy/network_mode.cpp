#include "egress/policy/network_mode.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/file_error.hpp"

namespace cloche::egress {

namespace {

constexpr std::size_t most_rules = 256;
constexpr std::size_t longest_rule = 300;

constexpr std::array<std::pair<std::string_view, Network>, 3> words{
    {{"none", Network::none}, {"allow-list", Network::allow_list}, {"internet", Network::internet}}};

}  // namespace

std::string_view to_string(Network network) {
  return std::ranges::find(words, network, &std::pair<std::string_view, Network>::second)->first;
}

Result<Network> parse_network(std::string_view word) {
  const auto found = std::ranges::find(words, word, &std::pair<std::string_view, Network>::first);
  if (found != words.end()) return found->second;
  return fail(ErrorCode::invalid_argument,
              "invalid network `" + shown(word) + "`: expected none, allow-list or internet");
}

Status check_shape(const NetworkPolicy& network) {
  const std::size_t count = network.rules.size() + network.allow.size() + network.deny.size();
  if (network.mode == Network::none && count > 0) {
    return fail(ErrorCode::invalid_argument, "network `none` has no rules: choose `allow-list` or `internet`");
  }
  if (count > most_rules) {
    return fail(ErrorCode::invalid_argument,
                "a network has at most " + std::to_string(most_rules) + " rules, not " + std::to_string(count));
  }
  for (const auto* texts : {&network.rules, &network.allow, &network.deny}) {
    if (std::ranges::any_of(*texts, [](const std::string& text) { return text.size() > longest_rule; })) {
      return fail(ErrorCode::invalid_argument, "a rule has at most " + std::to_string(longest_rule) + " characters");
    }
  }
  return {};
}

}  // namespace cloche::egress

#include "egress/secrets/intercepted_head.hpp"

#include <algorithm>
#include <array>

#include "http/server/answer/answer_head.hpp"

namespace cloche::egress {

namespace {

// A range of a response can be the first half of a secret; an extension of WebSocket compresses.
constexpr std::array<std::string_view, 4> removed_from_requests{"Accept-Encoding", "Range", "If-Range",
                                                                "Sec-WebSocket-Extensions"};
// Where else the same content is to be had: by protocols that the broker does not carry.
constexpr std::array<std::string_view, 2> removed_from_responses{"Alt-Svc", "Sec-WebSocket-Extensions"};

template <std::size_t N>
bool is_listed(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view each) { return same_word(each, name); });
}

bool is_rule_for_host(const Rule& rule, const Destination& destination) {
  if (!rule.secret) return false;
  return destination.name.empty() ? matches_address(rule, *destination.address) : matches_name(rule, destination.name);
}

}  // namespace

const Rule* find_secret_rule(const Policy& policy, const Destination& destination, std::string_view method,
                             std::string_view path) {
  const auto found = std::ranges::find_if(policy.allow, [&](const Rule& rule) {
    return is_rule_for_host(rule, destination) && matches_port(rule, Effect::allow, destination.port) &&
           matches_request(rule, Effect::allow, method, path);
  });
  return found == policy.allow.end() ? nullptr : &*found;
}

std::vector<std::string> secrets_of_host(const Policy& policy, const Destination& destination) {
  std::vector<std::string> names;
  for (const Rule& rule : policy.allow) {
    if (is_rule_for_host(rule, destination)) names.push_back(rule.secret->secret);
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

http::Fields searchable_request_fields(const http::Fields& fields) {
  http::Fields kept = http::without_hop_by_hop(fields);
  std::erase_if(kept, [](const auto& field) { return is_listed(removed_from_requests, field.first); });
  kept.emplace_back("Accept-Encoding", "identity");
  return kept;
}

Status check_searchable(const http::Response& head) {
  for (const auto& [name, value] : head.fields) {
    const bool is_compressed = same_word(name, "Content-Encoding") && !value.empty() && !same_word(value, "identity");
    const bool is_coded = same_word(name, "Transfer-Encoding") && !same_word(value, "chunked");
    if (!is_compressed && !is_coded) continue;
    return fail(ErrorCode::protocol,
                "the server's response is compressed, although that was not requested, so secrets in it could not be "
                "found (" +
                    name + ")");
  }
  return {};
}

http::Fields redacted_fields(const http::Fields& fields, Redactor& redactor) {
  http::Fields redacted;
  for (const auto& [name, value] : fields) {
    if (!is_listed(removed_from_responses, name)) redacted.emplace_back(redactor.whole(name), redactor.whole(value));
  }
  return redacted;
}

}  // namespace cloche::egress

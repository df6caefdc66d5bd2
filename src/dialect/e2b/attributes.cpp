#include "dialect/e2b/attributes.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace cloche::dialect::e2b {

namespace {

constexpr const char* template_key = "e2b.template";
constexpr const char* secure_key = "e2b.secure";
constexpr const char* resume_key = "e2b.auto_resume";
constexpr const char* traffic_key = "e2b.public_traffic";
constexpr const char* api_key_key = "e2b.api_key";
constexpr const char* timeout_key = "e2b.timeout";
constexpr const char* internet_key = "e2b.internet";
constexpr const char* network_key = "e2b.network";
constexpr const char* mask_key = "e2b.mask_host";
constexpr const char* https_key = "e2b.https_ports";
constexpr std::string_view port_mark = "${PORT}";

std::string text_of_ports(const std::vector<std::uint16_t>& ports) {
  std::string text;
  for (const std::uint16_t port : ports) text += (text.empty() ? "" : ",") + std::to_string(port);
  return text;
}

std::vector<std::uint16_t> ports_of_text(std::string_view text) {
  std::vector<std::uint16_t> ports;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    std::uint16_t port = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + end, port);
    if (error == std::errc() && last == text.data() + end && port != 0) ports.push_back(port);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ports;
}

std::string text_of_flag(bool flag) { return flag ? "1" : "0"; }

}  // namespace

std::map<std::string, std::string> to_map(const Attributes& attributes) {
  std::map<std::string, std::string> map;
  map[template_key] = attributes.template_id;
  map[secure_key] = text_of_flag(attributes.secure);
  map[resume_key] = text_of_flag(attributes.auto_resume);
  map[traffic_key] = text_of_flag(attributes.public_traffic);
  map[api_key_key] = attributes.api_key;
  map[timeout_key] = std::to_string(attributes.timeout.count());
  if (attributes.internet) map[internet_key] = text_of_flag(*attributes.internet);
  if (!attributes.network.empty()) map[network_key] = attributes.network;
  if (!attributes.mask_host.empty()) map[mask_key] = attributes.mask_host;
  if (!attributes.https_ports.empty()) map[https_key] = text_of_ports(attributes.https_ports);
  return map;
}

std::optional<Attributes> attributes_of(const std::map<std::string, std::string>& map) {
  const auto found = map.find(template_key);
  if (found == map.end()) return std::nullopt;
  const auto text = [&](const char* key) {
    const auto at = map.find(key);
    return at == map.end() ? std::string() : at->second;
  };
  Attributes attributes;
  attributes.template_id = found->second;
  // What is missing is what protects more.
  attributes.secure = text(secure_key) != "0";
  attributes.auto_resume = text(resume_key) == "1";
  attributes.public_traffic = text(traffic_key) == "1";
  attributes.api_key = text(api_key_key);
  const std::string timeout = text(timeout_key);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(timeout.data(), timeout.data() + timeout.size(), seconds);
  if (error == std::errc() && seconds > 0) attributes.timeout = std::chrono::seconds(seconds);
  if (map.contains(internet_key)) attributes.internet = text(internet_key) == "1";
  attributes.network = text(network_key);
  attributes.mask_host = text(mask_key);
  attributes.https_ports = ports_of_text(text(https_key));
  return attributes;
}

std::string masked_host(std::string mask, std::uint16_t port) {
  for (auto at = mask.find(port_mark); at != std::string::npos; at = mask.find(port_mark, at)) {
    mask.replace(at, port_mark.size(), std::to_string(port));
  }
  return mask;
}

}  // namespace cloche::dialect::e2b

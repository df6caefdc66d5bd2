// Attributes: what a session has to remember because it is an E2B sandbox. Kept in SessionOptions::attributes. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cloche::dialect::e2b {

struct Attributes {
  std::string template_id;  // as the request named it, without a team and a tag
  bool secure = true;       // it has an access token
  bool auto_resume = false;
  bool public_traffic = true;              // its ports need no token
  std::string api_key;                     // the id of the key that it belongs to; empty: of none that can be revoked
  std::chrono::seconds timeout{300};       // the last one that was asked for
  std::optional<bool> internet;            // as the request said
  std::string network;                     // as the request said: a JSON object; empty: nothing
  std::string mask_host;                   // what its servers get as Host, with ${PORT}; empty: localhost
  std::vector<std::uint16_t> https_ports;  // its servers there speak TLS

  bool operator==(const Attributes&) const = default;
};

std::map<std::string, std::string> to_map(const Attributes& attributes);
// The Host that a server on this port gets.
std::string masked_host(std::string mask, std::uint16_t port);
// nullopt: the session is not a sandbox of E2B's.
std::optional<Attributes> attributes_of(const std::map<std::string, std::string>& map);

}  // namespace cloche::dialect::e2b

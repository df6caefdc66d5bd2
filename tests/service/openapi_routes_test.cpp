// docs/openapi.yaml names every route that the service has, and no other; and the service shows that very file.
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <boost/asio/io_context.hpp>
#include <fstream>
#include <set>

#include "api/operations/contract_routes.hpp"
#include "server/service.hpp"
#include "support/target.hpp"

namespace cloche {

namespace {

using Routes = std::set<std::string>;

const YAML::Node& contract() {
  static const YAML::Node node = YAML::LoadFile(CLOCHE_CONTRACT);
  return node;
}

// A node, or the one that its $ref leads to.
YAML::Node resolved(const YAML::Node& node) {
  if (!node["$ref"]) return node;
  const auto reference = node["$ref"].as<std::string>();
  YAML::Node found = YAML::Clone(contract());
  for (std::size_t at = 2; at < reference.size();) {
    const std::size_t slash = std::min(reference.find('/', at), reference.size());
    found = found[reference.substr(at, slash - at)];
    at = slash + 1;
  }
  return found;
}

// OpenAPI has no word for "all that follows"; the contract marks such parameters.
std::string pattern_of(std::string path, const YAML::Node& item) {
  for (const auto& each : item["parameters"]) {
    const YAML::Node parameter = resolved(each);
    if (!parameter["x-rest"]) continue;
    const auto name = parameter["name"].as<std::string>();
    const std::string plain = "{" + name + "}";
    const std::size_t at = path.find(plain);
    EXPECT_NE(at, std::string::npos) << path;
    if (at != std::string::npos) path.replace(at, plain.size(), "{" + name + "...}");
  }
  return path;
}

std::vector<std::string> prefixes_of(const YAML::Node& item) {
  std::vector<std::string> prefixes;
  const YAML::Node servers = item["servers"] ? item["servers"] : contract()["servers"];
  for (const auto& server : servers) {
    auto url = server["url"].as<std::string>();
    if (url.ends_with('/')) url.pop_back();
    prefixes.push_back(url);
  }
  return prefixes;
}

Routes routes_of_contract() {
  Routes routes;
  for (const auto& entry : contract()["paths"]) {
    const YAML::Node item = entry.second;
    const std::string pattern = pattern_of(entry.first.as<std::string>(), item);
    for (const char* method : {"get", "put", "post", "delete", "options", "head", "patch", "trace"}) {
      if (!item[method]) continue;
      std::string name(method);
      std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      for (const std::string& prefix : prefixes_of(item)) routes.insert(name + " " + prefix + pattern);
    }
  }
  return routes;
}

Routes without(const Routes& all, const Routes& some) {
  Routes left;
  std::ranges::set_difference(all, some, std::inserter(left, left.end()));
  return left;
}

}  // namespace

TEST(Contract, Routes_AreThoseOfTheService) {
  const testing_support::Scratch scratch;
  asio::io_context io{1};
  server::ServiceOptions options;
  options.config.manager.engine.state_dir = (scratch.path() / "state").string();
  options.config.manager.engine.run_dir = (scratch.path() / "run").string();
  http::ListenUnix socket;
  socket.path = (scratch.path() / "socket").string();
  options.listen.emplace_back(socket);
  auto service = server::Service::create(io.get_executor(), std::move(options));
  ASSERT_TRUE(service) << service.error().message;
  const Routes served((*service)->route_names().begin(), (*service)->route_names().end());
  const Routes documented = routes_of_contract();
  EXPECT_THAT(without(served, documented), testing::IsEmpty()) << "is served, and is not in docs/openapi.yaml";
  EXPECT_THAT(without(documented, served), testing::IsEmpty()) << "is in docs/openapi.yaml, and is not served";
}

TEST(Contract, EmbeddedText_IsTheFile) {
  std::ifstream file(CLOCHE_CONTRACT, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(text.empty());
  EXPECT_TRUE(api::contract_text() == text);
}

}  // namespace cloche

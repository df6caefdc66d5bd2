// What package managers say, and the rule set that follows from it. The clients are scripts of the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/learn/destinations.hpp"
#include "cli/learn/package_clients.hpp"
#include "config/config.hpp"

namespace cloche::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> rules_of(const Learned& learned) {
  std::vector<std::string> rules;
  for (const LearnedHost& host : learned.hosts) rules.push_back(host.rule());
  return rules;
}

TEST(LearnedHosts, Url_HasAHostAndAPort) {
  for (const auto& [url, rule] : std::vector<std::pair<std::string, std::string>>{
           {"https://mirror.example/simple", "mirror.example:443"},
           {"http://Mirror.Example.:8080", "mirror.example:8080"},
           {"'https://mirror.example'", "mirror.example:443"},
           {"https://user:pass%40word@mirror.example:8443/x?y#z", "mirror.example:8443"},
           {"https://user:a@b@mirror.example/", "mirror.example:443"},
           {"sparse+https://index.example/", "index.example:443"},
           {"https://[2001:db8::1]:444/", "[2001:db8::1]:444"},
           {"http://10.0.0.7", "10.0.0.7:80"}}) {
    const auto host = host_of_url(url);
    ASSERT_TRUE(host) << url;
    EXPECT_EQ(host->rule(), rule) << url;
  }
  for (const char* url : {"", "mirror.example", "ftp://a.example", "file:///srv", "https://", "https://a b/",
                          "https://a.example:0/", "https://a.example:99999/", "git+ssh://a.example/"}) {
    EXPECT_FALSE(host_of_url(url)) << url;
  }
}

TEST(LearnedHosts, PipConfig_HasTheIndexes) {
  const Learned learned = read_pip_config(
      "global.extra-index-url='https://b.example/simple https://c.example:8443/simple'\n"
      "global.index-url='https://user:secret@a.example/simple'\nglobal.timeout='60'\n");
  EXPECT_THAT(rules_of(learned), ElementsAre("a.example:443", "b.example:443", "c.example:8443"));
  EXPECT_THAT(read_pip_config("").hosts, IsEmpty());
}

TEST(LearnedHosts, NpmConfig_HasScopesToo) {
  const Learned learned = read_npm_config(
      R"({"registry": "https://n.example/", "@team:registry": "http://t.example:4873", "cache": "/x"})");
  EXPECT_THAT(rules_of(learned), ElementsAre("n.example:443", "t.example:4873"));
  EXPECT_THAT(read_npm_config("not JSON").notes, ElementsAre(HasSubstr("not JSON")));
}

TEST(LearnedHosts, AptTargets_AreEachOnce) {
  const Learned learned = read_apt_targets("http://d.example/debian/\nhttp://d.example/debian/\ncdrom:[x]/\n");
  EXPECT_THAT(rules_of(learned), ElementsAre("d.example:80"));
  EXPECT_THAT(learned.notes, ElementsAre(HasSubstr("cdrom")));
}

TEST(LearnedHosts, GoEnv_HasProxiesAndTheChecksums) {
  EXPECT_THAT(rules_of(read_go_env("https://g.example|https://h.example/x,direct\nsum.example\n")),
              ElementsAre("g.example:443", "h.example:443", "sum.example:443"));
  EXPECT_THAT(rules_of(read_go_env("off\nsum.example+123+abc https://s.example/sumdb\n")),
              ElementsAre("s.example:443"));
  EXPECT_THAT(rules_of(read_go_env("off\noff\n")), IsEmpty());
  EXPECT_THAT(read_go_env("direct\noff\n").notes, ElementsAre(HasSubstr("their own hosts")));
}

TEST(LearnedHosts, CargoConfig_HasRegistriesAndSources) {
  const Learned learned = read_cargo_config(
      "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://m.example/\"\n"
      "[registries.team]\nindex = \"https://t.example/git\"\n# index = \"https://no.example\"\n"
      "[net]\nindex = \"https://no.example\"\n");
  EXPECT_THAT(rules_of(learned), ElementsAre("m.example:443", "t.example:443"));
}

// A directory with programs of the test, which is all that is searched.
class FakeClients : public ::testing::Test {
 protected:
  FakeClients() {
    std::string made = ::testing::TempDir() + "cloche-learn.XXXXXX";
    directory_ = ::mkdtemp(made.data());
    host_.directories = {directory_};
    host_.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", directory_}};
  }
  ~FakeClients() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(directory_ + "/" + name).parent_path());
    std::ofstream(directory_ + "/" + name) << content;
  }
  // A program that prints this if its arguments are these, and fails otherwise.
  void install(const std::string& name, const std::string& arguments, const std::string& prints) const {
    write(name, "#!/bin/sh\n[ \"$*\" = '" + arguments + "' ] || exit 3\ncat <<'END'\n" + prints + "\nEND\n");
    ::chmod((directory_ + "/" + name).c_str(), 0755);
  }
  std::vector<std::string> learned(const std::string& client) const {
    const auto told = ask_client(client, host_);
    return told ? rules_of(*told) : std::vector<std::string>{told.error().message};
  }

  std::string directory_;
  ClientHost host_;
};

TEST_F(FakeClients, ClientThatIsNotInstalled_IsNotFound) {
  for (const std::string& client : known_clients()) {
    const auto told = ask_client(client, host_);
    ASSERT_FALSE(told) << client;
    EXPECT_EQ(told.error().code, ErrorCode::not_found) << client;
    EXPECT_THAT(told.error().message, HasSubstr("is not installed"));
  }
}

TEST_F(FakeClients, Clients_AreAskedForTheirOwnSettings) {
  install("pip3", "config list", "global.index-url='https://p.example/simple'");
  install("npm", "config list --json", R"({"registry": "https://n.example/"})");
  install("apt-get", "indextargets --format $(REPO_URI)", "http://d.example/debian/");
  install("go", "env GOPROXY GOSUMDB", "https://g.example\noff");
  install("cargo", "--version", "cargo 1");
  write(".cargo/config.toml", "[registries.team]\nindex = \"sparse+https://c.example/\"\n");
  EXPECT_THAT(learned("pip"), ElementsAre("p.example:443"));
  EXPECT_THAT(learned("npm"), ElementsAre("n.example:443"));
  EXPECT_THAT(learned("apt"), ElementsAre("d.example:80"));
  EXPECT_THAT(learned("go"), ElementsAre("g.example:443"));
  EXPECT_THAT(learned("cargo"), ElementsAre("c.example:443"));
}

TEST_F(FakeClients, Variables_Count) {
  install("pip", "config list", "");
  install("cargo", "--version", "cargo 1");
  host_.environment["PIP_INDEX_URL"] = "https://v.example/simple";
  host_.environment["PIP_EXTRA_INDEX_URL"] = "https://w.example/a https://x.example/b";
  host_.environment["CARGO_REGISTRIES_TEAM_INDEX"] = "sparse+https://y.example/";
  EXPECT_THAT(learned("pip"), ElementsAre("v.example:443", "w.example:443", "x.example:443"));
  EXPECT_THAT(learned("cargo"), ElementsAre("y.example:443"));
}

TEST_F(FakeClients, PipWithoutConfiguration_SaysItsOwnIndex) {
  install("pip", "config list", "");
  write("python3",
        "#!/bin/sh\n[ \"$1\" = -c ] || exit 3\necho https://own.example/simple/\necho https://files.example\n");
  ::chmod((directory_ + "/python3").c_str(), 0755);
  EXPECT_THAT(learned("pip"), ElementsAre("files.example:443", "own.example:443"));
}

TEST_F(FakeClients, CargoWithoutConfiguration_SaysThatItDoesNotSay) {
  install("cargo", "--version", "cargo 1");
  const auto told = ask_client("cargo", host_);
  ASSERT_TRUE(told);
  EXPECT_THAT(told->notes, ElementsAre(HasSubstr("does not print")));
}

TEST_F(FakeClients, ClientThatFails_IsUnavailable) {
  install("npm", "something else", "");
  EXPECT_EQ(ask_client("npm", host_).error().code, ErrorCode::unavailable);
}

TEST(RuleSetText, LearnedHosts_AreAConfiguration) {
  std::map<std::string, Learned> by_client;
  by_client["pip"].hosts = {{"a.example", 443}, {"b.example", 8443}};
  by_client["npm"].hosts = {{"a.example", 443}, {"10.0.0.7", 80}};
  by_client["npm"].notes = {"look here"};
  const auto addresses = [](const std::string& name) -> std::vector<egress::Address> {
    if (name == "a.example") return {*egress::Address::parse("8.8.8.8")};
    return {*egress::Address::parse("10.1.2.3"), *egress::Address::parse("fc00::1")};
  };
  const std::string text = to_yaml("packages", to_rules(by_client, addresses));
  const auto config = config::parse_config(text, "learned.yml", {});
  ASSERT_TRUE(config) << config.error().message << "\n" << text;
  std::vector<std::string> hosts;
  for (const EgressRule& rule : config->manager.egress.rules.at("packages").allow) hosts.push_back(rule.host);
  EXPECT_THAT(hosts, ElementsAre("10.0.0.7:80", "a.example:443", "b.example:8443", "10.1.2.3:8443", "[fc00::1]:8443"));
  EXPECT_THAT(text, HasSubstr("# npm: look here"));
  EXPECT_THAT(text, HasSubstr("\"a.example:443\"  # npm, pip"));
  EXPECT_THAT(text, Not(HasSubstr("8.8.8.8")));
}

TEST(RuleSetText, Nothing_IsAnEmptyRuleSet) {
  std::map<std::string, Learned> by_client;
  by_client["go"].notes = {"nothing"};
  const auto nowhere = [](const std::string&) { return std::vector<egress::Address>(); };
  const std::string text = to_yaml("packages", to_rules(by_client, nowhere));
  EXPECT_TRUE(config::parse_config(text, "learned.yml", {})) << text;
}

}  // namespace
}  // namespace cloche::cli

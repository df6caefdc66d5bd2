// `cloche serve`: its first start, its log, and what it refuses.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <csignal>
#include <regex>

#include "cli/cli.hpp"
#include "core/ids.hpp"
#include "http/client.hpp"

namespace cloche {
namespace {

using testing::Not;

class CliServe : public CliRun {
 protected:
  // A service with one small pool, on a unix socket.
  CommandSpec serve(const std::string& more_config, std::vector<std::string> flags = {}) {
    const std::string config = source("cloche.yml", "instance: " + instance_ +
                                                        "\n"
                                                        "profiles: {python: {runtime: crun, pool: {pool_size: 1}}}\n"
                                                        "sessions: {most: 0}\n" +
                                                        more_config);
    std::vector<std::string> arguments{"serve", "--config", config, "--listen", "unix:" + socket()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return cloche(arguments);
  }

  std::string socket() const { return scratch_.path() / "socket"; }

  unsigned status_of(const std::string& path, const std::string& token) {
    asio::io_context io{1};
    http::Client client(io.get_executor(), http::UnixEndpoint{socket()});
    unsigned status = 0;
    asio::co_spawn(
        io,
        [&]() -> Task<> {
          http::Request request;
          request.method = "GET";
          request.target = path;
          if (!token.empty()) request.fields.emplace_back("Authorization", "Bearer " + token);
          const Deadline deadline = Deadline::after(std::chrono::seconds(30));
          auto response = co_await client.send(std::move(request), deadline);
          EXPECT_TRUE(response) << response.error().message;
          if (response) status = response->status;
        },
        [](std::exception_ptr error) { EXPECT_FALSE(error); });
    io.run();
    return status;
  }

  static std::string token_in(const std::string& text) {
    std::smatch match;
    return std::regex_search(text, match, std::regex("cloche_[0-9a-f]{16}_[0-9a-f]{64}")) ? match.str() : "";
  }

 private:
  std::string instance_ = "test-" + random_hex(6);
};

TEST_F(CliServe, FirstStartWithTokens_ShowsOneOnceAndAsksForIt) {
  std::string token;
  {
    Command command(serve("server: {auth: tokens}\n"));
    ASSERT_TRUE(command.wait_for("listening on")) << command.finish(std::chrono::seconds(1)).err;
    EXPECT_EQ(status_of("/stats", ""), 401u);
    EXPECT_EQ(status_of("/healthz", ""), 200u);
    command.signal(SIGTERM);
    const CommandEnd end = command.finish();
    EXPECT_EQ(end.exit_code, 0) << end.err;
    token = token_in(end.out);
    ASSERT_NE(token, "") << end.out;
    EXPECT_THAT(end.err, Not(HasSubstr(token.substr(24))));
  }
  Command command(serve("server: {auth: tokens}\n"));
  ASSERT_TRUE(command.wait_for("listening on")) << command.finish(std::chrono::seconds(1)).err;
  EXPECT_EQ(status_of("/stats", token), 200u);
  command.signal(SIGTERM);
  const CommandEnd end = command.finish();
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(token_in(end.out), "");
  EXPECT_EQ(token_in(end.err), "");
}

TEST_F(CliServe, StartInJson_IsAnObjectALine) {
  Command command(serve("server: {auth: tokens}\n", {"--json"}));
  ASSERT_TRUE(command.wait_for("listening")) << command.finish(std::chrono::seconds(1)).err;
  command.signal(SIGTERM);
  const CommandEnd end = command.finish();
  std::istringstream lines(end.out);
  std::string token;
  std::string listening;
  ASSERT_TRUE(std::getline(lines, token) && std::getline(lines, listening)) << end.out;
  const auto first = parse_json(token).as_object();
  EXPECT_EQ(first.at("event").as_string(), "first_token");
  EXPECT_EQ(std::string(first.at("token").as_string()), token_in(end.out));
  const auto second = parse_json(listening).as_object();
  EXPECT_EQ(second.at("event").as_string(), "listening");
  EXPECT_EQ(second.at("addresses").as_array().at(0).as_string(), "unix:" + socket());
}

TEST_F(CliServe, LogOfAService_IsJsonWhereNobodyWatches) {
  Command command(serve(""));
  ASSERT_TRUE(command.wait_for("listening on")) << command.finish(std::chrono::seconds(1)).err;
  EXPECT_EQ(status_of("/stats?token=secret", ""), 200u);
  command.signal(SIGTERM);
  const CommandEnd end = command.finish();
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, Not(HasSubstr("secret")));
  bool found = false;
  std::istringstream lines(end.err);
  for (std::string line; std::getline(lines, line);) {
    const auto json = parse_json(line).as_object();
    EXPECT_TRUE(json.contains("time") && json.contains("level")) << line;
    if (json.at("message").as_string() != "request") continue;
    found = true;
    EXPECT_EQ(json.at("method").as_string(), "GET");
    EXPECT_EQ(json.at("path").as_string(), "/stats");
    EXPECT_EQ(json.at("route").as_string(), "/stats");
    EXPECT_EQ(json.at("status").as_int64(), 200);
    EXPECT_EQ(json.at("tenant").as_string(), "default");
    EXPECT_TRUE(json.contains("request_id") && json.contains("ms"));
  }
  EXPECT_TRUE(found) << end.err;
}

TEST_F(CliServe, LogInText_IsLines) {
  Command command(serve("log: {format: json, level: error}\n", {"--log-format", "text", "--log-level", "info"}));
  ASSERT_TRUE(command.wait_for("listening on")) << command.finish(std::chrono::seconds(1)).err;
  EXPECT_EQ(status_of("/stats", ""), 200u);
  command.signal(SIGTERM);
  const CommandEnd end = command.finish();
  EXPECT_THAT(end.err, HasSubstr(" info request request_id="));
  EXPECT_THAT(end.err, HasSubstr(" method=GET path=/stats status=200 "));
}

TEST_F(CliServe, WhatItCannotBe_IsRefusedAtTheStart) {
  const struct {
    std::string config;
    std::vector<std::string> flags;
    std::pair<const char*, const char*> variable;
    const char* error;
  } cases[] = {
      {"server: {auth: none}\n",
       {"--listen", "0.0.0.0:0"},
       {"PATH", "/bin"},
       "without tokens the service may listen only on"},
      {"", {}, {"SANDBOX_GPU_ENABLED", "perhaps"}, "SANDBOX_GPU_ENABLED must be true or false"},
      {"", {}, {"SANDBOX_BACKEND", "e2b"}, "the E2B backend has no API key: set E2B_API_KEY"},
      {"", {}, {"SANDBOX_BACKEND", "jail"}, "jail not in {oci,docker,e2b,kubernetes}"},
      {"server: {tokens: /nowhere/tokens.json}\n", {}, {"PATH", "/bin"}, "create the first token: "},
      {"server: {jwt: {keys: /nowhere, issuer: i, audience: a}}\n", {}, {"PATH", "/bin"}, "/nowhere"},
      {"sessions: {profile: none}\n", {}, {"PATH", "/bin"}, "there is no such profile"},
  };
  for (const auto& test : cases) {
    // The one that `serve` has at its end counts: a key cannot be given twice.
    CommandSpec spec = serve(test.config, test.flags);
    if (test.config.starts_with("sessions")) {
      spec.argv[3] = source("other.yml", test.config);
    }
    spec.env[test.variable.first] = test.variable.second;
    const CommandEnd end = run_command(spec);
    EXPECT_NE(end.exit_code, 0);
    EXPECT_THAT(end.err, HasSubstr(test.error));
    EXPECT_EQ(token_in(end.out), "");
  }
}

}  // namespace
}  // namespace cloche

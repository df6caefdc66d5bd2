// What the tests of commands that talk to a service share: a service of the test's own, and `cloche` pointed at it.
#pragma once

#include <memory>

#include "cli/cli.hpp"
#include "core/ids.hpp"

namespace cloche {

class CliClient : public CliRun {
 protected:
  void SetUp() override;
  // Everything ends in good order.
  void TearDown() override;

  // For tests that want another service.
  void start_service(const std::string& more_config = "");
  // Without a word; TearDown still leaves nothing behind.
  void kill_service();

  // `cloche` with these arguments, for this service. stdin is empty unless something is given.
  CommandSpec client(std::vector<std::string> arguments, const std::string& input = "") const;
  CommandEnd run_client(std::vector<std::string> arguments, const std::string& input = "") const {
    return run_command(client(std::move(arguments), input));
  }
  // What the command prints with --json.
  boost::json::value json_of(std::vector<std::string> arguments) const;
  // Runs of a session that go on.
  int running(const std::string& session) const;

  std::string socket() const { return scratch_.path() / "socket"; }
  std::string path_of(const std::string& name) const { return scratch_.path() / name; }
  std::string text_of(const std::string& name) const;

 private:
  std::string instance_ = "test-" + random_hex(6);
  std::unique_ptr<Command> service_;
  bool was_killed_ = false;
};

}  // namespace cloche

// Stage: the attack programs in a directory that a sandbox can see, and what of this host they must not reach.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/unique_fd.hpp"
#include "support/command.hpp"
#include "support/target.hpp"

namespace cloche::hostile {

// Where the neighbour of every attacker listens in its own sandbox.
inline constexpr int neighbour_port = 4790;
inline constexpr const char* neighbour_abstract = "neighbour";

class Stage {
 public:
  Stage();

  // Seen as /attack, read-only, in every sandbox.
  std::filesystem::path programs() const { return scratch_.path() / "attack"; }
  std::filesystem::path canary() const { return scratch_.path() / "canary"; }
  const testing_support::Scratch& scratch() const { return scratch_; }

  // What a program is expected to find.
  std::map<std::string, std::string> environment() const;

  // Fails the test when anything of the host has changed: file, process, listeners, settings of the kernel.
  void expect_host_unharmed();

 private:
  testing_support::Scratch scratch_;
  std::unique_ptr<testing_support::Command> process_;
  UniqueFd listener_;
  UniqueFd abstract_;
  int port_ = 0;
  std::string abstract_name_;
  std::string settings_;
};

// The path that an attack's first argument has in a sandbox, with what runs it.
std::vector<std::string> command_of(const std::vector<std::string>& argv);

}  // namespace cloche::hostile

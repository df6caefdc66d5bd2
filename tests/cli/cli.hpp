// What the tests of the command line share: `cloche`, run with directories of the test's own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "support/command.hpp"
#include "support/missing.hpp"
#include "support/target.hpp"

namespace cloche {

using testing::HasSubstr;
using testing_support::Command;
using testing_support::CommandEnd;
using testing_support::CommandSpec;
using testing_support::run_command;
using testing_support::Target;

class Cli : public testing::Test {
 protected:
  // A file in the scratch directory; its path.
  std::string source(const std::string& name, const std::string& text) const;

  // `cloche` with these arguments. State, run directory, image and engine are the test's.
  CommandSpec cloche(std::vector<std::string> arguments) const;
  // `cloche run` on a backend and runtime.
  CommandSpec cloche_run(const Target& target, std::vector<std::string> arguments) const;
  CommandSpec cloche_run(std::vector<std::string> arguments) const {
    return cloche_run({"oci", "crun"}, std::move(arguments));
  }

  // The id under which a running `cloche` creates its sandboxes; empty if there is none.
  std::string instance(const Target& target) const;
  // What there is of an owner, given by its id or by its instance's name: cgroups, directories, containers.
  std::vector<std::string> traces_of(const Target& target, const std::string& name) const;

  std::filesystem::path run_dir() const { return scratch_.path() / "run"; }

  testing_support::Scratch scratch_;
};

// A suite over crun, runc and runsc, and docker.
class CliOn : public Cli, public testing::WithParamInterface<Target> {
 protected:
  void SetUp() override {
    if (const auto lack = testing_support::lack_of(GetParam())) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  }
};

// A suite on crun alone: what is the same everywhere.
class CliRun : public Cli {
 protected:
  void SetUp() override {
    if (const auto lack = testing_support::lack_of({"oci", "crun"})) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  }
};

boost::json::value parse_json(const std::string& text);

}  // namespace cloche

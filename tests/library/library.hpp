// What the tests of the public library share: options with directories of the test's own, and a look at the host.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cloche/engine_options.hpp"
#include "cloche/spec.hpp"
#include "support/missing.hpp"
#include "support/target.hpp"

namespace cloche {

class Library : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto lack = testing_support::lack_of({"oci", "crun"})) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  }

  EngineOptions options(std::string instance = "") const {
    EngineOptions options;
    options.state_dir = scratch_.path() / "state";
    options.run_dir = scratch_.path() / "run";
    options.instance = std::move(instance);
    return options;
  }
  static SandboxSpec spec() {
    SandboxSpec spec;
    spec.runtime = "crun";
    spec.limits.cpus = 1;
    return spec;
  }

  // Cgroups of a sandbox; none when it is gone.
  static std::vector<std::string> cgroups_of(const std::string& sandbox) {
    std::vector<std::string> found;
    const auto look_in = [&](const std::filesystem::path& hierarchy) {
      std::error_code none;
      for (const auto& instance : std::filesystem::directory_iterator(hierarchy / "cloche", none)) {
        if (exists(instance.path() / sandbox)) found.push_back(instance.path() / sandbox);
      }
    };
    look_in("/sys/fs/cgroup");
    for (const auto& hierarchy : std::filesystem::directory_iterator("/sys/fs/cgroup")) look_in(hierarchy.path());
    return found;
  }

  testing_support::Scratch scratch_;
};

}  // namespace cloche

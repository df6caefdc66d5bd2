// A made-up host for tests: directories with device nodes, which are links to harmless ones, and libraries.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gpu/places.hpp"

namespace cloche::gpu {

class TestingTree {
 public:
  TestingTree() {
    std::string pattern = "/tmp/cloche-gpu-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TestingTree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestingTree(const TestingTree&) = delete;
  TestingTree& operator=(const TestingTree&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  Places places() const {
    Places places;
    places.specifications = {*this / "etc/cdi", *this / "run/cdi"};
    places.devices = *this / "dev";
    places.driver = *this / "proc";
    places.libraries = {*this / "lib"};
    places.programs = {*this / "bin"};
    return places;
  }

  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name) << content;
    ::chmod((*this / name).c_str(), 0644);
  }
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::filesystem::create_symlink(target, *this / name);
  }

 private:
  std::string path_;
};

}  // namespace cloche::gpu

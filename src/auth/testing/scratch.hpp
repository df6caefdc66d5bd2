// For tests: a directory that is removed with its test, and clocks that are set by hand.
#pragma once

#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace cloche::auth::testing {

class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// Writes a file with that content and mode and replaces an existing one atomically.
void put_file(const std::string& path, std::string_view content, unsigned mode = 0600);
std::string file_text(const std::string& path);

struct HandClock {
  WallTime wall{std::chrono::seconds{1'900'000'000}};
  SteadyTime steady{std::chrono::hours{1}};

  void pass(std::chrono::milliseconds time) {
    wall += std::chrono::floor<std::chrono::seconds>(time);
    steady += time;
  }
  // They refer to this clock.
  Clocks clocks() {
    return {.wall = [this] { return wall; }, .steady = [this] { return steady; }};
  }
};

}  // namespace cloche::auth::testing

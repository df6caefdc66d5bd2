// The whole terminal as a canvas; it is restored when the object is destroyed.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.hpp"

namespace cloche::cli {

class Screen {
 public:
  Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  WindowSize size() const;
  // In one write, so that nothing flickers.
  void show(const std::vector<std::string>& lines);

 private:
  RawTerminal raw_;
};

}  // namespace cloche::cli

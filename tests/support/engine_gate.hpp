// EngineGate: a unix socket in front of an engine's. Shut, the engine is as good as dead: connections break, new ones
// are refused.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace cloche::testing_support {

class EngineGate {
 public:
  // Open from the start.
  EngineGate(std::filesystem::path path, std::string engine);
  ~EngineGate();

  std::string host() const;
  void shut();
  void open();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cloche::testing_support

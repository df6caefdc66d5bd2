// What servers and commands left on this host or in this engine when they ended, by owner, and its removal.
#pragma once

#include <string>
#include <vector>

#include "cloche/engine_options.hpp"
#include "core/result.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

struct Leftovers {
  enum class State {
    abandoned,  // its process has ended and no directory has its id: it will never be used again
    stopped,    // its process has ended; its state directory exists, and the next start takes it over or removes it
    unknown,    // not of this host, or not known to it: it may be in use
  };
  std::string owner;  // the id
  std::string name;   // of the instance, where it is known
  std::string backend;
  State state = State::unknown;
  std::string place;  // the directory that keeps the id, where it is known
  std::vector<Belonging> things;
  std::vector<std::string> run_dirs;  // the directory to search in
};

// All that carries the id of an owner that is not alive. Blocking.
Result<std::vector<Leftovers>> find_leftovers(const EngineOptions& options);

// Removes all of it. already_exists when its owner is alive after all. Blocking.
Status remove_leftovers(const EngineOptions& options, const Leftovers& leftovers);

}  // namespace cloche

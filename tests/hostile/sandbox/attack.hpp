// Attack: one program that tries something, how it is run, what must come of it, and where it would succeed.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sandbox/live_sandbox.hpp"
#include "support/target.hpp"

namespace cloche::hostile {

// How the same program is shown to find a hole, in a place without walls.
struct Weak {
  std::string none;               // why it cannot be shown; such attacks are listed in tests/hostile/README.md
  int uid = 0;                    // whose program it is there; process 1 is root's
  std::string naive;              // run by weak/naive.py in this mode, for attacks on the runner of a program
  std::vector<std::string> more;  // arguments after the attack's own
  int holes = 1;                  // at least so many are found
};

// A known hole that is not fixed yet. It is counted with what could not be tested until it is gone.
struct OpenHole {
  std::string where;  // part of the target's name; empty: everywhere
  std::string words;  // that are said of it
  std::string what;   // is to be done
};

struct Attack {
  std::string name;               // a condition, then its result
  std::vector<std::string> argv;  // the first is a file below programs/
  std::vector<std::string> then;  // another program that looks afterwards in the same sandbox

  enum class Between { nothing, reset } between = Between::nothing;
  enum class Way { program, zygote, terminal } way = Way::program;

  std::optional<Bytes> memory;  // of the sandbox
  std::optional<std::chrono::milliseconds> wall_limit;
  std::optional<std::chrono::milliseconds> cpu_limit;
  std::size_t input = 0;  // bytes sent to its stdin
  bool events = false;    // it has a descriptor for events

  // How it may end. Empty: by itself, with exit code 0, after it has said DONE.
  std::vector<Ending> endings;
  // What else must be true of its run.
  std::function<void(const Exec::Collected&)> judge;

  // Holes, by words in their descriptions, that are harmless with gVisor's kernel or with the engine's own filter: each
  // is served inside of the sandbox and leads nowhere.
  std::vector<std::string> harmless_on_gvisor;
  std::vector<std::string> harmless_on_docker;
  std::vector<OpenHole> open;
  // A gVisor sandbox may be lost by it: its kernel is ended as a whole.
  bool ends_gvisor = false;
  std::string not_on_gvisor;  // why it makes no sense there

  Weak weak;
};

std::ostream& operator<<(std::ostream& out, const Attack& attack);

// What a program said of what it tried.
struct Verdict {
  std::vector<std::string> held;
  std::vector<std::string> holes;
  bool done = false;
};
Verdict verdict_of(const std::string& output);

// The groups, each in a file of its own.
std::vector<Attack> file_attacks();
std::vector<Attack> process_attacks();
std::vector<Attack> memory_attacks();
std::vector<Attack> kernel_attacks();
std::vector<Attack> network_attacks();
std::vector<Attack> protocol_attacks();
std::vector<Attack> leftover_attacks();

// Backends that have walls.
std::vector<testing_support::Target> walled_targets();

}  // namespace cloche::hostile

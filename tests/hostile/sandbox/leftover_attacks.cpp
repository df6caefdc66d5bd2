// What one use leaves for the next: planted by a program, looked for by another after a reset.
#include "hostile/sandbox/attack.hpp"

namespace cloche::hostile {

namespace {

Attack mark(std::string kind) {
  Attack attack;
  attack.name = kind + "_IsNotLeftForTheNext";
  attack.argv = {"leftovers/marks.py", "plant", kind};
  attack.then = {"leftovers/marks.py", "look", kind};
  attack.between = Attack::Between::reset;
  return attack;
}

Attack mark(std::string kind, Weak weak) {
  Attack attack = mark(std::move(kind));
  attack.weak = std::move(weak);
  return attack;
}

}  // namespace

std::vector<Attack> leftover_attacks() {
  std::vector<Attack> all;
  for (const char* kind : {"Files", "ClosedTree", "DeepTree", "FullDisk", "SystemV", "MessageQueue", "SharedMemory",
                           "LateWriter", "Listener", "AbstractSocket", "Lock", "StartUp", "Schedule", "Priority", "Key",
                           "MountPoint", "Terminal", "Setuid", "Attributes"}) {
    all.push_back(mark(kind));
  }
  all.push_back(mark("Process", {.uid = 1000}));
  Attack projects =
      mark("ProjectIds", {.none = "outside of a user namespace of its own this map is the host's and written already"});
  all.push_back(projects);
  Attack interpreter = mark("Interpreter", {.naive = "same_interpreter", .more = {"Interpreter"}});
  interpreter.way = Attack::Way::zygote;
  all.push_back(interpreter);
  return all;
}

}  // namespace cloche::hostile

#include "hostile/sandbox/attack.hpp"

#include <sstream>

namespace cloche::hostile {

std::ostream& operator<<(std::ostream& out, const Attack& attack) { return out << attack.name; }

Verdict verdict_of(const std::string& output) {
  Verdict verdict;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    // A terminal ends its lines otherwise.
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with("HELD ")) verdict.held.push_back(line.substr(5));
    if (line.starts_with("HOLE ")) verdict.holes.push_back(line.substr(5));
    if (line == "DONE") verdict.done = true;
  }
  return verdict;
}

std::vector<testing_support::Target> walled_targets() {
  auto targets = testing_support::all_targets();
  std::erase_if(targets, [](const auto& target) { return target.is_fake(); });
  return targets;
}

}  // namespace cloche::hostile

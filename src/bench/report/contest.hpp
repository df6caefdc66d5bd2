// A contest: several ways to do the same, tried in turn many times, so that other activity of the machine affects all
// of them alike.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace cloche::bench {

struct Contender {
  std::string name;
  std::function<Status()> attempt;     // is timed
  std::function<void()> afterwards{};  // is not
  int per_round = 1;                   // attempts in a row: more for what is quick, so that its p99 means something
};

struct Standing {
  std::string name;
  std::vector<double> ms;
  std::optional<Error> failed;  // then it took no further part, and what it measured does not count
};

struct Rounds {
  int warm_up = 2;  // not counted
  int count = 20;
};

// Every round starts with another contender, and every second one runs backwards. Standings are in the contenders'
// order. Fails only if interrupted.
Result<std::vector<Standing>> hold_contest(const std::vector<Contender>& contenders, Rounds rounds);

// The order of a round: indices of the contenders.
std::vector<std::size_t> order_of_round(std::size_t contenders, std::size_t round);

}  // namespace cloche::bench

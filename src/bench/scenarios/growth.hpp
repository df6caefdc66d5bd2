// Growth: the same calls measured repeatedly while the number of something grows.
#pragma once

#include "bench/alternatives/service_client.hpp"
#include "bench/scenarios/scenario.hpp"

namespace cloche::bench {

struct GrowingCall {
  std::string name;
  std::string target;
  std::string body;       // empty: GET
  std::string must_have;  // in its answer
};

// The calls as contenders.
std::vector<Contender> contenders_of(Surroundings& surroundings, ServiceCalls& calls,
                                     const std::vector<GrowingCall>& growing);
// Adds figures for this size, and points to the lines, which are in the calls' order.
Status measure_at(Surroundings& surroundings, ServiceCalls& calls, const std::vector<GrowingCall>& growing, int size,
                  const std::string& of_what, Section& section, std::vector<Line>& lines);

}  // namespace cloche::bench

// A log that does not flood: lines that are alike are written as long as there are few of them.
//
// Lines that differ in numbers and ids alone are of one kind. The first few of a kind are written; the rest are
// counted, and the count is written once the kind's time is over: "(and 2640 more like this in 10 s)". Debug lines and
// events with fields are all written.
#pragma once

#include <spdlog/sinks/sink.h>

#include <chrono>
#include <memory>

namespace cloche::log {

// A sink that does this, in front of another one.
using Clock = std::chrono::steady_clock::time_point (*)();
std::shared_ptr<spdlog::sinks::sink> count_repeated(std::shared_ptr<spdlog::sinks::sink> into,
                                                    Clock clock = std::chrono::steady_clock::now);

// Writes the counts that are due. Call it from time to time, so that kinds without new lines are reported, too.
void report_repeated();

}  // namespace cloche::log

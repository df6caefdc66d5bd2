// Evidence: what /proc and the scheduler report about one of our processes, for comparison with a later report.
//
// A process that survives a reset must be the one that it was. Its data cannot be compared: there is too much of it,
// and its own work changes it. What runs can: the program, every mapping of a file or of code, code that was written
// to, descriptors, sealed files, identity and privileges, signals, tracer, priority and processors.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace cloche::agent {

enum class EvidenceOf {
  itself,   // the calling process: what others could change of it from outside
  another,  // of the caller's user
};

// Names of facts and their values. A fact that cannot be read is also a fact.
using ProcessEvidence = std::map<std::string, std::string>;

ProcessEvidence evidence_of(pid_t pid, EvidenceOf whose);

// Names of the facts that differ.
std::vector<std::string> differences(const ProcessEvidence& before, const ProcessEvidence& now);

}  // namespace cloche::agent

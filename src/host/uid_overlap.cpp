#include "host/uid_overlap.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>

#include "backend/docker/engine/options.hpp"
#include "backend/oci/root/uid_ranges.hpp"

namespace cloche {

namespace {

struct UidSpan {
  std::string owner;
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  std::string text() const { return std::to_string(first) + " to " + std::to_string(first + count - 1); }
  bool meets(const UidSpan& other) const {
    return count > 0 && other.count > 0 && first < other.first + other.count && other.first < first + count;
  }
};

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= UINT32_MAX;
}

// Lines `user:first:count`. Other lines mean nothing to the programs that use the file, and nothing here.
std::vector<UidSpan> subordinate_spans(const std::string& file) {
  std::vector<UidSpan> spans;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    UidSpan span;
    span.owner = "the subordinate uids of " + line.substr(0, first) + " in " + file;
    const std::string_view numbers = line;
    if (!read_number(numbers.substr(first + 1, second - first - 1), span.first)) continue;
    if (!read_number(numbers.substr(second + 1), span.count)) continue;
    spans.push_back(std::move(span));
  }
  return spans;
}

HostFinding overlap_finding(std::string backend, const UidSpan& own, const std::vector<UidSpan>& others,
                            std::string advice) {
  HostFinding finding;
  finding.backend = std::move(backend);
  finding.name = "uid overlap";
  finding.detail = own.text();
  bool meets_any = false;
  for (const UidSpan& other : others) {
    if (!own.meets(other)) continue;
    finding.detail += (meets_any ? ", and " : " overlap with ") + other.owner + " (" + other.text() + ")";
    meets_any = true;
  }
  if (meets_any) {
    finding.level = HostFinding::Level::warning;
    finding.advice = std::move(advice);
  } else {
    finding.detail += ": no other range has them";
  }
  return finding;
}

}  // namespace

std::vector<HostFinding> examine_uid_overlap(const EngineOptions& options, const std::string& subordinate_file) {
  const UidSpan oci{"the ranges of the oci backend", oci::UidRange::base,
                    std::uint64_t{oci::UidRange::slots} * oci::UidRange::size};
  const UidSpan docker{"", options.docker_first_uid, options.docker_uids};
  std::vector<UidSpan> others = subordinate_spans(subordinate_file);
  std::vector<HostFinding> findings{overlap_finding(
      "oci", oci, others, "move the subordinate uids in " + subordinate_file + "; those of the oci backend are fixed")};
  const std::string engine = options.docker_host.empty() ? docker_options_from_environment().host : options.docker_host;
  if (options.docker_uids == 0 || !engine.starts_with("unix://")) return findings;
  others.push_back(oci);
  findings.push_back(overlap_finding(
      "docker", docker, others,
      "set docker.first_uid and docker.uids in cloche.yml to uids that no user and no other range has"));
  return findings;
}

}  // namespace cloche

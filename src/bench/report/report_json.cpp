#include "bench/report/report_json.hpp"

#include "json/json.hpp"
#include "json/write_json.hpp"

namespace cloche::bench {

namespace {

json::object of(const Machine& machine) {
  json::object versions;
  for (const auto& [name, version] : machine.versions) versions[name] = version;
  return {{"cpu", machine.cpu},       {"cores", machine.cores}, {"memory_gib", machine.memory_gib},
          {"kernel", machine.kernel}, {"load", machine.load},   {"date", machine.date},
          {"build", machine.build},   {"label", machine.label}, {"versions", std::move(versions)}};
}

json::object of(const Figure& figure) {
  const Summary& value = figure.value;
  return {{"how", figure.how},
          {"unit", figure.unit},
          {"samples", value.count},
          {"least", value.least},
          {"lower_quartile", value.lower_quartile},
          {"p50", value.p50},
          {"upper_quartile", value.upper_quartile},
          {"p99", value.p99},
          {"most", value.most}};
}

json::object of(const Goal& goal) {
  return {{"what", goal.what},
          {"against", goal.against},
          {"goal", goal.wanted},
          {"measured", goal.measured},
          {"met", goal.met}};
}

json::object of(const Lack& lack) { return {{"thing", lack.thing}, {"why", lack.why}}; }

json::object of(const Section& section);

template <class T>
json::array all_of(const std::vector<T>& things) {
  json::array all;
  for (const T& thing : things) all.push_back(of(thing));
  return all;
}

json::object of(const Section& section) {
  return {{"row", section.id},
          {"title", section.title},
          {"method", section.method},
          {"reference", section.reference},
          {"figures", all_of(section.figures)},
          {"goals", all_of(section.goals)},
          {"not_measured", all_of(section.lacks)}};
}

}  // namespace

std::string to_json(const Report& report) {
  json::object all{{"machine", of(report.machine)},
                   {"quick", report.length == Length::quick},
                   {"seconds", report.seconds},
                   {"not_measured", all_of(report.lacks)},
                   {"sections", all_of(report.sections)}};
  return write_json(all) + "\n";
}

}  // namespace cloche::bench

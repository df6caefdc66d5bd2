#include "cli/commands/doctor_abandoned.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cstdio>
#include <optional>

#include "cli/command.hpp"
#include "cli/text/colour.hpp"
#include "host/abandoned.hpp"
#include "json/write_json.hpp"
#include "library/quiet_log.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::cli {

namespace {

struct Handled {
  Leftovers of;
  std::optional<Status> removed;  // when its removal was asked for
};

const char* to_text(Leftovers::State state) {
  switch (state) {
    case Leftovers::State::abandoned: return "abandoned";
    case Leftovers::State::stopped: return "stopped";
    case Leftovers::State::unknown: return "unknown";
  }
  return "unknown";
}

std::string meaning_of(const Leftovers& of) {
  switch (of.state) {
    case Leftovers::State::abandoned: return "its process has ended and no state directory has its identity";
    case Leftovers::State::stopped: return "its server will take over or remove this at its next start: " + of.place;
    case Leftovers::State::unknown: break;
  }
  return "the owner is unknown on this host and may be running elsewhere; remove this with --owner " + of.owner;
}

bool is_to_be_removed(const AbandonedFlags& flags, const Leftovers& of) {
  if (!flags.remove) return false;
  if (flags.owners.empty()) return of.state == Leftovers::State::abandoned;
  return std::ranges::find(flags.owners, of.owner) != flags.owners.end();
}

bool is_to_be_shown(const AbandonedFlags& flags, const Leftovers& of) {
  return flags.owners.empty() || std::ranges::find(flags.owners, of.owner) != flags.owners.end();
}

void print(const std::vector<Handled>& all) {
  const Paint paint = paint_for(STDOUT_FILENO);
  if (all.empty()) std::printf("nothing left behind\n");
  for (const Handled& each : all) {
    const Leftovers& of = each.of;
    const Colour colour = of.state == Leftovers::State::abandoned ? Colour::bad : Colour::warning;
    std::printf("%s  %s  %s%s%s%s\n", of.backend.c_str(), paint(colour, to_text(of.state)).c_str(), of.owner.c_str(),
                of.name.empty() ? "" : " (", of.name.c_str(), of.name.empty() ? "" : ")");
    std::printf("    -> %s\n", meaning_of(of).c_str());
    for (const Belonging& thing : of.things) std::printf("    %-12s %s\n", thing.kind.c_str(), thing.name.c_str());
    if (!each.removed) continue;
    if (*each.removed) {
      std::printf("    %s\n", paint(Colour::good, "removed").c_str());
    } else {
      std::printf("    %s: %s\n", paint(Colour::bad, "not removed").c_str(), each.removed->error().message.c_str());
    }
  }
}

void print_as_json(const std::vector<Handled>& all) {
  boost::json::array list;
  for (const Handled& each : all) {
    boost::json::object entry;
    entry["backend"] = each.of.backend;
    entry["owner"] = each.of.owner;
    entry["instance"] = each.of.name;
    entry["state"] = to_text(each.of.state);
    if (!each.of.place.empty()) entry["kept_in"] = each.of.place;
    boost::json::array things;
    for (const Belonging& thing : each.of.things) {
      boost::json::object item;
      item["kind"] = thing.kind;
      item["name"] = thing.name;
      things.push_back(std::move(item));
    }
    entry["things"] = std::move(things);
    if (each.removed) entry["removed"] = each.removed->has_value();
    if (each.removed && !*each.removed) entry["error"] = each.removed->error().message;
    list.push_back(std::move(entry));
  }
  std::printf("%s\n", write_json(list).c_str());
}

}  // namespace

int report_abandoned(const AbandonedFlags& flags, const EngineFlags& engine) {
  keep_log_off_stdout();
  std::vector<Handled> all;
  bool failed = false;
  for (const BackendTraits& backend : all_backends()) {
    EngineOptions options = engine.options();
    const bool is_asked_for = options.backend == backend.kind;
    options.backend = backend.kind;
    auto found = find_leftovers(options);
    if (!found) {
      std::fprintf(stderr, "cloche: %s: cannot search for leftovers: %s\n", std::string(backend.name).c_str(),
                   found.error().message.c_str());
      failed = failed || is_asked_for;
      continue;
    }
    for (Leftovers& of : *found) {
      if (!is_to_be_shown(flags, of)) continue;
      Handled each{std::move(of), std::nullopt};
      if (is_to_be_removed(flags, each.of)) each.removed = remove_leftovers(options, each.of);
      failed = failed || (each.removed && !*each.removed);
      all.push_back(std::move(each));
    }
  }
  flags.json ? print_as_json(all) : print(all);
  return failed ? exit_unavailable : 0;
}

}  // namespace cloche::cli

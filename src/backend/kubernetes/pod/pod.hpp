// Pod: a pod as the cluster describes it, and what that means for a sandbox. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/bytes.hpp"
#include "core/result.hpp"
#include "json/lenient_json.hpp"

namespace cloche::kubernetes {

struct Container {
  bool is_running = false;
  std::string waiting;  // the reason, such as ErrImageNeverPull
  std::string waiting_message;
  bool has_terminated = false;
  std::string terminated;  // the reason, such as OOMKilled
  std::string terminated_message;
  int exit_code = 0;
  Bytes memory;     // the limit in force; zero: not known
  std::string cpu;  // the same, as Kubernetes writes it
};

struct Pod {
  std::string name;
  std::string uid;
  std::string resource_version;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::string node;
  std::string phase;  // Pending, Running, Succeeded, Failed, Unknown
  std::string reason;
  std::string message;
  bool is_deleted = false;  // it is about to go
  std::string unscheduled;  // why no node takes it
  std::string resize;       // why new limits are not in force: Deferred: ..., Infeasible: ...; empty: they are
  Container sandbox;
  Container agent;  // the init container, if there is one
};

inline constexpr const char* sandbox_container = "sandbox";
inline constexpr const char* agent_container = "agent";

// protocol if it is not a pod.
Result<Pod> read_pod(const json::value& object);

bool is_running(const Pod& pod);
// It has ended, or is about to.
bool has_ended(const Pod& pod);
bool was_out_of_memory(const Pod& pod);

// What keeps a new pod from running and does not pass by itself, with what to do.
std::optional<Error> trouble_of(const Pod& pod);
// What a new pod waits for, for an error after a deadline.
std::string delay_of(const Pod& pod);
// How a pod ended, for the error sandbox_lost.
std::string end_of(const Pod& pod);

// A quantity such as 128Mi as bytes; zero if it is none.
Bytes read_quantity(std::string_view text);

}  // namespace cloche::kubernetes

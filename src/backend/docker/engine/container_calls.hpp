// Calls of the Engine API about containers, typed. A container is named by its id or its name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/docker/engine/engine.hpp"

namespace cloche::docker {

using LabelMap = std::map<std::string, std::string>;

struct CreatedContainer {
  std::string id;
  std::vector<std::string> warnings;  // what the engine will not do although it was asked to
};

struct ContainerDetails {
  std::string id;
  std::string status;  // created, running, exited, dead, …
  bool is_running = false;
  bool was_oom_killed = false;
  std::int64_t exit_code = 0;
  std::string finished_at;  // RFC 3339, of the engine's clock
  std::string runtime;
  LabelMap labels;
  std::uint64_t memory = 0;
  double cpus = 0;
  std::int64_t pids = 0;
};

struct ContainerSummary {
  std::string id;
  std::string state;
  LabelMap labels;
};

// Current statistics of a running container from the engine.
struct ContainerStats {
  std::string read_at;            // RFC 3339, of the engine's clock
  std::uint64_t memory_peak = 0;  // 0 if the engine does not report it
  std::uint64_t memory = 0;       // with the page cache
  std::uint64_t cache = 0;        // the page cache
  std::uint64_t cpu_ns = 0;
};

// `already_exists` if the name is in use, `not_found` if the image does not exist.
Task<Result<CreatedContainer>> create_container(Engine& engine, std::string name, json::object body, Deadline deadline);
Task<Status> start_container(Engine& engine, std::string container, Deadline deadline);
// stdin, stdout and stderr as one stream, framed; see Demultiplexer.
Task<Result<http::Upgrade>> attach_container(Engine& engine, std::string container, Deadline deadline);
// Returns when it is not running or no longer exists.
Task<Status> wait_for_container(Engine& engine, std::string container, Deadline deadline);
Task<Status> kill_container(Engine& engine, std::string container, Deadline deadline);
// Both succeed if it already is in that state. `sandbox_lost` if it does not run.
Task<Status> pause_container(Engine& engine, std::string container, Deadline deadline);
Task<Status> unpause_container(Engine& engine, std::string container, Deadline deadline);
// Removes it with its anonymous volumes, running or not. Succeeds if it is already gone or being removed by another
// client: callers that must be sure that it is gone check afterwards.
Task<Status> remove_container(Engine& engine, std::string container, Deadline deadline);
// Returns what the engine warns of.
Task<Result<std::vector<std::string>>> update_container(Engine& engine, std::string container, json::object resources,
                                                        Deadline deadline);
Task<Result<ContainerDetails>> inspect_container(Engine& engine, std::string container, Deadline deadline);
// All containers with all of these labels, running or not.
Task<Result<std::vector<ContainerSummary>>> list_containers(Engine& engine, LabelMap labels, Deadline deadline);
// Whether there is something at this path of a container that need not run; a link counts, wherever it leads.
Task<Result<bool>> has_path(Engine& engine, std::string container, std::string path, Deadline deadline);
// The content of a file of a container that need not run; nothing if something else is there, such as a link.
// `not_found` if nothing is.
Task<Result<std::optional<std::string>>> read_file(Engine& engine, std::string container, std::string path,
                                                   Deadline deadline);
// Unpacks a tar archive in `/` of a container that need not run.
Task<Status> put_archive(Engine& engine, std::string container, std::string archive, Deadline deadline);
// Makes an image of a container; the config's members win over the container's. Returns the image's id.
Task<Result<std::string>> commit_container(Engine& engine, std::string container, std::string repository,
                                           std::string tag, json::object config, Deadline deadline);
// `unsupported` where it would take the engine a second to answer.
Task<Result<ContainerStats>> container_stats(Engine& engine, std::string container, Deadline deadline);
// How often the engine saw the OOM killer kill a process of the container, up to a time of the engine's clock. The
// engine remembers the last few hundred events of all containers, so this is a lower bound.
Task<Result<std::uint64_t>> count_oom_events(Engine& engine, std::string container, std::string until,
                                             Deadline deadline);

}  // namespace cloche::docker

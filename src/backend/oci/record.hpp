// SandboxRecord: the journal of one sandbox, in its run directory. It says what is about to be done before it is done,
// so that after a crash `recover` finds all there is to keep or to remove.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/oci/gpus.hpp"
#include "backend/oci/process_identity.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "sandbox/spec.hpp"
#include "sandbox/volume_mount.hpp"

namespace cloche::oci {

struct SandboxRecord {
  enum class State { creating, running, destroying };

  State state = State::creating;
  SandboxId id;
  std::string owner;  // the instance's id
  SandboxSpec spec;
  std::string runtime;                    // the one chosen, never "auto"
  std::string runtime_kind;               // crun, runc or runsc, whatever its name is
  std::optional<std::uint32_t> uid_slot;  // once claimed
  SandboxGpus gpus;                       // once lent
  std::vector<VolumeMount> volumes;       // about to be attached, or attached
  bool redirects = false;                 // connections of programs to any address arrive at the agent
  ProcessIdentity first;                  // process 1 as the host sees it, when running
  ProcessIdentity keeper;                 // the process of Cloche that has the sandbox now
  std::string boot;                       // in which all this is true
};

std::string to_json(const SandboxRecord& record);
// protocol if the text is not a record of this version.
Result<SandboxRecord> parse_record(std::string_view text);

// The file is replaced as a whole.
Status write_record(const std::string& path, const SandboxRecord& record);
Result<SandboxRecord> read_record(const std::string& path);

}  // namespace cloche::oci

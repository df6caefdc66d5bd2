// Artifacts: files that a run created or changed in the workspace. They are found by their change times, without
// reading the tree's contents; only reported files are read, once, for their checksum and type.
//
// A file counts if it was created, written, renamed, linked or given another mode. Concurrent runs in one session share
// the workspace: what one of them changes while another is running is reported by both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::session {

struct Artifact {
  std::string path;  // relative to the workspace
  std::string name;  // its last part
  std::string content_type;
  std::uint64_t size = 0;
  std::string sha256;  // hexadecimal
};

struct ArtifactCaps {
  std::uint32_t most = 100;
  Bytes each = mib(64);  // a larger file is left out
  Bytes all = mib(256);  // of the reported ones, together
  ChangeRules rules;     // which files count
};

struct ArtifactList {
  std::vector<Artifact> artifacts;  // those at the top of the workspace first, then by path
  std::uint64_t left_out = 0;       // files that were found and are not reported: over the limits, or not readable
  std::uint64_t ignored = 0;        // changed files, and directories as a whole, that the rules passed over
  bool cut = false;                 // the search itself was cut: there may be more
};

// What was created or changed in the workspace since this mark.
class WorkspaceMark {
 public:
  // Now, by the sandbox's own clock, for changes by these rules. What is changed after this has returned counts, what
  // was changed before it was called does not.
  static Task<Result<WorkspaceMark>> take(LiveSandbox& sandbox, std::string work_dir, ChangeRules rules,
                                          Deadline deadline);
  // One that was taken when a program started.
  WorkspaceMark(std::string work_dir, std::int64_t since_ns) : work_dir_(std::move(work_dir)), since_ns_(since_ns) {}
  // `discard`, an absolute path elsewhere, is removed first. Fails only with the sandbox, at the deadline, if that
  // could not be removed, or if the tree was moved while it was scanned.
  Task<Result<ArtifactList>> changes(LiveSandbox& sandbox, ArtifactCaps caps, std::string discard,
                                     Deadline deadline) const;

 private:
  std::string work_dir_;
  std::int64_t since_ns_ = 0;
};

// The report of the changes that were found. Fails only with the sandbox, or at the deadline.
Task<Result<ArtifactList>> describe_artifacts(LiveSandbox& sandbox, const std::string& work_dir, EntryList found,
                                              ArtifactCaps caps, Deadline deadline);

// From the first bytes, and from the name only if those are inconclusive: "image/png", "text/csv; charset=utf-8",
// "application/octet-stream".
std::string content_type_of(std::string_view name, std::string_view first_bytes);

}  // namespace cloche::session

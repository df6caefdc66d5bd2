// Bodies of snapshots and forks, to and from our types.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "session/store.hpp"
#include "snapshot/manifest.hpp"

namespace cloche::api {

// {"name"}; the name of a new snapshot, or nothing.
Result<std::string> read_new_snapshot(const boost::json::value& body);
// {"count", "ids": []}
Result<session::ForkRequest> read_fork(const boost::json::value& body);

// What a snapshot and a fork contain: files of the work directory and of the home directory, and nothing else.
inline constexpr std::string_view kept_files = "files";

boost::json::object snapshot_json(const snapshot::SnapshotInfo& info);
boost::json::object forks_json(const std::vector<Result<session::SessionInfo>>& forks);

}  // namespace cloche::api

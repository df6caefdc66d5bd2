// Bodies of /volumes, and volumes in the bodies of others, to and from our types.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/result.hpp"
#include "json/json_object.hpp"
#include "volume/store.hpp"

namespace cloche::api {

struct NewVolume {
  std::optional<std::string> tenant;
  std::string name;
  Bytes size;
};

// {"tenant_id", "name", "size"}. The size is bytes, or text such as "512m".
Result<NewVolume> read_new_volume(const boost::json::value& body);
boost::json::object volume_json(const volume::VolumeInfo& info);

// "volumes": [{"name", "target", "access"}] of a session. The target is empty for the usual one, the access is
// read_write unless it is set.
Result<std::vector<VolumeMount>> read_volume_mounts(JsonObject& body);
boost::json::array volume_mounts_json(const std::vector<VolumeMount>& volumes);

}  // namespace cloche::api

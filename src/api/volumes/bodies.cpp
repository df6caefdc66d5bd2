#include "api/volumes/bodies.hpp"

#include "auth/names.hpp"
#include "core/utc_time.hpp"

namespace cloche::api {

namespace {

constexpr std::string_view read_only_word = "read_only";
constexpr std::string_view read_write_word = "read_write";

Result<Bytes> read_volume_size(JsonObject& object) {
  const json::value* found = object.find("size");
  if (found == nullptr) return fail(ErrorCode::invalid_argument, object.place_of("size") + " is required");
  if (found->is_string()) {
    const auto size = parse_bytes(found->get_string());
    if (!size) return fail(ErrorCode::invalid_argument, object.place_of("size") + " must be a size such as \"512m\"");
    return *size;
  }
  CLOCHE_TRY(const std::int64_t count, object.number("size", 1, std::int64_t{1} << 50));
  return Bytes{static_cast<std::uint64_t>(count)};
}

Result<VolumeMount> read_volume_mount(const json::value& value, const std::string& place) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(value, place));
  VolumeMount volume;
  CLOCHE_TRY(volume.name, object.text("name"));
  CLOCHE_TRY(volume.target, object.text("target", ""));
  CLOCHE_TRY(const std::string access, object.text("access", std::string(read_write_word)));
  CLOCHE_CHECK(object.finish());
  if (auto valid = auth::check_volume_name(volume.name); !valid) return fail(std::move(valid).error().at(place));
  if (access != read_only_word && access != read_write_word) {
    return fail(ErrorCode::invalid_argument, place + ".access must be read_only or read_write");
  }
  volume.access = access == read_only_word ? Access::read_only : Access::read_write;
  return volume;
}

}  // namespace

Result<NewVolume> read_new_volume(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  NewVolume wanted;
  if (object.has("tenant_id")) {
    CLOCHE_TRY(wanted.tenant, object.text("tenant_id"));
  }
  CLOCHE_TRY(wanted.name, object.text("name"));
  CLOCHE_TRY(wanted.size, read_volume_size(object));
  CLOCHE_CHECK(object.finish());
  return wanted;
}

json::object volume_json(const volume::VolumeInfo& info) {
  json::object body;
  body["tenant_id"] = info.id.tenant;
  body["name"] = info.id.name;
  body["size"] = info.size.count;
  body["allocated"] = info.allocated.count;
  body["created"] = to_utc_text(std::chrono::time_point_cast<WallTime::duration>(info.created));
  body["readers"] = info.uses.readers;
  body["writers"] = info.uses.writers;
  return body;
}

Result<std::vector<VolumeMount>> read_volume_mounts(JsonObject& body) {
  std::vector<VolumeMount> volumes;
  const json::value* found = body.find("volumes");
  if (found == nullptr) return volumes;
  const json::array* list = found->if_array();
  if (list == nullptr) return fail(ErrorCode::invalid_argument, body.place_of("volumes") + " must be a list");
  for (std::size_t i = 0; i < list->size(); ++i) {
    CLOCHE_TRY(VolumeMount volume, read_volume_mount((*list)[i], "volumes[" + std::to_string(i) + "]"));
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

json::array volume_mounts_json(const std::vector<VolumeMount>& volumes) {
  json::array list;
  for (const VolumeMount& each : volumes) {
    list.push_back(json::object{{"name", each.name},
                                {"target", each.target},
                                {"access", each.access == Access::read_only ? read_only_word : read_write_word}});
  }
  return list;
}

}  // namespace cloche::api

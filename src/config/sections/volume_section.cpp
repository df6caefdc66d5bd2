#include "config/sections/volume_section.hpp"

#include "auth/names.hpp"
#include "sandbox/volume_targets.hpp"

namespace cloche::config {

namespace {

constexpr const char* name_rule = "1 to 64 letters, digits, '_', '.' and '-'";

VolumeMount read_volume(Section& section) {
  VolumeMount volume;
  section.text("name", volume.name, name_rule, auth::is_valid_name);
  section.text("tenant", volume.tenant, name_rule, auth::is_valid_name);
  section.text("target", volume.target);
  if (!section.has("name") || !section.has("tenant")) section.refuse("a volume needs a name and a tenant");
  return volume;
}

}  // namespace

std::vector<VolumeMount> read_volumes(Section& section, const SandboxSpec& spec) {
  std::vector<VolumeMount> volumes;
  section.list("volumes", [&](Section& each) { volumes.push_back(read_volume(each)); });
  if (auto settled = settle_volume_targets(volumes, spec); !settled) section.refuse("volumes", settled.error().message);
  return volumes;
}

}  // namespace cloche::config

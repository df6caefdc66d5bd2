// Any text as a specification, in both forms: no crash, and what is taken can do no harm.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpu/cdi_spec.hpp"
#include "sandbox/spec.hpp"

namespace {

void check(const cloche::gpu::CdiEdits& edits) {
  for (const auto& node : edits.nodes) {
    if (!node.path.starts_with("/dev/") || !cloche::is_clean_absolute_path(node.path)) std::abort();
    if (!cloche::is_clean_absolute_path(node.host_path)) std::abort();
  }
  for (const auto& mount : edits.mounts) {
    if (!cloche::is_clean_absolute_path(mount.host_path)) std::abort();
    if (!cloche::is_clean_absolute_path(mount.container_path)) std::abort();
  }
  for (const auto& variable : edits.env) {
    if (variable.name.empty() || variable.name.find('=') != variable.name.npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche::gpu;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const CdiForm form : {CdiForm::json, CdiForm::yaml}) {
    const auto spec = parse_cdi(text, "f", form);
    if (!spec) continue;
    if (spec->kind.find('/') == spec->kind.npos || spec->device_class().empty()) std::abort();
    check(spec->edits);
    for (const CdiDevice& device : spec->devices) check(device.edits);
  }
  return 0;
}

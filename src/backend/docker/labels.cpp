#include "backend/docker/labels.hpp"

#include <charconv>

#include "backend/docker/engine/engine_time.hpp"

namespace cloche::docker::labels {

Result<LabelMap> for_sandbox(const SandboxSpec& spec, const SandboxId& id, const InstanceId& of) {
  LabelMap all = spec.labels;
  for (const auto& [name, value] : all) {
    if (name.empty() || name.starts_with("cloche.")) {
      return fail(ErrorCode::invalid_argument,
                  "invalid label name '" + name + "': names starting with cloche. are reserved");
    }
  }
  // Everything is sent to the engine as JSON, which has no other bytes: it would change them silently.
  if (!read_spec(write_spec(spec)))
    return fail(ErrorCode::invalid_argument, "paths and labels must be UTF-8 for the docker backend");
  all[app] = "cloche";
  all[owner] = of.value;
  all[instance] = of.name.empty() ? of.value : of.name;
  all[place] = of.place;
  all[sandbox] = id.value;
  all[created] = now_rfc3339();
  all[uid] = std::to_string(uid_of(spec));
  all[spec_json] = write_spec(spec);
  // An image can bring labels, and must not pass for one that is being derived.
  all[deriving_owner] = "";
  all[deriving] = "";
  return all;
}

LabelMap of_owner(const InstanceId& id) { return {{app, "cloche"}, {owner, id.value}}; }

std::string owner_of(const LabelMap& borne) {
  const auto value_of = [&](const char* name) {
    const auto found = borne.find(name);
    return found == borne.end() ? std::string() : found->second;
  };
  if (std::string deriver = value_of(deriving_owner); !deriver.empty()) return deriver;
  if (std::string deriver = value_of(former_deriving); !deriver.empty()) return deriver;
  if (value_of(app) != "cloche") return {};
  std::string id = value_of(owner);
  return id.empty() ? value_of(instance) : id;
}

std::optional<std::uint32_t> read_uid(const LabelMap& borne) {
  const auto found = borne.find(uid);
  if (found == borne.end()) return std::nullopt;
  const std::string& text = found->second;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

}  // namespace cloche::docker::labels

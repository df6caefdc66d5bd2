#include "backend/e2b/metadata.hpp"

#include "sandbox/spec_text.hpp"

namespace cloche::e2b::metadata {

Result<Metadata> for_sandbox(const SandboxSpec& spec, const SandboxId& id, const InstanceId& of) {
  Metadata all = spec.labels;
  for (const auto& [name, value] : all) {
    if (name.empty() || name.starts_with("cloche.")) {
      return fail(ErrorCode::invalid_argument,
                  "invalid label name '" + name + "': names starting with cloche. are reserved");
    }
  }
  // Everything is sent as JSON, which has no other bytes: it would change them silently.
  if (!read_spec(write_spec(spec)))
    return fail(ErrorCode::invalid_argument, "paths and labels must be UTF-8 for the e2b backend");
  all[app] = "cloche";
  all[owner] = of.value;
  all[instance] = of.name.empty() ? of.value : of.name;
  all[sandbox] = id.value;
  all[spec_json] = write_spec(spec);
  return all;
}

Metadata of_owner(const InstanceId& of) { return {{app, "cloche"}, {owner, of.value}}; }

Metadata of_sandbox(const InstanceId& of, const std::string& id) {
  Metadata wanted = of_owner(of);
  wanted[sandbox] = id;
  return wanted;
}

Metadata of_all() { return {{app, "cloche"}}; }

std::string value_of(const Metadata& all, const char* name) {
  const auto found = all.find(name);
  return found == all.end() ? std::string() : found->second;
}

}  // namespace cloche::e2b::metadata

#include "backend/kubernetes/pod/marks.hpp"

#include "core/percent_encoding.hpp"

namespace cloche::kubernetes::marks {

Marks labels_of(const SandboxId& id, const InstanceId& of) {
  return {{app, "cloche"}, {managed_by, "cloche"}, {owner, of.value}, {sandbox, id.value}, {state, "claimed"}};
}

std::string of_owner(const InstanceId& of) {
  return "labelSelector=" + percent_encoded(std::string(managed_by) + "=cloche," + owner + "=" + of.value);
}

std::string of_all() { return "labelSelector=" + percent_encoded(std::string(managed_by) + "=cloche"); }

std::string pod_name(const InstanceId& of, const std::string& sandbox_id) {
  constexpr std::size_t shown_of_owner = 8;
  std::string name = "cloche-";
  for (const char c : of.value) {
    if (name.size() >= std::string_view("cloche-").size() + shown_of_owner) break;
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) name += c;
  }
  return name + (name.ends_with('-') ? "" : "-") + sandbox_id;
}

std::string value_of(const Marks& all, const char* name) {
  const auto found = all.find(name);
  return found == all.end() ? std::string() : found->second;
}

}  // namespace cloche::kubernetes::marks

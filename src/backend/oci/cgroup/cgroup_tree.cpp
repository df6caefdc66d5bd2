// Where the cgroups of an instance are: the choice of hierarchies and parents.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

constexpr std::array<const char*, 3> needed = {"memory", "cpu", "pids"};
constexpr std::string_view cloche_prefix = "/cloche/";

bool has_word(const std::string& text, std::string_view word) {
  std::istringstream words(text);
  for (std::string next; words >> next;) {
    if (next == word) return true;
  }
  return false;
}

bool v2_offers(const std::string& directory, std::string_view controller) {
  const auto offered = read_file(directory + "/cgroup.controllers");
  return offered && has_word(*offered, controller);
}

// The top of the hierarchy where we may write there, as a daemon of the host does; else our own cgroup, which is all
// that a container or a service with delegation has.
std::string choose_parent(const CgroupMount& mount, const std::string& own) {
  if (::access(mount.mount_point.c_str(), W_OK) == 0) return mount.mount_point;
  if (!own.empty() && ::access(own.c_str(), W_OK) == 0) return own;
  return {};
}

// The names of the cgroups in a directory. Control files stand beside them.
std::vector<std::string> cgroups_in(const std::string& directory) {
  auto names = list_directory(directory);
  if (!names) return {};
  std::erase_if(*names, [&](const std::string& name) {
    return ::access((directory + "/" + name + "/cgroup.procs").c_str(), F_OK) != 0;
  });
  return std::move(*names);
}

std::unexpected<Error> missing(std::string_view controller, const CgroupLayout& layout) {
  return fail(
      ErrorCode::unsupported,
      "this host (cgroups: " + std::string(layout.kind()) + ") cannot limit " + std::string(controller) +
          ": no writable cgroup hierarchy has that controller; run as root, mount /sys/fs/cgroup writable and enable "
          "the controller (cgroup_enable=memory on the kernel's command line for memory)");
}

}  // namespace

Result<CgroupTree> CgroupTree::open(const CgroupLayout& layout, std::string_view proc_self_cgroup,
                                    std::string instance) {
  CgroupTree tree;
  tree.instance_ = std::move(instance);
  std::set<std::string> used;
  for (const char* controller : needed) {
    const CgroupMount* mount = layout.v1(controller);
    if (mount == nullptr) mount = layout.v2();
    if (mount == nullptr) return missing(controller, layout);
    const std::string own = own_cgroup_directory(*mount, proc_self_cgroup);
    const std::string parent = choose_parent(*mount, own);
    if (parent.empty()) return missing(controller, layout);
    if (mount->version == CgroupVersion::v2 && !v2_offers(parent, controller)) return missing(controller, layout);
    used.insert(mount->mount_point);
    if (tree.runtime_prefix_.empty())
      tree.runtime_prefix_ = parent.substr(mount->mount_point.size()) + std::string(cloche_prefix);
    const auto known = std::ranges::find(tree.places_, parent, &CgroupPlace::parent);
    if (known != tree.places_.end()) {
      known->controllers.emplace_back(controller);
    } else {
      tree.places_.push_back({mount->version, {controller}, parent, own, {}});
    }
  }
  for (const CgroupMount& mount : layout.mounts) {
    if (!used.contains(mount.mount_point)) tree.shadows_.push_back(mount.mount_point);
  }
  const std::string beside = tree.runtime_prefix_.substr(0, tree.runtime_prefix_.size() - cloche_prefix.size());
  const auto extra = [&](const char* controller) -> std::string {
    const CgroupMount* mount = layout.v1(controller);
    return mount == nullptr || used.contains(mount->mount_point) ? "" : mount->mount_point + beside;
  };
  tree.extras_.devices = extra("devices");
  if (std::ranges::find(tree.places_, CgroupVersion::v2, &CgroupPlace::version) != tree.places_.end()) return tree;
  // Without them a sandbox cannot be paused or measured, and is a sandbox all the same.
  const auto writable = [](std::string directory) {
    return ::access(directory.c_str(), W_OK) == 0 ? std::move(directory) : std::string();
  };
  tree.extras_.freezer = writable(extra("freezer"));
  tree.extras_.cpuacct = writable(extra("cpuacct"));
  const CgroupMount* const cpuacct = layout.v1("cpuacct");
  if (cpuacct != nullptr && cpuacct == layout.v1("cpu")) {
    const auto cpu = std::ranges::find_if(tree.places_, [](const CgroupPlace& place) { return place.has("cpu"); });
    tree.extras_.cpuacct = cpu->parent;
  }
  return tree;
}

Cgroup CgroupTree::at(const std::string& id) const {
  auto places = places_;
  for (CgroupPlace& place : places) place.directory = place.parent + "/cloche/" + instance_ + "/" + id;
  auto shadows = shadows_;
  for (std::string& shadow : shadows) shadow += runtime_prefix_ + instance_ + "/" + id;
  CgroupExtras extras = extras_;
  for (std::string* extra : {&extras.devices, &extras.freezer, &extras.cpuacct}) {
    if (!extra->empty()) extra->append(cloche_prefix).append(instance_ + "/" + id);
  }
  return {std::move(places), std::move(shadows), std::move(extras)};
}

std::string CgroupTree::path_for_runtime(const std::string& id) const { return runtime_prefix_ + instance_ + "/" + id; }

std::vector<std::string> CgroupTree::tops() const {
  std::vector<std::string> all;
  for (const CgroupPlace& place : places_) all.push_back(place.parent + "/cloche");
  for (const std::string& shadow : shadows_)
    all.push_back(shadow + runtime_prefix_.substr(0, runtime_prefix_.size() - 1));
  return all;
}

std::vector<std::string> CgroupTree::ids() const {
  std::set<std::string> found;
  for (const std::string& top : tops()) {
    for (std::string& name : cgroups_in(top + "/" + instance_)) found.insert(std::move(name));
  }
  return {found.begin(), found.end()};
}

std::vector<CgroupTree::OwnedDirectory> CgroupTree::all_directories() const {
  std::vector<OwnedDirectory> all;
  for (const std::string& top : tops()) {
    for (const std::string& instance : cgroups_in(top)) {
      const std::string directory = top + "/" + instance;
      const auto sandboxes = cgroups_in(directory);
      if (sandboxes.empty()) all.push_back({instance, directory});
      for (const std::string& id : sandboxes) all.push_back({instance, directory + "/" + id});
    }
  }
  return all;
}

void CgroupTree::remove_empty() const {
  for (const std::string& top : tops()) {
    if (::rmdir((top + "/" + instance_).c_str()) == 0) ::rmdir(top.c_str());
  }
}

}  // namespace cloche::oci

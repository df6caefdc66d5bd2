#include "config/sections/profile_section.hpp"

#include <algorithm>
#include <set>

#include "config/environment.hpp"
#include "config/scalars.hpp"
#include "config/sections/limits_section.hpp"
#include "config/sections/network_section.hpp"
#include "config/text.hpp"
#include "sandbox/spec.hpp"

namespace cloche::config {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_zygotes = 8;  // that an agent keeps

bool is_not_empty(std::string_view text) { return !text.empty(); }

bool is_module(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
}

void read_mount(Section& section, SandboxSpec& spec) {
  Mount mount;
  section.text("source", mount.source);
  section.text("target", mount.target);
  section.choice("access", mount.access, {{"read_only", Access::read_only}, {"read_write", Access::read_write}});
  if (!section.has("source") || !section.has("target")) return section.refuse("a mount needs a source and a target");
  spec.mounts.push_back(std::move(mount));
}

// The options of an interpreter that is kept ready.
void read_interpreter(Section& section, std::string& interpreter, std::vector<std::string>& imports) {
  section.text("interpreter", interpreter, "a program", is_not_empty);
  section.texts("imports", imports);
  for (const std::string& import : imports) {
    if (!is_module(import)) section.refuse("imports", shown(import) + " is not a module name");
  }
}

void add_zygote(Section& section, Profile& profile) {
  ZygoteSpec zygote = read_zygote(section);
  for (const ZygoteSpec& other : profile.zygotes) {
    if (other.name == zygote.name) section.refuse("duplicate zygote name " + shown(zygote.name));
  }
  profile.zygotes.push_back(std::move(zygote));
}

void read_labels(Section& section, SandboxSpec& spec) {
  section.texts("labels", spec.labels);
  for (const auto& [name, value] : spec.labels) {
    if (name.empty() || name.starts_with("cloche.")) {
      section.refuse("labels", "invalid label name " + shown(name) + ": names starting with cloche. are reserved");
    }
  }
}

void read_sandbox(Section& section, SandboxSpec& spec, LimitOverrides& limits_set) {
  section.text("image", spec.image);
  section.text("runtime", spec.runtime, "the name of a runtime, or auto", is_not_empty);
  section.text("work_dir", spec.work_dir);
  if (section.has("uid")) section.whole("uid", spec.uid.emplace(usual_uid), {1, 65533});
  section.whole("gid", spec.gid, {1, 65533});
  section.text("user", spec.user);
  section.choice("root", spec.root, {{"true", true}, {"false", false}});
  section.text("hostname", spec.hostname);
  section.section("limits", [&](Section& limits) { read_limits(limits, spec.limits, limits_set); });
  section.list("mounts", [&](Section& mount) { read_mount(mount, spec); });
  read_labels(section, spec);
  section.duration("ready_timeout", spec.ready_timeout, {1ms, 1h});
}

void read_workspace(Section& section, SandboxSpec& spec, Bytes most_disk) {
  section.choice("workspace", spec.workspace, {{"memory", WorkspaceKind::memory}, {"disk", WorkspaceKind::disk}});
  const auto size = read_disk_size(section, most_disk);
  if (!size) return;
  spec.disk_size = *size;
  if (spec.workspace == WorkspaceKind::memory) section.refuse("disk_size", "requires `workspace: disk`");
}

// `all`, a number or a list.
void read_gpus(Section& section, GpuRequest& gpus) {
  if (section.kind("gpus") == YamlNode::Kind::list) {
    section.texts("gpus", gpus.ids);
    if (gpus.ids.empty()) section.refuse("gpus", "an empty list; write `gpus: 0`, or leave it out, for none");
    return;
  }
  const auto count_of = [](std::string_view text) { return parse_whole(text).value_or(most_gpus + 1); };
  std::string word;
  section.text("gpus", word,
               "all, a number from 0 to " + std::to_string(most_gpus) + ", or a list of indexes and UUIDs",
               [&](std::string_view text) { return text == "all" || count_of(text) <= most_gpus; });
  gpus.all = word == "all";
  if (!gpus.all && !word.empty()) gpus.count = static_cast<std::uint32_t>(count_of(word));
}

void read_interpreters(Section& section, Profile& profile) {
  section.list("zygotes", [&](Section& zygote) { add_zygote(zygote, profile); });
  section.section("scripts", [&](Section& scripts) {
    ScriptHarness& harness = profile.scripts.emplace();
    read_interpreter(scripts, harness.interpreter, harness.imports);
  });
  // The harness of scripts is one of them to the agent.
  if (profile.zygotes.size() + (profile.scripts ? 1 : 0) > most_zygotes) {
    section.refuse("zygotes", "a sandbox keeps at most " + std::to_string(most_zygotes) +
                                  " of them, the one for `scripts` included");
  }
}

void read_environment(Section& section, Profile& profile) {
  read_variables(section, "env", profile.env);
  section.texts("secrets", profile.secrets);
  std::set<std::string> seen;
  for (const std::string& name : profile.secrets) {
    if (!is_variable_name(name)) section.refuse("secrets", shown(name) + " is not a valid environment variable name");
    if (!seen.insert(name).second) section.refuse("secrets", shown(name) + " is given twice");
  }
}

}  // namespace

void read_variables(Section& section, std::string_view key, std::map<std::string, std::string>& variables) {
  section.texts(key, variables);
  for (const auto& [name, value] : variables) {
    if (name.empty() || name.find('=') != name.npos) {
      section.refuse(key, shown(name) + " is not a valid environment variable name");
    }
  }
}

std::optional<Bytes> read_disk_size(Section& section, Bytes most) {
  Bytes size;
  section.size("disk_size", size);
  if (!section.has("disk_size")) return std::nullopt;
  if (size < least_disk || size > most) {
    section.refuse("disk_size",
                   "must be from " + to_string(least_disk) + " to " + to_string(most) + ", which is disk.max_size");
  }
  return size;
}

ZygoteSpec read_zygote(Section& section) {
  ZygoteSpec zygote;
  section.text("name", zygote.name, "a name of lower-case letters, digits, '_' and '-'", is_profile_name);
  read_interpreter(section, zygote.interpreter, zygote.imports);
  return zygote;
}

bool is_profile_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 && std::ranges::all_of(text, [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '_' || c == '-';
  });
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && !std::isdigit(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Profile read_profile(const std::string& name, Section& section, const ProfileDefaults& defaults) {
  Profile profile;
  profile.name = name;
  profile.sandbox.image = defaults.image;
  profile.sandbox.limits = defaults.limits;
  profile.limits_set = defaults.limits_set;
  if (!is_profile_name(name)) {
    section.refuse("a profile name must be lower-case letters, digits, '_' and '-', at most 32, not " + shown(name));
  }
  read_sandbox(section, profile.sandbox, profile.limits_set);
  read_workspace(section, profile.sandbox, defaults.most_disk);
  read_gpus(section, profile.sandbox.gpus);
  PoolDraft pool = defaults.pool;
  // A sandbox that is kept warm keeps its GPUs from all others.
  if (!profile.sandbox.gpus.empty()) pool.options.pool_size = 0;
  section.section("pool", [&](Section& below) { read_pool(below, pool); });
  if (const auto finished = finished_pool(pool)) {
    profile.pool = *finished;
  } else {
    section.refuse("pool", finished.error().message);
  }
  read_network(section, profile.network);
  if (!profile.sandbox.gpus.empty() && profile.network.mode != Network::none && !defaults.gpus_with_network) {
    section.refuse("network", std::string(no_network_with_gpus));
  }
  read_interpreters(section, profile);
  read_environment(section, profile);
  section.check(validate(profile.sandbox));
  return profile;
}

}  // namespace cloche::config

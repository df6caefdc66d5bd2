// The archive that turns an image into one that sandboxes are made from: the agent, and the places that are mounted
// over.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backend/docker/engine/options.hpp"
#include "core/result.hpp"
#include "sandbox/spec.hpp"

namespace cloche::docker {

// The agent's program, and the checksum that identifies it.
struct AgentProgram {
  std::string bytes;
  std::string sha256;  // hexadecimal
};

// Reads it from this machine: blocking. `not_found` with advice if it does not exist.
Result<std::shared_ptr<const AgentProgram>> load_agent(const std::string& path);

// The parts of a spec that the derived image depends on. Some runtimes give a tmpfs the mode of its mount point in the
// image, whatever the configuration says, so the mount points are created with the right mode there.
struct ImageLayout {
  std::string work_dir;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  HostUids users{0, 0};  // each gets an entry in /etc/passwd; none: only `uid` does
  std::string user = "sandbox";
  bool root = false;  // programs may be root: `sudo` is Cloche's own, whatever the image has
};
ImageLayout layout_of(const SandboxSpec& spec, HostUids users);

// Maps names that the image lacks to programs: `python` to `/usr/bin/python3`. They become links in a directory of
// Cloche, the last one in the PATH of programs.
using OtherNames = std::map<std::string, std::string>;

// The text of /etc/passwd with an entry for each of the layout's users, behind those that it has. Without a range, the
// one for its uid comes first, if it needs one.
std::string with_users(std::string passwd, const ImageLayout& layout);
// The text of /etc/group with the group of the users.
std::string with_group(const std::string& group, const ImageLayout& layout);

// What is put into the image beside the agent.
struct ImageAdditions {
  OtherNames names;
  std::optional<std::string> passwd;  // the new text, if /etc/passwd changes
  std::optional<std::string> group;   // the same of /etc/group
};

// A tar archive to be unpacked in `/`. Blocking: it copies the agent.
Result<std::string> make_archive(const AgentProgram& agent, const ImageLayout& layout, const ImageAdditions& additions);

// The tag of the image that comes of it: the same for the same base image, agent and layout, and for nothing else.
struct DerivedTag {
  std::string repository;
  std::string tag;
  std::string reference() const { return repository + ":" + tag; }
};
DerivedTag derived_tag(std::string_view base_image_id, const AgentProgram& agent, const ImageLayout& layout);

}  // namespace cloche::docker

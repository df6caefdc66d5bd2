#include "config/sections/limits_section.hpp"

#include "sandbox/limits.hpp"

namespace cloche::config {

namespace {

// Sizes that are the image's on the configured backend: their keys are known, and refused.
void refuse_sizes(Section& section) {
  for (const char* key : {"memory", "cpus", "work_dir", "tmp_dir", "shm_dir"}) {
    std::string given;
    section.text(key, given);
    if (!section.has(key)) continue;
    section.refuse(key,
                   "cannot be set with this backend: memory, cpus and the sizes of directories are those of the "
                   "sandbox's template; leave it out, or use a template with these sizes");
  }
}

}  // namespace

void read_limits(Section& section, Limits& limits, LimitOverrides& set) {
  if (are_of_image(limits)) {
    refuse_sizes(section);
    section.whole("pids", limits.pids, {});
    section.size("file_size", limits.file_size);
    section.whole("open_files", limits.open_files, {});
    section.check(validate(limits));
    if (section.has("pids")) set.pids = limits.pids;
    if (section.has("file_size")) set.file_size = limits.file_size;
    if (section.has("open_files")) set.open_files = limits.open_files;
    return;
  }
  section.size("memory", limits.memory);
  section.real("cpus", limits.cpus);
  section.whole("pids", limits.pids, {});
  section.size("file_size", limits.file_size);
  section.whole("open_files", limits.open_files, {});
  section.size("work_dir", limits.work_dir);
  section.size("tmp_dir", limits.tmp_dir);
  section.size("shm_dir", limits.shm_dir);
  section.check(validate(limits));
  if (section.has("memory")) set.memory = limits.memory;
  if (section.has("cpus")) set.cpus = limits.cpus;
  if (section.has("pids")) set.pids = limits.pids;
  if (section.has("file_size")) set.file_size = limits.file_size;
  if (section.has("open_files")) set.open_files = limits.open_files;
}

void read_max_limits(Section& section, LimitOverrides& most) {
  Limits limits = most.over({});
  section.size("memory", limits.memory);
  section.real("cpus", limits.cpus);
  section.whole("pids", limits.pids, {});
  section.size("file_size", limits.file_size);
  section.whole("open_files", limits.open_files, {});
  section.check(validate(limits));
  most = {limits.memory, limits.cpus, limits.pids, limits.file_size, limits.open_files};
}

}  // namespace cloche::config

#include "language/default_profiles.hpp"

#include <algorithm>

#include "process/programs.hpp"
#include "sandbox/backend_traits.hpp"
#include "sandbox/limits.hpp"

namespace cloche {

namespace {

// What a service has in its templates is not known here, and sandboxes that wait there cost money.
void fit_to_backend(Profile& profile, const BackendTraits& backend) {
  if (backend.has_sizes_of_image) profile.sandbox.limits = limits_of_image(profile.sandbox.limits);
  if (backend.images != BackendTraits::Images::templates) return;
  profile.sandbox.image.clear();
  profile.pool.pool_size = 0;
}

bool can_run(const Language& language, const BackendTraits& backend, const HasProgram& has) {
  if (backend.needs_image) return !language.image.empty();
  return std::ranges::all_of(language.toolchain, [&](const Tool& tool) { return has(tool.program); });
}

void make_room_for(Limits& limits, const StepLimits& step) {
  if (step.memory) limits.memory = std::max(limits.memory, *step.memory);
  if (step.pids) limits.pids = std::max(limits.pids, *step.pids);
  if (step.file_size) limits.file_size = std::max(limits.file_size, *step.file_size);
}

}  // namespace

bool host_has_program(const std::string& program) {
  // The search path for programs in sandboxes made from the host's own /usr.
  return process::find_program(program, process::directories_of(process::system_path)).has_value();
}

std::vector<Profile> default_profiles(const LanguageRegistry& languages, BackendKind kind, const HasProgram& has) {
  const BackendTraits& backend = traits_of(kind);
  std::map<std::string, Profile> profiles;
  for (const auto& [name, language] : languages.all()) {
    if (!can_run(language, backend, has)) continue;
    Profile& profile = profiles[language.profile];
    if (profile.name.empty()) {
      profile.name = language.profile;
      profile.pool.pool_size = 1;
      if (backend.needs_image) profile.sandbox.image = language.image;
    }
    make_room_for(profile.sandbox.limits, language.compile_limits);
    make_room_for(profile.sandbox.limits, language.run_limits);
    if (language.zygote) profile.zygotes.push_back(*language.zygote);
  }
  std::vector<Profile> all;
  all.reserve(profiles.size());
  for (auto& [name, profile] : profiles) {
    fit_to_backend(profile, backend);
    all.push_back(std::move(profile));
  }
  return all;
}

Profile session_profile(const LanguageRegistry& languages, BackendKind kind, const std::string& image,
                        std::uint32_t most_sessions, const HasProgram& has) {
  const BackendTraits& backend = traits_of(kind);
  Profile profile;
  profile.name = "session";
  if (backend.needs_image) profile.sandbox.image = image;
  Limits& limits = profile.sandbox.limits;
  limits.memory = mib(512);
  limits.cpus = 1;
  limits.pids = 128;
  limits.file_size = mib(64);
  limits.work_dir = mib(256);
  profile.pool.pool_size = most_sessions == 0 ? 0 : 2;
  profile.pool.scale_limit = most_sessions + 2;
  const auto python = languages.find("python");
  const bool has_python = backend.needs_image || has("python3");
  if (python && python->zygote && has_python) profile.zygotes.push_back(*python->zygote);
  fit_to_backend(profile, backend);
  return profile;
}

}  // namespace cloche

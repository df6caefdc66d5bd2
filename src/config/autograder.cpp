#include "config/autograder.hpp"

#include "config/sections/pool_section.hpp"
#include "config/sections/profile_section.hpp"
#include "sandbox/backend_traits.hpp"
#include "sandbox/spec.hpp"

namespace cloche::config {

namespace {

struct GraderLanguage {
  const char* name;
  const char* image;
};

constexpr GraderLanguage grader_languages[] = {{"python", "sandbox-py:latest"},
                                               {"java", "sandbox-java:latest"},
                                               {"node", "sandbox-node:latest"},
                                               {"cpp", "sandbox-cpp:latest"},
                                               {"c", "sandbox-cpp:latest"}};

// The defaults of Limits are those of the autograder's containers; repeated here so that they stay the same.
Limits grader_limits() {
  Limits limits;
  limits.memory = mib(128);
  limits.cpus = 0.5;
  limits.pids = 64;
  limits.file_size = mib(10);
  limits.work_dir = mib(64);
  limits.tmp_dir = mib(32);
  return limits;
}

}  // namespace

bool is_autograder(const Section& top) { return top.has("general"); }

void read_autograder(Section& top, ManagerOptions& options) {
  options.name_prefix = "ag-sbx";
  PoolDraft general;
  general.options.at_limit = AtLimit::fail;  // its callers expect an error instead of waiting
  top.section("general", [&](Section& section) { read_pool(section, general); });

  std::map<std::string, PoolDraft> pools;
  for (const GraderLanguage& language : grader_languages) pools[language.name] = general;
  top.section("languages", [&](Section& languages) {
    for (auto& [name, pool] : pools) {
      languages.section(name, [&pool](Section& section) { read_pool(section, pool); });
    }
  });
  for (auto& [name, pool] : pools) {
    top.section(name, [&pool](Section& section) { read_pool(section, pool); });
  }

  for (const GraderLanguage& language : grader_languages) {
    Profile profile;
    profile.name = language.name;
    const BackendTraits& backend = traits_of(options.engine.backend);
    if (backend.needs_image && backend.images != BackendTraits::Images::templates)
      profile.sandbox.image = language.image;
    profile.sandbox.work_dir = "/app";
    profile.sandbox.limits = grader_limits();
    if (backend.has_sizes_of_image) profile.sandbox.limits = limits_of_image(profile.sandbox.limits);
    if (const auto pool = finished_pool(pools[language.name])) {
      profile.pool = *pool;
    } else {
      top.refuse(top.has(language.name) ? language.name : "general", pool.error().message);
    }
    top.check(validate(profile.sandbox));
    options.profiles.push_back(std::move(profile));
  }
}

}  // namespace cloche::config

#include "config/config.hpp"

#include <algorithm>
#include <cctype>

#include "config/autograder.hpp"
#include "config/host_file.hpp"
#include "config/sections/dialects_section.hpp"
#include "config/sections/egress_section.hpp"
#include "config/sections/limits_section.hpp"
#include "config/sections/profile_section.hpp"
#include "config/sections/secrets_section.hpp"
#include "config/sections/server_section.hpp"
#include "config/sections/service_sections.hpp"
#include "config/sections/tenants_section.hpp"
#include "config/sections/volume_section.hpp"
#include "egress/policy/choice.hpp"
#include "sandbox/backend_traits.hpp"
#include "sandbox/spec.hpp"

namespace cloche::config {

namespace {

using namespace std::chrono_literals;

constexpr const char* usual_path = "/etc/cloche/cloche.yml";
constexpr std::string_view path_rule = "an absolute path without '..', '.' or empty parts";
constexpr std::uint64_t most_at_once = 1000;

// Room is left for what a sandbox's name has behind it, and for engines that take 63 characters.
bool is_name_prefix(std::string_view text) {
  return !text.empty() && text.size() <= 16 && std::isalnum(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_engine_address(std::string_view text) { return text.starts_with("unix://") || text.starts_with("tcp://"); }

void read_docker(Section& section, const Environment&, EngineOptions& options) {
  section.whole("first_uid", options.docker_first_uid, {65'536, 0x7fff'0000});
  section.whole("uids", options.docker_uids, {0, 16'384});
  section.text("host", options.docker_host, "unix:///path or tcp://host:port", is_engine_address);
  section.texts("host_path_map", options.host_path_map);
  for (const auto& [ours, hosts] : options.host_path_map) {
    if (!is_clean_absolute_path(ours) || !is_clean_absolute_path(hosts)) {
      section.refuse("host_path_map", "keys and values must each be " + std::string(path_rule));
    }
  }
}

bool is_web_address(std::string_view text) { return text.starts_with("http://") || text.starts_with("https://"); }

void read_flag(Section& section, std::string_view key, std::optional<bool>& value) {
  if (section.has(key)) section.choice(key, value.emplace(), {{"true", true}, {"false", false}});
}

void read_e2b(Section& section, const Environment& environment, EngineOptions& options) {
  E2bOptions& e2b = options.e2b;
  // A key that is written here by mistake must not become part of an error.
  if (section.kind("api_key") == YamlNode::Kind::scalar) {
    std::string ignored;
    section.text("api_key", ignored);
    section.refuse("api_key", "must be `{env: NAME}` or `{file: PATH}`, not the key itself");
  } else {
    section.section("api_key", [&](Section& place) { e2b.api_key = read_key(place, environment); });
  }
  section.text("domain", e2b.domain);
  section.text("template", e2b.template_name);
  read_flag(section, "allow_internet_access", e2b.allow_internet_access);
  read_flag(section, "secure_access", e2b.secure_access);
  section.text("api_url", e2b.api_url, "http://HOST:PORT or https://HOST", is_web_address);
  section.text("sandbox_url", e2b.sandbox_url, "http://HOST:PORT or https://HOST", is_web_address);
}

void read_kubernetes(Section& section, const Environment&, EngineOptions& options) {
  KubernetesOptions& kubernetes = options.kubernetes;
  section.text("kubeconfig", kubernetes.kubeconfig);
  section.text("context", kubernetes.context);
  section.text("namespace", kubernetes.namespace_name);
  section.text("agent_image", kubernetes.agent_image);
  const auto is_policy = [](std::string_view text) {
    return text == "Always" || text == "IfNotPresent" || text == "Never";
  };
  section.text("image_pull_policy", kubernetes.image_pull_policy, "one of Always, IfNotPresent, Never", is_policy);
  section.texts("image_pull_secrets", kubernetes.image_pull_secrets);
  using Way = KubernetesOptions::AgentVolume;
  section.choice("agent_volume", kubernetes.agent_volume,
                 {{"auto", Way::automatic}, {"image", Way::image}, {"init_container", Way::init_container}});
  section.texts("node_selector", kubernetes.node_selector);
  section.list("tolerations", [&](Section& taint) {
    KubernetesOptions::Toleration toleration;
    taint.text("key", toleration.key);
    taint.text("value", toleration.value);
    const auto is_effect = [](std::string_view text) {
      return text == "NoSchedule" || text == "PreferNoSchedule" || text == "NoExecute";
    };
    taint.text("effect", toleration.effect, "one of NoSchedule, PreferNoSchedule, NoExecute", is_effect);
    kubernetes.tolerations.push_back(std::move(toleration));
  });
}

void read_disk(Section& section, DiskOptions& options) {
  section.text("dir", options.dir, path_rule, is_clean_absolute_path);
  section.size("max_size", options.max_size);
  section.size("max_total", options.max_total);
  section.choice("allocation", options.preallocate, {{"as_written", false}, {"at_once", true}});
  if (options.max_size < least_disk) section.refuse("max_size", "must be at least " + to_string(least_disk));
  if (section.has("max_total") && options.max_total < options.max_size) {
    section.refuse("max_total", "must not be less than max_size, which is " + to_string(options.max_size));
  }
}

// Settings of one backend: a section of its name.
constexpr std::pair<std::string_view, void (*)(Section&, const Environment&, EngineOptions&)> backend_sections[] = {
    {"docker", &read_docker}, {"e2b", &read_e2b}, {"kubernetes", &read_kubernetes}};

void read_engine(Section& top, const Environment& environment, EngineOptions& options) {
  std::string backend;
  const auto is_backend = [](std::string_view name) { return find_backend(name) != nullptr; };
  top.text("backend", backend, "one of " + backend_names(), is_backend);
  if (const BackendTraits* found = find_backend(backend)) options.backend = found->kind;
  top.text("state_dir", options.state_dir, path_rule, is_clean_absolute_path);
  top.text("run_dir", options.run_dir, path_rule, is_clean_absolute_path);
  top.text("instance", options.instance, "letters, digits and '-', at most 40", is_instance);
  top.texts("runtimes", options.runtimes);
  for (const auto& [name, path] : options.runtimes) {
    if (!is_instance(name) || name == "auto") {
      top.refuse("runtimes", "names must be letters, digits and '-', at most 40, and must not be 'auto'");
    }
    if (!is_clean_absolute_path(path)) top.refuse("runtimes", "values must be " + std::string(path_rule));
  }
  top.section("disk", [&](Section& section) { read_disk(section, options.disk); });
  for (const auto& [name, read] : backend_sections) {
    top.section(name, [&](Section& section) { read(section, environment, options); });
  }
}

void read_manager(Section& top, const Environment& environment, Config& config) {
  ManagerOptions& options = config.manager;
  top.text("name_prefix", options.name_prefix, "letters, digits, '-', '_' and '.', at most 16", is_name_prefix);
  top.section("secrets", [&](Section& section) {
    Secrets secrets = read_secrets(section, environment);
    options.secrets = std::move(secrets.values);
    config.access.secrets = std::move(secrets.tenants);
    config.holds_secrets = secrets.given_by_value;
  });
  top.section("egress", [&](Section& section) {
    Egress egress = read_egress(section, environment);
    options.egress = std::move(egress.options);
    config.access.rule_sets = std::move(egress.rule_sets);
    config.access.network = std::move(egress.choose);
    config.holds_secrets = config.holds_secrets || egress.holds_secrets;
  });
  top.whole("max_making", options.max_making, {1, most_at_once});
  top.whole("max_removing", options.max_removing, {1, most_at_once});
  top.duration("drain_timeout", options.drain_timeout, {0ms, 24h});
}

void check_network(Section& section, const Profile& profile, const EgressOptions& options) {
  const auto sets = egress::to_rule_sets(options);
  if (!sets) return;  // reported where they are
  const auto policy = egress::policy_of(profile.network, *sets, egress::Rights::of_operator());
  if (!policy) section.refuse("network", policy.error().message);
}

void read_profiles(Section& top, const Environment& environment, Config& config) {
  ManagerOptions& options = config.manager;
  ProfileDefaults defaults;
  defaults.image = default_image(environment, options.engine.backend);
  if (traits_of(options.engine.backend).has_sizes_of_image) defaults.limits = limits_of_image(defaults.limits);
  defaults.gpus_with_network = config.sessions.gpus_with_network;
  defaults.most_disk = options.engine.disk.max_size;
  top.section("pool", [&](Section& section) { read_pool(section, defaults.pool); });
  top.section("limits", [&](Section& section) { read_limits(section, defaults.limits, defaults.limits_set); });
  top.sections("profiles", [&](const std::string& name, Section& section) {
    options.profiles.push_back(read_profile(name, section, defaults));
    check_network(section, options.profiles.back(), options.egress);
    auto volumes = read_volumes(section, options.profiles.back().sandbox);
    if (auto tenants = read_tenants(section)) {
      config.access.profiles.insert_or_assign(name, std::move(*tenants));
    } else if (!volumes.empty()) {
      section.refuse("volumes", "requires `tenants: [NAME, ...]`: who may use the profile, and so read these volumes");
    }
    if (!volumes.empty()) config.volumes.insert_or_assign(name, std::move(volumes));
  });
}

void read_service(Section& top, Config& config) {
  top.section("server", [&](Section& section) { read_server(section, config.server); });
  top.section("sessions",
              [&](Section& section) { read_sessions(section, config.manager.engine.disk.max_size, config.sessions); });
  top.section("snapshots", [&](Section& section) { read_snapshots(section, config.snapshots); });
  top.section("dialects", [&](Section& section) { read_dialects(section, config.dialects); });
  top.section("log", [&](Section& section) { read_log(section, config.log); });
}

}  // namespace

Result<Config> parse_config(std::string_view text, const std::string& name, const Environment& environment) {
  CLOCHE_TRY(const YamlNode root, parse_yaml(text, name));
  ConfigErrors errors(name);
  Section top(errors, root, "", 1);
  Config config;
  const bool autograder = is_autograder(top);
  if (!autograder) read_engine(top, environment, config.manager.engine);
  CLOCHE_CHECK(apply_environment(environment, config.manager.engine));
  CLOCHE_TRY(config.sessions.gpus_with_network, allows_gpus_with_network(environment));
  if (autograder) {
    read_autograder(top, config.manager);
  } else {
    read_manager(top, environment, config);
    read_profiles(top, environment, config);
    config.languages = top.part("languages");
    read_service(top, config);
  }
  config.sessions.image = default_image(environment, config.manager.engine.backend);
  CLOCHE_CHECK(apply_environment(environment, config.sessions));
  top.finish();
  CLOCHE_CHECK(errors.status());
  return config;
}

Result<Config> read_config(const std::string& path, const Environment& environment) {
  std::string file = path.empty() ? variable(environment, "CLOCHE_CONFIG") : path;
  const bool optional = file.empty();
  if (optional) file = usual_path;
  auto read = read_host_file(file, max_document);
  if (!read && optional && read.error().code == ErrorCode::not_found) return parse_config("", file, environment);
  if (!read) return fail(std::move(read).error().at("configuration"));
  CLOCHE_TRY(Config config, parse_config(read->content, file, environment));
  if (config.holds_secrets && read->others_can_read) {
    return fail(ErrorCode::invalid_argument,
                file + ": it contains secret values and every user of this host can read it: run chmod o-r on it, or " +
                    "refer to the secrets with `{file: …}` or `{env: …}`");
  }
  return config;
}

}  // namespace cloche::config

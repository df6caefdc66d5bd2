#include "config/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "config/scalars.hpp"
#include "config/sections/service_sections.hpp"
#include "config/text.hpp"
#include "core/bytes.hpp"
#include "core/text.hpp"
#include "sandbox/backend_traits.hpp"
#include "sandbox/spec.hpp"

namespace cloche::config {

namespace {

std::unexpected<Error> refused(std::string_view name, const std::string& why) {
  return fail(ErrorCode::invalid_argument, "environment variable " + std::string(name) + " " + why);
}

Status apply_directory(const Environment& environment, const std::string& name, std::string& value) {
  const std::string given = variable(environment, name);
  if (given.empty()) return {};
  if (!is_clean_absolute_path(given)) {
    return refused(name, "must be an absolute path without '..', '.' or empty parts, not " + shown(given));
  }
  value = given;
  return {};
}

Status apply_backend(const Environment& environment, EngineOptions& options) {
  const std::string name = variable(environment, "CLOCHE_BACKEND").empty() ? "SANDBOX_BACKEND" : "CLOCHE_BACKEND";
  const std::string given = variable(environment, name);
  if (given.empty()) return {};
  const auto kind = parse_backend(given);
  if (!kind) return refused(name, kind.error().message);
  options.backend = *kind;
  return {};
}

// `true` and `false` as people write them; nothing is false.
Result<bool> flag(const Environment& environment, const std::string& name) {
  const std::string given = variable(environment, name);
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return same_word(given, word); });
  };
  if (is_one_of({"", "false", "0", "no", "off"})) return false;
  if (is_one_of({"true", "1", "yes", "on"})) return true;
  return refused(name, "must be true or false, not " + shown(given));
}

Status apply_flag(const Environment& environment, const std::string& name, std::optional<bool>& value) {
  if (variable(environment, name).empty()) return {};
  CLOCHE_TRY(value, flag(environment, name));
  return {};
}

Status apply_e2b(const Environment& environment, E2bOptions& options) {
  const auto apply = [&](const char* name, std::string& value) {
    if (std::string given = variable(environment, name); !given.empty()) value = std::move(given);
  };
  apply("E2B_API_KEY", options.api_key);
  apply("E2B_DOMAIN", options.domain);
  apply("E2B_TEMPLATE", options.template_name);
  apply("E2B_API_URL", options.api_url);
  apply("E2B_SANDBOX_URL", options.sandbox_url);
  CLOCHE_CHECK(apply_flag(environment, "E2B_ALLOW_INTERNET_ACCESS", options.allow_internet_access));
  return apply_flag(environment, "E2B_SECURE_ACCESS", options.secure_access);
}

void apply_kubernetes(const Environment& environment, KubernetesOptions& options) {
  const auto apply = [&](const char* name, std::string& value) {
    if (std::string given = variable(environment, name); !given.empty()) value = std::move(given);
  };
  apply("KUBECONFIG", options.kubeconfig);
  apply("CLOCHE_KUBERNETES_CONTEXT", options.context);
  apply("CLOCHE_KUBERNETES_NAMESPACE", options.namespace_name);
  apply("CLOCHE_KUBERNETES_AGENT_IMAGE", options.agent_image);
}

}  // namespace

Environment process_environment() {
  Environment all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != text.npos) all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

std::string variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

Status apply_environment(const Environment& environment, EngineOptions& options) {
  CLOCHE_CHECK(apply_backend(environment, options));
  CLOCHE_CHECK(apply_directory(environment, "CLOCHE_STATE_DIR", options.state_dir));
  CLOCHE_CHECK(apply_directory(environment, "CLOCHE_RUN_DIR", options.run_dir));
  if (const std::string instance = variable(environment, "CLOCHE_INSTANCE"); !instance.empty()) {
    if (!is_instance(instance)) {
      return refused("CLOCHE_INSTANCE", "must be letters, digits and '-', at most 40, not " + shown(instance));
    }
    options.instance = instance;
  }
  for (const BackendTraits& backend : all_backends()) {
    if (backend.engine == nullptr) continue;
    const std::string address = variable(environment, std::string(backend.engine_variable));
    if (!address.empty()) options.*backend.engine = address;
  }
  CLOCHE_CHECK(apply_e2b(environment, options.e2b));
  apply_kubernetes(environment, options.kubernetes);
  return {};
}

Status apply_environment(const Environment& environment, SessionSettings& settings) {
  if (const std::string idle = variable(environment, "SANDBOX_IDLE_TIMEOUT"); !idle.empty()) {
    const auto duration = parse_duration(idle);
    if (!duration || *duration < std::chrono::seconds(1)) {
      return refused("SANDBOX_IDLE_TIMEOUT", "must be a number of seconds, at least 1, not " + shown(idle));
    }
    settings.idle_timeout = std::chrono::ceil<std::chrono::seconds>(*duration);
  }
  if (const std::string most = variable(environment, "SANDBOX_MAX_SESSIONS"); !most.empty()) {
    const auto number = parse_whole(most);
    if (!number || *number > most_sessions) {
      return refused("SANDBOX_MAX_SESSIONS",
                     "must be a whole number from 0 to " + std::to_string(most_sessions) + ", not " + shown(most));
    }
    settings.most = static_cast<std::uint32_t>(*number);
  }
  if (const std::string memory = variable(environment, "SANDBOX_MEM_LIMIT"); !memory.empty()) {
    const auto bytes = parse_bytes(memory);
    if (!bytes)
      return refused("SANDBOX_MEM_LIMIT", "must be an amount of memory like 512m or 1g, not " + shown(memory));
    settings.memory = *bytes;
  }
  CLOCHE_TRY(settings.gpus, flag(environment, "SANDBOX_GPU_ENABLED"));
  return {};
}

Result<bool> allows_gpus_with_network(const Environment& environment) {
  return flag(environment, "SANDBOX_GPU_NETWORK_ENABLED");
}

std::string default_image(const Environment& environment, BackendKind backend) {
  const BackendTraits& traits = traits_of(backend);
  const std::string given = variable(environment, std::string(traits.image_variable));
  return given.empty() ? std::string(traits.usual_image) : given;
}

bool is_instance(std::string_view text) {
  return !text.empty() && text.size() <= 40 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '-'; });
}

}  // namespace cloche::config

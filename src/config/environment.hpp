// Environment variables that override a configuration file.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cloche/engine_options.hpp"
#include "config/settings.hpp"
#include "core/result.hpp"

namespace cloche::config {

// Names and values. An empty variable counts as unset. Command line flags override variables: a program puts its flags
// in here first.
using Environment = std::map<std::string, std::string>;

// This process's.
Environment process_environment();

std::string variable(const Environment& environment, const std::string& name);

// CLOCHE_BACKEND (or SANDBOX_BACKEND), CLOCHE_STATE_DIR, CLOCHE_RUN_DIR, CLOCHE_INSTANCE, and the addresses of engines:
// DOCKER_HOST. And E2B_API_KEY, E2B_DOMAIN, E2B_TEMPLATE, E2B_ALLOW_INTERNET_ACCESS, E2B_SECURE_ACCESS, E2B_API_URL and
// E2B_SANDBOX_URL, which are those of E2B's own clients, too: other backends ignore them. And KUBECONFIG,
// CLOCHE_KUBERNETES_CONTEXT, CLOCHE_KUBERNETES_NAMESPACE and CLOCHE_KUBERNETES_AGENT_IMAGE.
Status apply_environment(const Environment& environment, EngineOptions& options);

// SANDBOX_IDLE_TIMEOUT, SANDBOX_MAX_SESSIONS, SANDBOX_MEM_LIMIT and SANDBOX_GPU_ENABLED.
Status apply_environment(const Environment& environment, SessionSettings& settings);

// SANDBOX_GPU_NETWORK_ENABLED: whether a profile with GPUs may have a network.
Result<bool> allows_gpus_with_network(const Environment& environment);
inline constexpr std::string_view no_network_with_gpus =
    "a profile with GPUs can have a network only if the environment variable SANDBOX_GPU_NETWORK_ENABLED is true";

// The image of profiles that name none: the backend's variable (SANDBOX_WORKER_IMAGE), else its usual image. Empty for
// a backend that needs no image, or knows one itself.
std::string default_image(const Environment& environment, BackendKind backend);

bool is_instance(std::string_view text);

}  // namespace cloche::config

#include "config/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "config/text.hpp"
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
  if (given == "oci") {
    options.backend = BackendKind::oci;
  } else if (given == "docker") {
    options.backend = BackendKind::docker;
  } else if (!given.empty()) {
    return refused(name, "must be one of oci, docker, not " + shown(given));
  }
  return {};
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
  if (const std::string host = variable(environment, "DOCKER_HOST"); !host.empty()) options.docker_host = host;
  return {};
}

std::string default_image(const Environment& environment, BackendKind backend) {
  if (backend != BackendKind::docker) return {};  // oci: the host's own /usr
  const std::string worker = variable(environment, "SANDBOX_WORKER_IMAGE");
  return worker.empty() ? "python:3.12-slim" : worker;
}

bool is_instance(std::string_view text) {
  return !text.empty() && text.size() <= 40 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '-'; });
}

}  // namespace cloche::config

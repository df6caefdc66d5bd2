#include "bench/service_process.hpp"

#include <fstream>

#include "core/ids.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

std::string config_of(const ServiceSettings& settings, const std::optional<DockerEngine>& docker) {
  std::string text = "profiles:\n  session:\n";
  text += "    runtime: " + settings.target.runtime + "\n";
  if (settings.target.has_engine()) text += "    image: \"" + docker->image + "\"\n";
  text += "    limits: " + settings.limits + "\n";
  if (settings.python == ServiceSettings::Python::warm) text += "    zygotes: [{name: python}]\n";
  if (!settings.network.empty()) text += "    tenants: all\n    network: " + settings.network + "\n";
  text += "    pool: {pool_size: " + std::to_string(settings.warm) +
          ", scale_limit: " + std::to_string(settings.most_sessions + settings.warm) + "}\n";
  text += "sessions: {most: " + std::to_string(settings.most_sessions) + "}\n";
  if (!settings.egress.empty()) text += "egress: " + settings.egress + "\n";
  return text;
}

std::string last_line(const std::filesystem::path& file) {
  std::ifstream log(file);
  std::string last;
  for (std::string line; std::getline(log, line);) last = line;
  return last.substr(0, 300);
}

}  // namespace

Result<std::unique_ptr<ServiceProcess>> ServiceProcess::start(Surroundings& surroundings,
                                                              const ServiceSettings& settings) {
  const std::filesystem::path place =
      surroundings.make_directory("serve-" + settings.target.backend + "-" + settings.target.runtime);
  std::ofstream(place / "cloche.yml") << config_of(settings, surroundings.docker());
  const std::string socket = place / "s";
  HelperSpec spec;
  spec.argv = {surroundings.options().program,
               "serve",
               "--config",
               place / "cloche.yml",
               "--listen",
               "unix:" + socket,
               "--backend",
               settings.target.backend,
               "--state-dir",
               place / "state",
               "--run-dir",
               place / "run",
               "--instance",
               "bench-" + random_hex(4),
               "--log-level",
               "warn",
               "--end-with-stdin"};
  if (settings.target.has_engine()) spec.argv.insert(spec.argv.end(), {"--docker-host", surroundings.docker()->host});
  spec.env = settings.env;
  spec.log = place / "log";
  CLOCHE_TRY(Helper child, Helper::start(spec));
  if (auto listening = child.wait_for("listening on", Deadline::after(120s)); !listening) {
    const std::string said = last_line(spec.log);
    return fail(std::move(listening.error()).at("cloche serve" + (said.empty() ? "" : " (" + said + ")")));
  }
  return std::unique_ptr<ServiceProcess>(new ServiceProcess(std::move(child), socket));
}

}  // namespace cloche::bench

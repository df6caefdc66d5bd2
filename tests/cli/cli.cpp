#include "cli/cli.hpp"

#include <boost/json/parse.hpp>
#include <cstdlib>
#include <fstream>

namespace cloche {

namespace fs = std::filesystem;

std::string Cli::source(const std::string& name, const std::string& text) const {
  const fs::path path = scratch_.path() / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

CommandSpec Cli::cloche(std::vector<std::string> arguments) const {
  CommandSpec spec;
  spec.argv = {CLOCHE_PROGRAM};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.env["CLOCHE_STATE_DIR"] = scratch_.path() / "state";
  spec.env["CLOCHE_RUN_DIR"] = run_dir();
  spec.env["SANDBOX_WORKER_IMAGE"] = "cloche-test/debian";
  const char* engine = std::getenv("CLOCHE_TEST_DOCKER_HOST");
  spec.env["DOCKER_HOST"] = engine != nullptr ? engine : "unix:///nowhere/docker.sock";
  spec.env["DOCKER_TLS_VERIFY"] = "";
  return spec;
}

CommandSpec Cli::cloche_run(const Target& target, std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"run", "--backend", target.backend, "--runtime", target.runtime});
  return cloche(std::move(arguments));
}

std::string Cli::instance(const Target& target) const {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run_dir() / ("passing-" + target.backend), none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("passing-")) return name;
  }
  return {};
}

std::vector<std::string> Cli::traces_of(const Target& target, const std::string& instance) const {
  std::vector<std::string> traces;
  const auto add_if_there = [&](const fs::path& path) {
    if (fs::exists(path)) traces.push_back(path);
  };
  add_if_there(run_dir() / instance);
  add_if_there("/sys/fs/cgroup/cloche/" + instance);
  for (const auto& hierarchy : fs::directory_iterator("/sys/fs/cgroup"))
    add_if_there(hierarchy.path() / "cloche" / instance);
  if (target.backend == "docker") {
    CommandSpec list = cloche({});
    list.argv = {"docker", "ps", "-aq", "--filter", "label=cloche.instance=" + instance};
    const CommandEnd listed = testing_support::run_command(list);
    EXPECT_EQ(listed.exit_code, 0) << listed.err;
    if (!listed.out.empty()) traces.push_back("container " + listed.out);
  }
  return traces;
}

boost::json::value parse_json(const std::string& text) {
  boost::system::error_code error;
  auto value = boost::json::parse(text, error);
  EXPECT_FALSE(error) << text;
  return value;
}

}  // namespace cloche

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
  for (const auto& entry : fs::directory_iterator("/run/cloche/owners", none)) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    boost::system::error_code error;
    const auto owner = boost::json::parse(text, error);
    if (error || !owner.is_object()) continue;  // one that is just ending
    const bool ours = owner.at("run_dir").as_string() == run_dir().string();
    if (ours && owner.at("backend").as_string() == target.backend) return entry.path().filename();
  }
  return {};
}

std::vector<std::string> Cli::traces_of(const Target& target, const std::string& name) const {
  std::vector<std::string> traces;
  std::string instance = name;
  const fs::path identity = scratch_.path() / "state/instances" / target.backend / name / "identity";
  if (fs::exists(identity)) {
    std::ifstream file(identity);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    instance = parse_json(text).at("id").as_string();
  }
  const auto add_if_there = [&](const fs::path& path) {
    if (fs::exists(path)) traces.push_back(path);
  };
  add_if_there(run_dir() / instance);
  add_if_there("/run/cloche/owners/" + instance);
  add_if_there("/sys/fs/cgroup/cloche/" + instance);
  for (const auto& hierarchy : fs::directory_iterator("/sys/fs/cgroup"))
    add_if_there(hierarchy.path() / "cloche" / instance);
  if (target.backend == "docker") {
    CommandSpec list = cloche({});
    list.argv = {"docker", "ps", "-aq", "--filter", "label=cloche.owner=" + instance};
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

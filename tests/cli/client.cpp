#include "cli/client.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <csignal>
#include <fstream>

namespace cloche {

void CliClient::SetUp() {
  CliRun::SetUp();
  if (IsSkipped()) return;
  start_service();
}

void CliClient::start_service(const std::string& more_config) {
  const std::string config =
      source("cloche.yml", "instance: " + instance_ +
                               "\n"
                               "log: {level: error}\n"
                               "profiles:\n"
                               "  session:\n"
                               "    work_dir: /workspace\n"
                               "    runtime: crun\n"
                               "    limits: {memory: 512m, cpus: 2, pids: 64, file_size: 256m, work_dir: 256m}\n"
                               "    pool: {pool_size: 1, scale_limit: 4}\n" +
                               more_config);
  service_ = std::make_unique<Command>(cloche({"serve", "--config", config, "--listen", "unix:" + socket()}));
  ASSERT_TRUE(service_->wait_for("listening on")) << service_->finish(std::chrono::seconds(1)).err;
}

void CliClient::kill_service() {
  service_->signal(SIGKILL);
  service_->finish();
  service_.reset();
  was_killed_ = true;
}

void CliClient::TearDown() {
  if (was_killed_) start_service();  // what the killed one left is found and removed by the next
  if (!service_) return;
  service_->signal(SIGTERM);
  const CommandEnd end = service_->finish();
  EXPECT_EQ(end.exit_code, 0) << end.err;
  service_.reset();
}

CommandSpec CliClient::client(std::vector<std::string> arguments, const std::string& input) const {
  CommandSpec spec = cloche(std::move(arguments));
  spec.env["CLOCHE_SERVER"] = "unix:" + socket();
  spec.env["CLOCHE_TOKEN"] = "";
  spec.env["NO_COLOR"] = "";
  spec.env["TERM"] = "xterm";
  spec.input = input;
  return spec;
}

boost::json::value CliClient::json_of(std::vector<std::string> arguments) const {
  arguments.emplace_back("--json");
  const CommandEnd end = run_client(std::move(arguments));
  EXPECT_EQ(end.exit_code, 0) << end.err;
  return parse_json(end.out);
}

int CliClient::running(const std::string& session) const {
  int count = 0;
  const boost::json::value told = json_of({"logs", session});
  for (const auto& run : told.as_object().at("runs").as_array()) {
    if (run.as_object().at("state").as_string() == "running") ++count;
  }
  return count;
}

std::string CliClient::text_of(const std::string& name) const {
  std::ifstream file(path_of(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace cloche

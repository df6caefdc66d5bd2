#include "bench/alternatives/crun_run.hpp"

#include <boost/json/serialize.hpp>
#include <fstream>
#include <sstream>

#include "backend/oci/cgroup/cgroup_layout.hpp"
#include "core/ids.hpp"
#include "json/json.hpp"
#include "process/programs.hpp"

namespace cloche::bench {

namespace {

namespace fs = std::filesystem;

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

// Directories that mounts go to, and the links of a merged /usr.
void make_root(const fs::path& root) {
  for (const char* name : {"usr", "proc", "tmp", "dev"}) fs::create_directories(root / name);
  fs::create_symlink("usr/bin", root / "bin");
  fs::create_symlink("usr/lib", root / "lib");
  fs::create_symlink("usr/lib64", root / "lib64");
}

json::object mount(const char* target, const char* type, const char* source, json::array options) {
  return {{"destination", target}, {"type", type}, {"source", source}, {"options", std::move(options)}};
}

json::object config_of(const std::vector<std::string>& argv) {
  json::array words;
  for (const std::string& word : argv) words.emplace_back(word);
  json::array namespaces;
  for (const char* kind : {"pid", "mount", "ipc", "uts", "network", "user"}) {
    namespaces.push_back(json::object{{"type", kind}});
  }
  const json::array ids{json::object{{"containerID", 0}, {"hostID", 1'000'000'000}, {"size", 65536}}};
  json::array mounts;
  mounts.push_back(mount("/proc", "proc", "proc", {}));
  mounts.push_back(mount("/usr", "bind", "/usr", {"bind", "ro"}));
  mounts.push_back(mount("/tmp", "tmpfs", "tmpfs", {"size=32m"}));
  mounts.push_back(mount("/dev", "tmpfs", "tmpfs", {"mode=755"}));
  return {{"ociVersion", "1.0.2"},
          {"process", json::object{{"terminal", false},
                                   {"user", json::object{{"uid", 1000}, {"gid", 1000}}},
                                   {"args", std::move(words)},
                                   {"env", json::array{"PATH=/usr/bin:/bin"}},
                                   {"cwd", "/"},
                                   {"noNewPrivileges", true}}},
          {"root", json::object{{"path", "root"}, {"readonly", true}}},
          {"hostname", "sandbox"},
          {"mounts", std::move(mounts)},
          {"linux", json::object{{"uidMappings", ids}, {"gidMappings", ids}, {"namespaces", std::move(namespaces)}}}};
}

}  // namespace

Result<std::unique_ptr<CrunRun>> CrunRun::prepare(Surroundings& surroundings, const std::vector<std::string>& argv,
                                                  std::string output) {
  const auto program = process::find_program("crun");
  if (!program) return fail(ErrorCode::not_found, "crun is not installed");
  const fs::path place = surroundings.make_directory("crun-run");
  make_root(place / "bundle" / "root");
  std::ofstream(place / "bundle" / "config.json") << json::serialize(config_of(argv));
  oci::Command command;
  command.program = *program;
  // Without cgroups: they are not compared here. On a hybrid host crun refuses to start if it sees the hierarchy of
  // version 2; it is hidden as in the oci backend.
  command.arguments = {"--root",   place / "state",  "--cgroup-manager=disabled", "run",
                       "--bundle", place / "bundle", "bench-" + random_hex(6)};
  const auto layout = oci::parse_cgroup_layout(text_of("/proc/self/mountinfo"));
  if (const oci::CgroupMount* v2 = layout.v2(); v2 != nullptr && layout.kind() == "hybrid") {
    command.private_mounts.push_back({oci::MountStep::Kind::detach, {}, v2->mount_point});
  }
  std::unique_ptr<CrunRun> made(new CrunRun(std::move(command), std::move(output)));
  CLOCHE_CHECK(made->run());
  return made;
}

Status CrunRun::run() {
  CLOCHE_TRY(const oci::CommandEnd end, oci::run_command(command_, Deadline::after(std::chrono::seconds(60))));
  if (end.exit_code == 0 && end.output == output_) return {};
  return fail(ErrorCode::internal, "crun run: " + end.output.substr(0, 300));
}

}  // namespace cloche::bench

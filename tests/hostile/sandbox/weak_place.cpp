#include "hostile/sandbox/weak_place.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <stdexcept>

#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/files.hpp"
#include "core/ids.hpp"
#include "hostile/sandbox/stage.hpp"

namespace cloche::hostile {

namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

// Generous: five times what the attacks want to take, and a small part of any host.
constexpr oci::CgroupLimits safety{.memory = mib(768), .cpus = 0, .pids = 1500};

json::array strings(const std::vector<std::string>& texts) {
  json::array list;
  for (const auto& text : texts) list.emplace_back(json::string(text));
  return list;
}

json::object mount(const std::string& target, const char* type, const std::string& source, const char* options) {
  std::vector<std::string> words;
  std::string word;
  for (const char* c = options;; ++c) {
    if (*c != ',' && *c != '\0')
      word += *c;
    else
      words.push_back(std::exchange(word, ""));
    if (*c == '\0') break;
  }
  return {{"destination", target}, {"type", type}, {"source", source}, {"options", strings(words)}};
}

// By the names that a bundle uses, those that this process has itself.
json::array all_capabilities() {
  static const char* const names[] = {"CHOWN",
                                      "DAC_OVERRIDE",
                                      "DAC_READ_SEARCH",
                                      "FOWNER",
                                      "FSETID",
                                      "KILL",
                                      "SETGID",
                                      "SETUID",
                                      "SETPCAP",
                                      "LINUX_IMMUTABLE",
                                      "NET_BIND_SERVICE",
                                      "NET_BROADCAST",
                                      "NET_ADMIN",
                                      "NET_RAW",
                                      "IPC_LOCK",
                                      "IPC_OWNER",
                                      "SYS_MODULE",
                                      "SYS_RAWIO",
                                      "SYS_CHROOT",
                                      "SYS_PTRACE",
                                      "SYS_PACCT",
                                      "SYS_ADMIN",
                                      "SYS_BOOT",
                                      "SYS_NICE",
                                      "SYS_RESOURCE",
                                      "SYS_TIME",
                                      "SYS_TTY_CONFIG",
                                      "MKNOD",
                                      "LEASE",
                                      "AUDIT_WRITE",
                                      "AUDIT_CONTROL",
                                      "SETFCAP",
                                      "MAC_OVERRIDE",
                                      "MAC_ADMIN",
                                      "SYSLOG",
                                      "WAKE_ALARM",
                                      "BLOCK_SUSPEND",
                                      "AUDIT_READ",
                                      "PERFMON",
                                      "BPF",
                                      "CHECKPOINT_RESTORE"};
  json::array list;
  int number = 0;
  for (const char* name : names) {
    if (::prctl(PR_CAPBSET_READ, number++, 0, 0, 0) == 1) list.emplace_back(std::string("CAP_") + name);
  }
  return list;
}

std::vector<std::string> arguments_of(const Attack& attack) {
  std::vector<std::string> arguments;
  arguments.emplace_back("/weak/init");
  if (attack.weak.uid != 0) {
    arguments.emplace_back("-u");
    arguments.push_back(std::to_string(attack.weak.uid));
  }
  if (!attack.weak.naive.empty()) {
    arguments.insert(arguments.end(), {"/usr/bin/python3", "/attack/weak/naive.py", attack.weak.naive});
  }
  // The naive server of one interpreter for all is given a name, not a program.
  if (attack.weak.naive != "same_interpreter") {
    const auto command = command_of(attack.argv);
    arguments.insert(arguments.end(), command.begin(), command.end());
  }
  arguments.insert(arguments.end(), attack.weak.more.begin(), attack.weak.more.end());
  if (!attack.then.empty() && attack.weak.naive != "same_interpreter") {
    const auto command = command_of(attack.then);
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
  }
  return arguments;
}

json::object config_of(const Stage& stage, const Attack& attack, const fs::path& place) {
  const json::array capabilities = all_capabilities();
  auto environment = stage.environment();
  environment["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  environment["HOME"] = "/workspace";
  json::array env;
  for (const auto& [name, value] : environment) env.emplace_back(name + "=" + value);
  json::object process{{"terminal", false},
                       {"user", json::object{{"uid", 0}, {"gid", 0}}},
                       {"args", strings(arguments_of(attack))},
                       {"env", std::move(env)},
                       {"cwd", "/workspace"},
                       {"capabilities", json::object{{"bounding", capabilities},
                                                     {"effective", capabilities},
                                                     {"permitted", capabilities},
                                                     {"inheritable", capabilities},
                                                     {"ambient", capabilities}}},
                       {"noNewPrivileges", false}};
  json::array mounts{mount("/usr", "bind", "/usr", "rbind,ro"),
                     mount("/proc", "proc", "proc", "rw"),
                     mount("/dev", "tmpfs", "tmpfs", "mode=755,size=1m"),
                     mount("/dev/pts", "devpts", "devpts", "newinstance,ptmxmode=0666,mode=0620"),
                     mount("/dev/shm", "tmpfs", "tmpfs", "mode=1777,size=1g,nr_inodes=1000000"),
                     mount("/dev/mqueue", "mqueue", "mqueue", "rw"),
                     mount("/tmp", "tmpfs", "tmpfs", "mode=1777,size=1g,nr_inodes=1000000"),
                     mount("/var/tmp", "tmpfs", "tmpfs", "mode=1777,size=1g,nr_inodes=1000000"),
                     mount("/workspace", "tmpfs", "tmpfs", "mode=1777,size=1g,nr_inodes=1000000"),
                     mount("/attack", "bind", place / "attack", "rbind,rw"),
                     mount("/weak", "bind", place / "bin", "rbind,rw"),
                     mount("/host", "bind", place / "canary", "rbind,rw"),
                     mount(stage.canary(), "bind", place / "canary", "rbind,rw")};
  json::array namespaces;
  for (const char* kind : {"pid", "mount", "ipc", "uts", "network"}) namespaces.push_back(json::object{{"type", kind}});
  // A device that no sandbox has; it is only looked at.
  const json::array devices{
      json::object{{"path", "/dev/fuse"}, {"type", "c"}, {"major", 10}, {"minor", 229}, {"fileMode", 0666}}};
  return {
      {"ociVersion", "1.0.2"},
      {"process", std::move(process)},
      {"root", json::object{{"path", (place / "root").string()}, {"readonly", false}}},
      {"hostname", "weak"},
      {"mounts", std::move(mounts)},
      {"linux",
       json::object{{"namespaces", std::move(namespaces)}, {"devices", devices}, {"rootfsPropagation", "rprivate"}}}};
}

// All that the place is made of, copied, so that what is written there is written to copies.
void furnish(const Stage& stage, const Attack& attack, const fs::path& place) {
  for (const char* directory : {"root/usr", "root/proc", "root/dev", "root/tmp", "root/workspace", "root/attack",
                                "root/weak", "root/host", "root/etc", "root/var/tmp", "bin", "canary"}) {
    fs::create_directories(place / directory);
  }
  for (const char* link : {"bin", "lib", "lib64", "sbin"}) {
    if (fs::exists(fs::path("/usr") / link)) fs::create_symlink(fs::path("usr") / link, place / "root" / link);
  }
  std::ofstream(place / "root/etc/passwd") << "root:x:0:0::/:/bin/sh\nsandbox:x:1000:1000::/workspace:/bin/sh\n";
  // Of the compiled programs, which are large, only those that are run.
  const auto is_needed = [&](const fs::path& file) {
    return file.extension() == ".py" || file.extension() == ".sh" || file == "read-only" || file == "files/suid-root" ||
           file == attack.argv.front() || (!attack.then.empty() && file == attack.then.front());
  };
  for (const auto& entry : fs::recursive_directory_iterator(stage.programs())) {
    const fs::path name = fs::relative(entry.path(), stage.programs());
    if (entry.is_directory())
      fs::create_directories(place / "attack" / name);
    else if (is_needed(name)) {
      fs::create_directories((place / "attack" / name).parent_path());
      fs::copy_file(entry.path(), place / "attack" / name);
    }
  }
  ::chmod((place / "attack/files/suid-root").c_str(), 04755);
  fs::copy_file(stage.programs() / "weak/init", place / "bin/init");
  fs::copy_file(stage.canary() / "file", place / "canary/file");
}

class SafetyCgroup {
 public:
  SafetyCgroup() {
    const auto layout = oci::parse_cgroup_layout(oci::read_file("/proc/self/mountinfo").value());
    if (layout.kind() == "hybrid") to_hide_ = layout.v2()->mount_point;
    const auto tree =
        oci::CgroupTree::open(layout, oci::read_file("/proc/self/cgroup").value(), "weak-" + random_hex(4)).value();
    group_ = tree.at("place");
    if (!group_->create() || !group_->set_limits(safety)) throw std::runtime_error("no cgroup for the weak place");
    entrance_ = group_->open_entrance().value();
    if (doors().empty()) throw std::runtime_error("no way into the cgroup of the weak place");
  }
  SafetyCgroup(const SafetyCgroup&) = delete;
  SafetyCgroup& operator=(const SafetyCgroup&) = delete;
  ~SafetyCgroup() {
    (void)group_->kill_all(Deadline::after(10s));
    (void)group_->remove(Deadline::after(10s));
  }

  // Files into which a process writes its pid to be inside.
  std::vector<std::string> doors() const {
    std::vector<std::string> paths;
    const std::string prefix = "/proc/" + std::to_string(::getpid()) + "/fd/";
    for (const auto& fd : entrance_.v1_tasks) paths.push_back(prefix + std::to_string(fd.get()));
    if (entrance_.v2_procs) paths.push_back(prefix + std::to_string(entrance_.v2_procs.get()));
    return paths;
  }

  // A mount that crun must not see; empty if there is none.
  const std::string& to_hide() const { return to_hide_; }

 private:
  std::string to_hide_;
  std::optional<oci::Cgroup> group_;
  oci::CgroupEntrance entrance_;
};

}  // namespace

WeakEnd run_in_weak_place(const Attack& attack) {
  static const Stage stage;  // one for all: canaries are only read from here
  const testing_support::Scratch scratch;
  const fs::path& place = scratch.path();
  furnish(stage, attack, place);
  std::ofstream(place / "config.json") << json::serialize(config_of(stage, attack, place));
  const SafetyCgroup group;
  // The shell goes into the cgroups and becomes the runtime; a door that stays shut ends it. In mounts of its own,
  // because crun refuses a host that has both kinds of cgroups in sight.
  std::vector<std::string> argv{"unshare",
                                "--mount",
                                "--propagation",
                                "private",
                                "/bin/sh",
                                "-c",
                                R"([ -z "$HIDDEN" ] || umount "$HIDDEN" || exit 96
while [ "$1" != -- ]; do echo $$ >"$1" || exit 97; shift; done
shift
exec "$@")",
                                "sh"};
  for (const auto& door : group.doors()) argv.push_back(door);
  const std::string id = "cloche-weak-" + random_hex(6);
  const std::string state = place / "state";
  argv.insert(argv.end(),
              {"--", "crun", "--cgroup-manager=disabled", "--root", state, "run", "--bundle", place.string(), id});
  testing_support::Command command({.argv = argv, .env = {{"HIDDEN", group.to_hide()}}});
  const auto end = command.finish(45s);
  return {end.out, end.err};
}

}  // namespace cloche::hostile

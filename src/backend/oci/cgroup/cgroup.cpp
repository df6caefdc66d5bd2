// One sandbox's cgroup: made, entered, counted, removed. Limits are in cgroup_limits.cpp, killing in cgroup_kill.cpp.
#include "backend/oci/cgroup/cgroup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

using namespace std::chrono_literals;

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

// The number after `key` in a file of "key number" lines.
std::optional<std::uint64_t> counter(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string name, value; lines >> name >> value;) {
    if (name == key) return to_number(value);
  }
  return std::nullopt;
}

// v2 forbids processes in a cgroup that delegates controllers. This does not matter at the true root. If the visible
// top belongs to a container or a service, Cloche itself is in it and moves to a child cgroup with all other processes.
Status move_aside(const std::string& directory) {
  const std::string aside = directory + "/cloche-host";
  CLOCHE_CHECK(make_directory(aside, 0755));
  for (int round = 0; round < 20; ++round) {
    CLOCHE_TRY(const std::string procs, read_file(directory + "/cgroup.procs"));
    if (procs.empty()) return {};
    std::istringstream pids(procs);
    for (std::string pid; pids >> pid;) {
      // One that has ended meanwhile needs no place.
      (void)write_control(aside + "/cgroup.procs", pid);
    }
  }
  return fail(ErrorCode::unsupported,
              "processes keep appearing in " + directory + ", which must be empty to limit others");
}

// Another sandbox's end may take the parents of a cgroup with it at any moment; the kernel says so in two ways.
bool has_vanished(int number) { return number == ENOENT || number == ENODEV; }
std::unexpected<Error> vanished(const std::string& directory) {
  return fail(ErrorCode::not_found, "cgroup " + directory + " is gone");
}

// 0, or the errno.
int try_control(const std::string& path, const std::string& value) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), value.data(), value.size()) < 0) return errno;
  return 0;
}

Status hand_on_controllers(const std::string& directory, const CgroupPlace& place) {
  const std::string control = directory + "/cgroup.subtree_control";
  const auto enabled = read_file(control);
  if (!enabled) return vanished(directory);
  std::string wanted;
  for (const std::string& controller : place.controllers) {
    std::istringstream words(*enabled);
    bool has = false;
    for (std::string word; words >> word;) has = has || word == controller;
    if (!has) wanted += (wanted.empty() ? "+" : " +") + controller;
  }
  if (wanted.empty()) return {};
  int number = try_control(control, wanted);
  if (number == EBUSY && directory == place.own) {
    CLOCHE_CHECK(move_aside(directory));
    number = try_control(control, wanted);
  }
  if (number == 0) return {};
  if (has_vanished(number)) return vanished(directory);
  return fail(ErrorCode::unsupported, errno_error("write '" + wanted + "' to " + control, number).message +
                                          "; the controllers memory, cpu and pids must be delegated here");
}

Status make_place(const CgroupPlace& place) {
  const std::string instance = parent_of(place.directory);
  const std::string ours = parent_of(instance);
  for (const std::string& directory : {ours, instance, place.directory}) {
    if (place.version == CgroupVersion::v2) CLOCHE_CHECK(hand_on_controllers(parent_of(directory), place));
    if (::mkdir(directory.c_str(), 0755) == 0 || (errno == EEXIST && directory != place.directory)) continue;
    if (has_vanished(errno)) return vanished(parent_of(directory));
    return fail_errno("create cgroup " + directory);
  }
  return {};
}

// A thread that moves itself through `tasks` need not wait for the whole system, as `cgroup.procs` makes it do
// (some 10 ms); the child that does this has one thread.
Status add_v1_entrance(CgroupEntrance& entrance, const std::string& directory) {
  UniqueFd tasks(::open((directory + "/tasks").c_str(), O_WRONLY | O_CLOEXEC));
  if (!tasks) return fail_errno("open " + directory + "/tasks");
  entrance.v1_tasks.push_back(std::move(tasks));
  return {};
}

Status remove_directory(const std::string& directory, Deadline deadline) {
  while (::rmdir(directory.c_str()) != 0) {
    if (errno == ENOENT) break;
    if (errno != EBUSY) return fail_errno("remove cgroup " + directory);
    if (deadline.passed()) return fail(ErrorCode::timeout, "remove cgroup " + directory + ": still busy");
    std::this_thread::sleep_for(1ms);  // the kernel sends no event when the last task has left
  }
  // The directories of the instance and of Cloche are removed with their last child; another sandbox that is being
  // created creates them again.
  const std::string instance = parent_of(directory);
  if (::rmdir(instance.c_str()) == 0) ::rmdir(parent_of(instance).c_str());
  return {};
}

}  // namespace

bool CgroupPlace::has(std::string_view controller) const {
  return std::ranges::find(controllers, controller) != controllers.end();
}

Cgroup::Cgroup(std::vector<CgroupPlace> places, std::vector<std::string> shadows, CgroupExtras extras)
    : places_(std::move(places)), shadows_(std::move(shadows)), v1_(std::move(extras)) {}

std::optional<std::string> Cgroup::v2_directory() const {
  const auto found = std::ranges::find(places_, CgroupVersion::v2, &CgroupPlace::version);
  if (found == places_.end()) return std::nullopt;
  return found->directory;
}

bool Cgroup::is_place(const std::string& directory) const {
  return std::ranges::find(places_, directory, &CgroupPlace::directory) != places_.end();
}

// The directory and the two above it that are Cloche's. Another sandbox's end may take these away at any moment.
Status Cgroup::make_extra(const std::string& directory) {
  const std::string instance = parent_of(directory);
  for (int attempt = 0; attempt < 50; ++attempt) {
    for (const std::string& each : {parent_of(instance), instance}) {
      if (::mkdir(each.c_str(), 0755) != 0 && errno != EEXIST && errno != ENOENT) {
        return fail_errno("create cgroup " + each);
      }
    }
    if (::mkdir(directory.c_str(), 0755) == 0) return {};
    if (!has_vanished(errno)) break;
  }
  return fail_errno("create cgroup " + directory);
}

Status Cgroup::create() const {
  for (const CgroupPlace& place : places_) {
    Status made = make_place(place);
    for (int attempt = 0; !made && made.error().code == ErrorCode::not_found && attempt < 50; ++attempt)
      made = make_place(place);
    if (!made) return made;
  }
  for (const std::string& extra : {v1_.freezer, v1_.cpuacct}) {
    if (!extra.empty() && !is_place(extra)) CLOCHE_CHECK(make_extra(extra));
  }
  return {};
}

Result<CgroupEntrance> Cgroup::open_entrance() const {
  CgroupEntrance entrance;
  if (!v1_.devices.empty() && path_exists(v1_.devices)) CLOCHE_CHECK(add_v1_entrance(entrance, v1_.devices));
  for (const std::string& extra : {v1_.freezer, v1_.cpuacct}) {
    if (!extra.empty() && !is_place(extra)) CLOCHE_CHECK(add_v1_entrance(entrance, extra));
  }
  for (const CgroupPlace& place : places_) {
    if (place.version == CgroupVersion::v2) {
      entrance.v2_directory.reset(::open(place.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!entrance.v2_directory) return fail_errno("open cgroup " + place.directory);
      entrance.v2_procs.reset(::open((place.directory + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
      if (!entrance.v2_procs) return fail_errno("open " + place.directory + "/cgroup.procs");
      continue;
    }
    CLOCHE_CHECK(add_v1_entrance(entrance, place.directory));
  }
  return entrance;
}

Result<std::vector<pid_t>> Cgroup::processes() const {
  std::set<pid_t> found;
  std::vector<std::string> directories = shadows_;
  for (const CgroupPlace& place : places_) directories.push_back(place.directory);
  for (const std::string& directory : directories) {
    const auto procs = read_file(directory + "/cgroup.procs");
    if (!procs && procs.error().code == ErrorCode::not_found) continue;
    if (!procs) return fail(procs.error());
    std::istringstream pids(*procs);
    for (pid_t pid; pids >> pid;) {
      if (pid > 0) found.insert(pid);
    }
  }
  return std::vector<pid_t>(found.begin(), found.end());
}

Result<bool> Cgroup::holds(pid_t pid) const {
  for (const CgroupPlace& place : places_) {
    CLOCHE_TRY(const std::string procs, read_file(place.directory + "/cgroup.procs"));
    std::istringstream pids(procs);
    bool here = false;
    for (pid_t next; pids >> next;) here = here || next == pid;
    if (!here) return false;
  }
  return true;
}

Result<Evidence> Cgroup::evidence() const {
  Evidence evidence;
  for (const CgroupPlace& place : places_) {
    if (place.has("pids")) {
      const auto events = read_file(place.directory + "/pids.events");  // since Linux 4.3
      if (events) evidence.refused_forks = counter(*events, "max").value_or(0);
    }
    if (!place.has("memory")) continue;
    const bool v1 = place.version == CgroupVersion::v1;
    CLOCHE_TRY(const std::string events, read_file(place.directory + (v1 ? "/memory.oom_control" : "/memory.events")));
    const auto kills = counter(events, "oom_kill");
    if (!kills)
      return fail(ErrorCode::unsupported, "this kernel does not count memory kills; Linux 4.13 or newer is required");
    evidence.oom_kills = *kills;
    // memory.peak is there since Linux 5.19.
    const auto peak = read_file(place.directory + (v1 ? "/memory.max_usage_in_bytes" : "/memory.peak"));
    if (const auto bytes = peak ? to_number(*peak) : std::nullopt) evidence.memory_peak = Bytes{*bytes};
  }
  return evidence;
}

Result<Bytes> Cgroup::memory_in_use() const {
  for (const CgroupPlace& place : places_) {
    if (!place.has("memory")) continue;
    const bool v1 = place.version == CgroupVersion::v1;
    CLOCHE_TRY(const std::string usage,
               read_file(place.directory + (v1 ? "/memory.usage_in_bytes" : "/memory.current")));
    CLOCHE_TRY(const std::string details, read_file(place.directory + "/memory.stat"));
    const auto charged = to_number(usage);
    if (!charged) return fail(ErrorCode::protocol, "the kernel does not report a cgroup's memory use as a number");
    // Pages of files can be read again.
    const std::uint64_t files = counter(details, v1 ? "total_inactive_file" : "inactive_file").value_or(0) +
                                counter(details, v1 ? "total_active_file" : "active_file").value_or(0);
    return Bytes{*charged > files ? *charged - files : 0};
  }
  return fail(ErrorCode::unsupported, "no cgroup limits this sandbox's memory");
}

void Cgroup::restart_peak() const {
  for (const CgroupPlace& place : places_) {
    if (place.version == CgroupVersion::v1 && place.has("memory")) {
      (void)write_control(place.directory + "/memory.max_usage_in_bytes", "0");
    }
  }
}

Status Cgroup::remove(Deadline deadline) const {
  std::vector<std::string> directories = shadows_;
  for (const CgroupPlace& place : places_) directories.push_back(place.directory);
  Status result;
  for (const std::string& directory : directories) {
    const Status removed = remove_directory(directory, deadline);
    if (!removed && result) result = removed;
  }
  return result;
}

}  // namespace cloche::oci

// A sandbox's processes stopped where they are, and let go on; what they use of the host.
#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <thread>

#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

using namespace std::chrono_literals;

// The kernel has no event for a hierarchy of version 1, and on version 2 it takes as long as this to set one up.
constexpr auto between_looks = 1ms;

struct Freezer {
  std::string control;
  std::string_view freeze;
  std::string_view thaw;
  std::string state;  // the file that reports the state
  std::string_view is_frozen;
  std::string_view is_thawed;
};

Freezer freezer_v1(const std::string& directory) {
  const std::string state = directory + "/freezer.state";
  return {state, "FROZEN", "THAWED", state, "FROZEN\n", "THAWED\n"};
}

Freezer freezer_v2(const std::string& directory) {
  return {directory + "/cgroup.freeze", "1", "0", directory + "/cgroup.events", "frozen 1\n", "frozen 0\n"};
}

Status set_state(const Freezer& freezer, std::string_view wanted, std::string_view reached, Deadline deadline) {
  for (;;) {
    // Written again each time: version 1 may miss a process that is being forked.
    CLOCHE_CHECK(write_control(freezer.control, wanted));
    CLOCHE_TRY(const std::string state, read_file(freezer.state));
    if (state.find(reached) != state.npos) return {};
    if (deadline.passed()) {
      return fail(ErrorCode::timeout, freezer.control + " does not reach the state " + std::string(wanted));
    }
    std::this_thread::sleep_for(between_looks);
  }
}

std::optional<std::uint64_t> number_in(const std::string& file) {
  const auto text = read_file(file);
  std::uint64_t number = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{}) {
    return std::nullopt;
  }
  return number;
}

// The sum of these lines of a file of "key number" lines; those that are missing count nothing.
std::uint64_t sum_of(const std::string& text, std::initializer_list<std::string_view> keys) {
  std::uint64_t sum = 0;
  std::istringstream lines(text);
  for (auto [key, number] = std::pair<std::string, std::uint64_t>(); lines >> key >> number;) {
    if (std::ranges::find(keys, key) != keys.end()) sum += number;
  }
  return sum;
}

std::unexpected<Error> no_freezer() {
  return fail(ErrorCode::unsupported,
              "this host cannot pause a sandbox: it has neither cgroup v2 nor a writable freezer hierarchy of v1");
}

}  // namespace

Status Cgroup::freeze(Deadline deadline) const {
  const std::optional<std::string> v2 = v2_directory();
  if (!v2 && (v1_.freezer.empty() || !path_exists(v1_.freezer))) return no_freezer();
  const Freezer freezer = v2 ? freezer_v2(*v2) : freezer_v1(v1_.freezer);
  Status frozen = set_state(freezer, freezer.freeze, freezer.is_frozen, deadline);
  if (frozen && !v2) frozen = check_all_in(v1_.freezer);
  if (frozen) return frozen;
  (void)write_control(freezer.control, freezer.thaw);
  return frozen;
}

// A runtime may have moved a process.
Status Cgroup::check_all_in(const std::string& directory) const {
  CLOCHE_TRY(const auto all, processes());
  CLOCHE_TRY(const std::string procs, read_file(directory + "/cgroup.procs"));
  std::istringstream pids(procs);
  std::set<pid_t> inside;
  for (pid_t pid; pids >> pid;) inside.insert(pid);
  if (std::ranges::all_of(all, [&](pid_t pid) { return inside.contains(pid); })) return {};
  return fail(ErrorCode::unsupported, "processes of the sandbox are not in " + directory);
}

Status Cgroup::thaw(Deadline deadline) const {
  const std::optional<std::string> v2 = v2_directory();
  // What cannot be frozen is not.
  if (!v2 && (v1_.freezer.empty() || !path_exists(v1_.freezer))) return {};
  const Freezer freezer = v2 ? freezer_v2(*v2) : freezer_v1(v1_.freezer);
  return set_state(freezer, freezer.thaw, freezer.is_thawed, deadline);
}

void Cgroup::release_memory() const {
  for (const CgroupPlace& place : places_) {
    if (!place.has("memory")) continue;
    if (place.version == CgroupVersion::v1) {
      (void)write_control(place.directory + "/memory.force_empty", "0");
    } else if (const auto used = number_in(place.directory + "/memory.current")) {
      (void)write_control(place.directory + "/memory.reclaim", std::to_string(*used));  // since Linux 5.19
    }
  }
}

Result<ResourceUse> Cgroup::resource_use() const {
  ResourceUse use;
  bool is_memory_known = false;
  for (const CgroupPlace& place : places_) {
    if (!place.has("memory")) continue;
    const bool v1 = place.version == CgroupVersion::v1;
    const auto charged = number_in(place.directory + (v1 ? "/memory.usage_in_bytes" : "/memory.current"));
    CLOCHE_TRY(const std::string details, read_file(place.directory + "/memory.stat"));
    if (!charged) break;
    use.cache.count = v1 ? sum_of(details, {"total_inactive_file", "total_active_file"})
                         : sum_of(details, {"inactive_file", "active_file"});
    use.cache.count = std::min(use.cache.count, *charged);
    use.memory.count = *charged - use.cache.count;
    is_memory_known = true;
  }
  if (!is_memory_known) return fail(ErrorCode::unsupported, "no cgroup counts this sandbox's memory");
  if (const auto v2 = v2_directory()) {
    CLOCHE_TRY(const std::string stat, read_file(*v2 + "/cpu.stat"));
    use.cpu_time = std::chrono::microseconds(sum_of(stat, {"usage_usec"}));
    return use;
  }
  const auto nanoseconds = v1_.cpuacct.empty() ? std::nullopt : number_in(v1_.cpuacct + "/cpuacct.usage");
  if (!nanoseconds) return fail(ErrorCode::unsupported, "no cgroup counts this sandbox's cpu time");
  use.cpu_time = std::chrono::microseconds(*nanoseconds / 1000);
  return use;
}

}  // namespace cloche::oci

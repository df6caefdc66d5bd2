#include "backend/oci/testing/workbench.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/oci/files.hpp"
#include "backend/oci/runtime/runtime.hpp"
#include "core/ids.hpp"

namespace cloche::oci {

namespace {

using namespace std::chrono_literals;

// Directories named like the instance, anywhere in the cgroup hierarchies.
void find_cgroups(const std::string& instance, std::string& found) {
  std::error_code ignored;
  for (const auto& hierarchy : std::filesystem::directory_iterator("/sys/fs/cgroup", ignored)) {
    const auto path = hierarchy.path() / "cloche" / instance;
    if (std::filesystem::exists(path, ignored)) found += "cgroup " + path.string() + "\n";
  }
  const auto path = std::filesystem::path("/sys/fs/cgroup/cloche") / instance;
  if (std::filesystem::exists(path, ignored)) found += "cgroup " + path.string() + "\n";
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  std::string pattern = "/tmp/cloche-oci-test-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
  ::chmod(path_.c_str(), 0755);
}

ScratchDirectory::ScratchDirectory(std::string path) : path_(std::move(path)), ours_(false) {}

ScratchDirectory::~ScratchDirectory() {
  if (ours_) (void)remove_tree(path_);
}

Workbench::Workbench() : instance_("test-" + random_hex(6)), pool_(4) {}

Workbench::Workbench(std::string scratch, std::string instance)
    : scratch_(std::move(scratch)), instance_(std::move(instance)), pool_(4) {}

OciOptions Workbench::options() const {
  OciOptions options;
  options.state_dir = scratch_ / "state";
  options.run_dir = scratch_ / "run";
  options.gpu_dir = scratch_ / "gpus";
  // Not the host's own: tests lend only what they make up.
  options.gpu_places.specifications = {scratch_ / "cdi"};
  options.gpu_places.devices = scratch_ / "devices";
  options.instance.value = instance_;
  options.agent_path = CLOCHE_FACTS_AGENT;
  return options;
}

std::unique_ptr<Backend> Workbench::backend() { return backend(options()); }

std::unique_ptr<Backend> Workbench::backend(OciOptions options) {
  auto made = create_oci_backend(io_.get_executor(), pool_, std::move(options));
  EXPECT_TRUE(made) << made.error().message;
  return made ? std::move(*made) : nullptr;
}

Result<std::unique_ptr<Enclosure>> Workbench::try_make(Backend& backend, SandboxSpec spec, Deadline deadline) {
  return run<Result<std::unique_ptr<Enclosure>>>(
      [&]() -> Task<Result<std::unique_ptr<Enclosure>>> { return backend.create(spec, deadline); });
}

std::unique_ptr<Enclosure> Workbench::make(Backend& backend, SandboxSpec spec) {
  auto made = try_make(backend, std::move(spec), Deadline::after(60s));
  EXPECT_TRUE(made) << made.error().message;
  return made ? std::move(*made) : nullptr;
}

void Workbench::destroy(Enclosure& enclosure) {
  const Status destroyed = run<Status>([&]() -> Task<Status> { return enclosure.destroy(Deadline::after(20s)); });
  EXPECT_TRUE(destroyed) << destroyed.error().message;
}

std::vector<std::unique_ptr<Enclosure>> Workbench::recover(Backend& backend) {
  using Found = Result<std::vector<std::unique_ptr<Enclosure>>>;
  auto found = run<Found>([&]() -> Task<Found> { return backend.recover(Deadline::after(60s)); });
  EXPECT_TRUE(found) << found.error().message;
  return found ? std::move(*found) : std::vector<std::unique_ptr<Enclosure>>{};
}

std::string Workbench::ask(Enclosure& enclosure, const std::string& command) {
  const std::string line = command + "\n";
  return run<std::string>([&]() -> Task<std::string> {
    const Status sent = co_await enclosure.channel().write_all(line);
    if (!sent) co_return "send: " + sent.error().message;
    std::string answer;
    char chunk[65536];
    const std::span<char> room(chunk);
    while (answer != ".\n" && !answer.ends_with("\n.\n")) {
      const auto n = co_await enclosure.channel().read_some(room);
      if (!n) co_return answer + "receive: " + n.error().message;
      if (*n == 0) co_return answer + "(the agent is gone)";
      answer.append(chunk, *n);
    }
    answer.resize(answer.size() - 2);
    if (!answer.empty()) answer.pop_back();
    co_return answer;
  });
}

namespace {

// Whether one of the mounts shows something from below the path, as a sandbox's root does. A mount *at* a place below
// it says nothing: tests that run beside this one have it in their own copies of the host's mounts.
bool shows_part_of(const std::string& mountinfo, const std::string& path) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, shown;
    if (fields >> id >> parent >> device >> shown && shown.find(path) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::string Workbench::leftovers() const {
  std::string found;
  find_cgroups(instance_, found);
  if (const auto names = list_directory("/run/cloche/uids")) {
    for (const std::string& name : *names) {
      const auto owner = read_file("/run/cloche/uids/" + name);
      if (owner && owner->starts_with(instance_ + " ")) found += "uid range " + name + "\n";
    }
  }
  if (const auto lent = list_directory(scratch_ / "gpus")) {
    for (const std::string& name : *lent) found += "GPU " + name + "\n";
  }
  if (path_exists(scratch_ / ("run/" + instance_)))
    found += "run directory " + (scratch_ / ("run/" + instance_)) + "\n";
  if (const auto mounts = read_file("/proc/self/mountinfo"); mounts && mounts->find(scratch_.path()) != mounts->npos) {
    found += "a mount below " + scratch_.path() + "\n";
  }
  if (const auto processes = list_directory("/proc")) {
    for (const std::string& name : *processes) {
      if (name.find_first_not_of("0123456789") != name.npos || name == std::to_string(::getpid())) continue;
      const auto arguments = read_file("/proc/" + name + "/cmdline");
      const auto mounts = read_file("/proc/" + name + "/mountinfo");
      if ((arguments && arguments->find(scratch_.path()) != arguments->npos) ||
          (mounts && shows_part_of(*mounts, scratch_.path()))) {
        found += "process " + name + "\n";
      }
    }
  }
  return found;
}

SandboxSpec spec_with(const std::string& runtime) {
  SandboxSpec spec;
  spec.runtime = runtime;
  return spec;
}

bool has_runtime(const std::string& name) {
  RuntimeCatalog catalog({});
  return catalog.find(name, Deadline::after(20s)).has_value();
}

}  // namespace cloche::oci

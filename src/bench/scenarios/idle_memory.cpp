// The cost of an idle sandbox.
#include "bench/alternatives/docker.hpp"
#include "bench/interrupt.hpp"
#include "bench/pool_in_process.hpp"
#include "bench/processes.hpp"
#include "bench/scenarios/scenario.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

constexpr double mebibyte = 1 << 20;
constexpr auto patience = 60s;

enum class Python { none, warm };

// Idle sandboxes, until the object is destroyed.
class Idlers {
 public:
  Idlers(Surroundings& surroundings, std::unique_ptr<Backend> backend)
      : surroundings_(surroundings), backend_(std::move(backend)) {}
  ~Idlers() {
    for (const auto& sandbox : all_) {
      if (auto gone = surroundings_.await(sandbox->destroy(Deadline::after(patience))); !gone) {
        tell("bench: a sandbox is left: " + gone.error().message);
      }
    }
  }
  Idlers(const Idlers&) = delete;
  Idlers& operator=(const Idlers&) = delete;

  Status add(const SandboxSpec& spec, Python python) { return surroundings_.await(add_task(spec, python)); }
  const std::vector<std::unique_ptr<LiveSandbox>>& all() const { return all_; }

 private:
  Task<Status> add_task(SandboxSpec spec, Python python) {
    auto enclosure = co_await backend_->create(std::move(spec), Deadline::after(patience));
    if (!enclosure) co_return fail(std::move(enclosure).error());
    auto opened = co_await LiveSandbox::open(std::move(*enclosure), Greeting::fresh, Deadline::after(patience));
    if (!opened) co_return fail(std::move(opened).error());
    LiveSandbox& sandbox = *all_.emplace_back(std::move(*opened));
    if (python == Python::none) co_return Status{};
    std::vector<std::string> no_imports;
    auto started = co_await sandbox.start_zygote("python", "python3", std::move(no_imports), Deadline::after(patience));
    co_return started;
  }

  Surroundings& surroundings_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<LiveSandbox>> all_;
};

struct Cost {
  std::vector<double> programs;  // MiB
  std::vector<double> kernel;
};

// `id`: what the cgroup's path has in it.
Status add_cost(Cost& cost, const std::string& id, const std::vector<pid_t>& beside) {
  const std::vector<pid_t> inside = processes_in(id);
  if (inside.empty()) return fail(ErrorCode::not_found, "its processes are not visible from here");
  double bytes = 0;
  for (const auto* group : {&inside, &beside}) {
    for (const pid_t pid : *group) bytes += proportional_memory(pid).value_or(0);
  }
  cost.programs.push_back(bytes / mebibyte);
  if (const auto kernel = kernel_memory_of_cgroup(inside.front(), id)) cost.kernel.push_back(*kernel / mebibyte);
  return {};
}

Result<Cost> cost_of_sandboxes(Surroundings& surroundings, const Target& target, Python python, int count) {
  CLOCHE_TRY(auto backend, make_backend(surroundings, target));
  Idlers idlers(surroundings, std::move(backend));
  const SandboxSpec spec = sandbox_spec(surroundings, target);
  for (int i = 0; i < count; ++i) {
    CLOCHE_CHECK(Interrupts::check());
    CLOCHE_CHECK(idlers.add(spec, python));
  }
  Cost cost;
  for (const auto& sandbox : idlers.all()) {
    CLOCHE_CHECK(add_cost(cost, sandbox->id().value, {}));
  }
  return cost;
}

Result<Cost> cost_of_containers(Surroundings& surroundings, int count) {
  std::vector<std::unique_ptr<DockerContainer>> containers;
  for (int i = 0; i < count; ++i) {
    CLOCHE_CHECK(Interrupts::check());
    CLOCHE_TRY(auto container, DockerContainer::start(surroundings, "runc"));
    containers.push_back(std::move(container));
  }
  Cost cost;
  for (const auto& container : containers) {
    CLOCHE_CHECK(add_cost(cost, container->id(), processes_with({"containerd-shim", container->id()})));
  }
  return cost;
}

Status add_figures(Section& section, const std::string& name, Result<Cost> cost) {
  CLOCHE_CHECK(Interrupts::check());
  if (!cost) {
    section.lacks.push_back({name, cost.error().message});
    return {};
  }
  section.figures.push_back({name, "MiB", summarise(std::move(cost->programs))});
  if (cost->kernel.empty()) {
    section.lacks.push_back({name + ", in the kernel", "its cgroup does not report it"});
  } else {
    section.figures.push_back({name + ", in the kernel", "MiB", summarise(std::move(cost->kernel))});
  }
  return {};
}

Plot plot_of(const Section& section) {
  BarPlot plot;
  plot.title = "Memory of an idle sandbox, without the kernel's part";
  plot.label = "MiB";
  for (const Figure& figure : section.figures) {
    if (figure.how.ends_with("in the kernel")) continue;
    plot.bars.push_back({figure.how, figure.value.p50, 0, 0, figure.how.starts_with("cloche")});
  }
  return {"memory", std::move(plot)};
}

}  // namespace

Result<Section> measure_idle_memory(Surroundings& surroundings) {
  Section section;
  section.title = "Memory of an idle sandbox";
  section.method =
      "The proportional set size (a shared page counts in parts) of every process of a sandbox, over several equal "
      "sandboxes; for Docker, of a container that runs `sleep infinity`, with its shim. *In the kernel* is what the "
      "cgroup is charged for stacks, page tables and inodes; the shim's share is in no container's cgroup.";
  const auto main = surroundings.main_target();
  section.reference = "cloche, " + main.value_or(Target{"oci", "crun"}).name();
  const int count = surroundings.pick(3, 10);
  for (const Target& target : surroundings.targets()) {
    if (target.has_engine()) continue;  // the cost of Docker is that of the plain container
    auto cost = cost_of_sandboxes(surroundings, target, Python::none, count);
    CLOCHE_CHECK(add_figures(section, "cloche, " + target.name(), std::move(cost)));
  }
  if (main) {
    auto cost = cost_of_sandboxes(surroundings, *main, Python::warm, count);
    CLOCHE_CHECK(add_figures(section, "cloche, " + main->name() + ", Python warm", std::move(cost)));
  }
  if (surroundings.docker()) {
    CLOCHE_CHECK(add_figures(section, "docker container, runc", cost_of_containers(surroundings, count)));
  }
  const double ratio =
      times_smaller(find_figure(section, section.reference), find_figure(section, "docker container, runc"));
  if (ratio > 0) {
    section.goals.push_back({"memory of an idle `oci` sandbox",
                             "a Docker container with `sleep infinity`, with its shim", "at most a fifth",
                             number_text(1 / ratio) + " of it", ratio >= 5});
  }
  section.plots.push_back(plot_of(section));
  return section;
}

}  // namespace cloche::bench

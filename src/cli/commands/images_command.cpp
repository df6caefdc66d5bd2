// `cloche images`: makes the images that languages run in, and lists them.
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>

#include "cli/command.hpp"
#include "cli/engine_flags.hpp"
#include "cli/text/progress.hpp"
#include "images/build.hpp"
#include "json/write_json.hpp"
#include "library/throwing.hpp"

namespace cloche::cli {

namespace {

using Clock = std::chrono::steady_clock;

// Even a slow mirror has sent the largest image by then.
constexpr std::chrono::hours longest_build{1};

struct ImagesFlags {
  EngineFlags engine;
  std::vector<std::string> names;
  std::string network = "default";
  bool offline = false;
  bool or_offline = false;
  bool force = false;
  bool json = false;
};

images::BuildOptions options_of(const ImagesFlags& flags) {
  const EngineOptions engine = flags.engine.options();
  images::BuildOptions options;
  options.backend = engine.backend;
  options.way = flags.offline      ? images::Way::offline
                : flags.or_offline ? images::Way::dockerfile_or_offline
                                   : images::Way::dockerfile;
  if (flags.force) options.current = images::BuildOptions::Current::build_again;
  options.network = flags.network;
  options.state_dir = engine.state_dir;
  options.docker = docker_options_from_environment();
  if (!engine.docker_host.empty()) options.docker.host = engine.docker_host;
  // There are no Dockerfiles to prefer.
  if (images::makes_directories(options.backend) && flags.or_offline) options.way = images::Way::offline;
  return options;
}

// The named images, or all that can be built this way.
std::vector<images::Recipe> chosen_recipes(const ImagesFlags& flags, images::Way way) {
  std::vector<images::Recipe> recipes;
  for (const std::string& name : flags.names) recipes.push_back(value_or_throw(images::find_recipe(name)));
  if (!flags.names.empty()) return recipes;
  for (const images::Recipe& recipe : images::all_recipes()) {
    if (way == images::Way::offline && !recipe.has_packages) {
      std::fprintf(stderr, "%s: skipped because Debian has no packages for it\n", recipe.name.c_str());
    } else {
      recipes.push_back(recipe);
    }
  }
  return recipes;
}

std::string mebibytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

// Runs a task to its end or to a signal: then the task is cancelled, and the signal's number is the result.
int run_until_signal(const CancelToken& token, asio::io_context& io, std::function<Task<>()> body) {
  int caught = 0;
  asio::cancellation_signal cancellation;
  asio::signal_set signals(io, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([&](boost::system::error_code error, int number) {
    if (error) return;
    caught = number;
    token.cancel();
    cancellation.emit(asio::cancellation_type::terminal);
  });
  std::exception_ptr failure;
  auto ended = [&](std::exception_ptr error) {
    failure = error;
    signals.cancel();
  };
  asio::co_spawn(io, std::move(body), asio::bind_cancellation_slot(cancellation.slot(), ended));
  io.run();
  if (failure && caught == 0) std::rethrow_exception(failure);
  return caught;
}

struct Made {
  std::string name;
  std::string backend;
  images::BuildReport report;
  double seconds = 0;
};

const char* to_text(images::BuildReport::State state) {
  return state == images::BuildReport::State::built ? "built" : "current";
}

const char* to_text(images::ImageState::State state) {
  switch (state) {
    case images::ImageState::State::current: return "current";
    case images::ImageState::State::outdated: return "outdated";
    case images::ImageState::State::missing: return "missing";
  }
  return "missing";
}

void print(const Made& made) {
  const std::string size = mebibytes(made.report.bytes);
  if (made.report.state == images::BuildReport::State::current) {
    std::printf("%-8s current   %s, %s; nothing to do\n", made.name.c_str(), made.report.image.c_str(), size.c_str());
  } else {
    std::printf("%-8s built     %s, %s, in %.1f s\n", made.name.c_str(), made.report.image.c_str(), size.c_str(),
                made.seconds);
  }
  std::fflush(stdout);
}

boost::json::object to_json(const Made& made) {
  return {{"name", made.name},
          {"backend", made.backend},
          {"state", to_text(made.report.state)},
          {"method", std::string(images::to_string(made.report.method))},
          {"image", made.report.image},
          {"bytes", made.report.bytes},
          {"seconds", made.seconds}};
}

// One line on a terminal, for the image that is being made. What is said comes from the builder's own thread.
class BuildProgress {
 public:
  explicit BuildProgress(std::size_t images) { images_.total = images; }

  void begin(const std::string& name, std::size_t at) {
    const std::lock_guard lock(mutex_);
    name_ = name;
    images_.done = at;
    start_ = Clock::now();
  }
  void say(std::string_view doing) {
    const std::lock_guard lock(mutex_);
    if (!line_.is_due()) return;
    const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_);
    line_.show(step_text(name_, images_, elapsed, doing, line_.columns()));
  }
  // Before anything else is printed.
  void clear() {
    const std::lock_guard lock(mutex_);
    line_.clear();
  }

 private:
  std::mutex mutex_;
  ProgressLine line_{STDERR_FILENO};
  std::string name_;
  Amount images_;
  Clock::time_point start_ = Clock::now();
};

int build_images(const ImagesFlags& flags) {
  images::BuildOptions options = options_of(flags);
  const auto recipes = chosen_recipes(flags, options.way);
  BuildProgress shown(recipes.size());
  images::Progress progress = [&shown](std::string_view doing) { shown.say(doing); };
  asio::io_context io{1};
  const auto builder = value_or_throw(images::Builder::create(io.get_executor(), std::move(options), progress));
  const CancelToken token(Deadline::after(longest_build * static_cast<int>(recipes.size() + 1)));
  boost::json::array all;
  Status ended;
  const auto body = [&]() -> Task<> {
    for (std::size_t i = 0; i < recipes.size(); ++i) {
      const images::Recipe& recipe = recipes[i];
      shown.begin(recipe.name, i);
      const auto start = Clock::now();
      const CancelToken own = token.until(Deadline::after(longest_build));
      auto report = co_await builder->build(recipe, own);
      shown.clear();
      if (!report && flags.or_offline && flags.names.empty() && !recipe.has_packages) {
        std::fprintf(stderr, "%s: skipped: %s\n", recipe.name.c_str(), report.error().message.c_str());
        continue;
      }
      if (!report) {
        ended = fail(std::move(report).error().at("image " + recipe.name));
        co_return;
      }
      if (!report->remark.empty()) std::fprintf(stderr, "%s: %s\n", recipe.name.c_str(), report->remark.c_str());
      Made made;
      made.name = recipe.name;
      made.backend = flags.engine.backend;
      made.report = std::move(*report);
      made.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (flags.json) {
        all.push_back(to_json(made));
      } else {
        print(made);
      }
    }
  };
  const int caught = run_until_signal(token, io, body);
  if (flags.json) std::printf("%s\n", write_json(all).c_str());
  if (caught != 0) return 128 + caught;
  value_or_throw(std::move(ended));
  return 0;
}

int list_images(const ImagesFlags& flags) {
  images::BuildOptions options = options_of(flags);
  options.way = images::Way::offline;
  asio::io_context io{1};
  const auto builder = value_or_throw(images::Builder::create(io.get_executor(), std::move(options), {}));
  const CancelToken token(Deadline::after(std::chrono::minutes(1)));
  boost::json::array all;
  Status ended;
  const auto body = [&]() -> Task<> {
    for (const images::Recipe& recipe : images::all_recipes()) {
      auto found = co_await builder->look(recipe, token.deadline());
      if (!found) {
        ended = fail(std::move(found).error());
        co_return;
      }
      const char* state = to_text(found->state);
      const bool is_there = found->state != images::ImageState::State::missing;
      if (!flags.json) {
        const std::string size = is_there ? mebibytes(found->bytes) : "";
        std::printf("%-8s %-9s %11s  %s\n", recipe.name.c_str(), state, size.c_str(), found->image.c_str());
        continue;
      }
      boost::json::object entry;
      entry["name"] = recipe.name;
      entry["backend"] = flags.engine.backend;
      entry["state"] = state;
      entry["image"] = found->image;
      if (is_there) entry["bytes"] = found->bytes;
      entry["offline"] = recipe.has_packages;
      all.push_back(std::move(entry));
    }
  };
  const int caught = run_until_signal(token, io, body);
  if (caught != 0) return 128 + caught;
  value_or_throw(std::move(ended));
  if (flags.json) std::printf("%s\n", write_json(all).c_str());
  return 0;
}

void add_build_command(CLI::App& images, Action& chosen) {
  auto flags = std::make_shared<ImagesFlags>();
  CLI::App* command = images.add_subcommand("build", "Build images that are missing or out of date");
  command->add_option("NAME", flags->names,
                      "Images to build: python, node, cpp, … or the name of a language (default: all)");
  auto* offline = command->add_flag(
      "--offline", flags->offline,
      "Build from Debian packages, without a registry, with mmdebstrap and this host's apt mirror. Requires root. The "
      "only way for the oci backend");
  command
      ->add_flag(
          "--or-offline", flags->or_offline,
          "Build from the Dockerfile, but as with --offline if the registry is not reachable (make build-sandboxes)")
      ->excludes(offline);
  command->add_flag("--force", flags->force, "Rebuild with the newest packages, even if the images are up to date");
  command->add_option("--network", flags->network, "Network of the steps of a Docker build, which install packages")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "Print a summary as JSON");
  flags->engine.add_to(*command);
  command->callback([flags, &chosen] { chosen = [flags] { return build_images(*flags); }; });
}

void add_list_command(CLI::App& images, Action& chosen) {
  auto flags = std::make_shared<ImagesFlags>();
  CLI::App* command = images.add_subcommand("list", "List images and whether they are up to date");
  command->add_flag("--json", flags->json, "Print JSON");
  flags->engine.add_to(*command);
  command->callback([flags, &chosen] { chosen = [flags] { return list_images(*flags); }; });
}

}  // namespace

void add_images_command(CLI::App& app, Action& chosen) {
  CLI::App* images = app.add_subcommand("images", "Build and list the images that languages run in");
  images->require_subcommand(1);
  add_build_command(*images, chosen);
  add_list_command(*images, chosen);
}

}  // namespace cloche::cli

#include "images/build.hpp"

#include "core/async/blocking.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::images {

namespace {

Error no_packages(const Recipe& recipe) {
  return Error{ErrorCode::unsupported,
               "Debian has no packages for it; build it with `cloche images build --backend docker " + recipe.name +
                   "` and a registry"};
}

}  // namespace

bool makes_directories(BackendKind backend) { return traits_of(backend).images == BackendTraits::Images::directories; }

Result<std::unique_ptr<Builder>> Builder::create(Executor executor, BuildOptions options, Progress progress) {
  if (makes_directories(options.backend) && options.way == Way::dockerfile) {
    return fail(ErrorCode::invalid_argument,
                "the " + std::string(traits_of(options.backend).name) +
                    " backend cannot build Dockerfiles; use --offline to build images from the packages of this host's "
                    "Debian mirror");
  }
  if (traits_of(options.backend).images == BackendTraits::Images::templates) {
    return fail(ErrorCode::unsupported,
                "the " + std::string(traits_of(options.backend).name) +
                    " backend has no images: build a template with the service's own tools, and "
                    "name it as the `image` of a profile");
  }
  if (traits_of(options.backend).images == BackendTraits::Images::registry) {
    return fail(ErrorCode::unsupported,
                "the " + std::string(traits_of(options.backend).name) +
                    " backend cannot build images: build them with --backend docker, push them to a registry of the "
                    "cluster, and name them as the `image` of a profile");
  }
  CLOCHE_TRY(http::Endpoint endpoint, docker::engine_endpoint(options.docker));
  return std::unique_ptr<Builder>(
      new Builder(std::move(executor), std::move(options), std::move(progress), std::move(endpoint)));
}

Builder::Builder(Executor executor, BuildOptions options, Progress progress, http::Endpoint endpoint)
    : options_(std::move(options)),
      progress_(std::move(progress)),
      store_(options_.state_dir),
      engine_(std::move(executor), std::move(endpoint)) {}

bool Builder::is_current(const std::string& label, const std::string& inputs) const {
  return options_.current == BuildOptions::Current::skip && label == inputs;
}

Task<Result<BuildReport>> Builder::build(Recipe recipe, CancelToken token) {
  if (!makes_directories(options_.backend)) co_return co_await build_docker(std::move(recipe), std::move(token));
  auto make = [this, &recipe, &token] { return build_oci(recipe, token); };
  auto made = co_await run_blocking(pool_, std::move(make));
  co_return made;
}

Result<BuildReport> Builder::build_oci(const Recipe& recipe, const CancelToken& token) const {
  if (!recipe.has_packages) return fail(no_packages(recipe));
  BuildReport report;
  report.image = store_.path_of(recipe.name);
  const std::string inputs = inputs_of(recipe, Method::offline, host_architecture());
  const auto is_there = [&] {
    const auto there = store_.find(recipe.name);
    if (!there || !is_current(there->inputs, inputs)) return false;
    report.state = BuildReport::State::current;
    report.bytes = there->bytes;
    return true;
  };
  if (is_there()) return report;
  CLOCHE_CHECK(check_offline_tools());
  CLOCHE_TRY(Draft draft, store_.draft(token));
  // Another process may have built it while we waited.
  if (is_there()) return report;
  CLOCHE_CHECK(make_debian_root(recipe, draft.path(), progress_, token));
  CLOCHE_TRY(const BuiltRoot built, store_.install(std::move(draft), recipe.name, inputs));
  report.bytes = built.bytes;
  return report;
}

// The oci backend's root filesystem serves here too when it is current; else one is made and thrown away. Either way
// the draft keeps others from replacing it meanwhile.
Task<Status> Builder::import(Recipe recipe, std::string inputs, CancelToken token) {
  std::string root;
  auto prepare = [this, &root, &recipe, &inputs, &token]() -> Result<Draft> {
    CLOCHE_CHECK(check_offline_tools());
    CLOCHE_TRY(Draft draft, store_.draft(token));
    const auto there = store_.find(recipe.name);
    root = draft.root();
    if (there && is_current(there->inputs, inputs)) {
      root = there->path;
    } else {
      CLOCHE_CHECK(make_debian_root(recipe, draft.path(), progress_, token));
    }
    return draft;
  };
  auto draft = co_await run_blocking(pool_, std::move(prepare));
  if (!draft) co_return fail(std::move(draft).error());
  progress_("importing it into the engine");
  auto imported = co_await import_root(engine_, pool_, recipe, inputs, root, token);
  co_return imported;
}

Task<Result<BuildReport>> Builder::build_docker(Recipe recipe, CancelToken token) {
  const Deadline deadline = token.deadline();
  const std::string offline = inputs_of(recipe, Method::offline, host_architecture());
  const std::string by_file = inputs_of(recipe, Method::dockerfile, host_architecture());
  auto there = co_await find_docker_image(engine_, recipe, deadline);
  if (!there) co_return fail(std::move(there).error());
  const std::string label = *there ? (*there)->inputs : std::string();

  BuildReport report;
  report.image = recipe.tag();
  report.method = options_.way == Way::offline ? Method::offline : Method::dockerfile;
  if (*there && is_current(label, report.method == Method::offline ? offline : by_file)) {
    report.state = BuildReport::State::current;
    report.bytes = (*there)->bytes;
    co_return report;
  }
  if (report.method == Method::dockerfile) {
    auto base = co_await ensure_base(engine_, recipe, progress_, deadline);
    if (!base && (options_.way == Way::dockerfile || !recipe.has_packages)) {
      Error error = std::move(base).error();
      if (recipe.has_packages) error.message += " (use --offline if there is no registry)";
      co_return fail(std::move(error));
    }
    if (!base) {
      report.remark = "no registry is reachable; using Debian packages: " + base.error().message;
      report.method = Method::offline;
    }
  }
  if (report.method == Method::offline && *there && is_current(label, offline)) {
    report.state = BuildReport::State::current;
    report.bytes = (*there)->bytes;
    co_return report;
  }
  if (report.method == Method::offline) {
    if (!recipe.has_packages) co_return fail(no_packages(recipe));
    auto imported = co_await import(recipe, offline, token);
    if (!imported) co_return fail(std::move(imported).error());
  } else {
    auto built = co_await build_dockerfile(engine_, recipe, by_file, options_.network, progress_, deadline);
    if (!built) co_return fail(std::move(built).error());
  }
  auto removed = co_await remove_older(engine_, recipe, deadline);
  if (!removed) co_return fail(std::move(removed).error().at("remove older images of " + recipe.name));
  auto made = co_await find_docker_image(engine_, recipe, deadline);
  if (!made) co_return fail(std::move(made).error());
  if (!*made) co_return fail(ErrorCode::protocol, "the engine does not have the image it just built: " + recipe.tag());
  report.bytes = (*made)->bytes;
  co_return report;
}

Task<Result<ImageState>> Builder::look(Recipe recipe, Deadline deadline) {
  ImageState found;
  std::string label;
  const std::string offline = inputs_of(recipe, Method::offline, host_architecture());
  const std::string by_file = inputs_of(recipe, Method::dockerfile, host_architecture());
  if (makes_directories(options_.backend)) {
    found.image = store_.path_of(recipe.name);
    const auto there = store_.find(recipe.name);
    if (!there) co_return found;
    label = there->inputs;
    found.bytes = there->bytes;
  } else {
    found.image = recipe.tag();
    auto there = co_await find_docker_image(engine_, recipe, deadline);
    if (!there) co_return fail(std::move(there).error());
    if (!*there) co_return found;
    label = (*there)->inputs;
    found.bytes = (*there)->bytes;
  }
  found.state = label == offline || label == by_file ? ImageState::State::current : ImageState::State::outdated;
  co_return found;
}

}  // namespace cloche::images

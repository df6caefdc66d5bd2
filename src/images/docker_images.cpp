#include "images/docker_images.hpp"

#include "backend/docker/engine/image_calls.hpp"
#include "core/async/blocking.hpp"
#include "images/build_context.hpp"
#include "images/tool.hpp"

namespace cloche::images {

namespace {

constexpr const char* image_label = "cloche.image";
constexpr const char* inputs_label = "cloche.image.inputs";
// An engine unpacks a large image without a word.
constexpr auto patience = std::chrono::minutes(10);

// A root filesystem as a tar archive, piece by piece. Blocking.
class TarStream {
 public:
  TarStream(std::string root, CancelToken token) : root_(std::move(root)), watch_(std::move(token)) {}

  Result<std::string> next() {
    if (!tar_) {
      ToolSpec spec;
      spec.argv = {"tar", "--numeric-owner", "--sort=name", "-C", root_, "-cf", "-", "."};
      spec.environment = plain_environment();
      spec.errors = ToolSpec::Errors::apart;
      CLOCHE_TRY(Tool started, Tool::start(spec));
      tar_ = std::make_unique<Tool>(std::move(started));
    }
    CLOCHE_TRY(std::string bytes, tar_->read(watch_));
    if (!bytes.empty()) return bytes;
    if (const int code = tar_->wait(); code != 0)
      return fail(ErrorCode::internal, "tar ended with " + std::to_string(code) + ": " + tar_->complaints());
    return std::string();
  }

 private:
  std::string root_;
  CancelToken watch_;
  std::unique_ptr<Tool> tar_;
};

http::BodySource source_of(asio::thread_pool& pool, std::shared_ptr<TarStream> tar) {
  return [&pool, tar]() -> Task<Result<std::string>> {
    auto next = [tar] { return tar->next(); };
    auto piece = co_await run_blocking(pool, std::move(next));
    co_return piece;
  };
}

http::BodySource source_of(std::string bytes) {
  auto left = std::make_shared<std::string>(std::move(bytes));
  return [left]() -> Task<Result<std::string>> { co_return std::exchange(*left, {}); };
}

}  // namespace

Task<Result<std::optional<DockerImage>>> find_docker_image(docker::Engine& engine, Recipe recipe, Deadline deadline) {
  docker::Call call;
  call.method = "GET";
  call.path = "/images/" + docker::percent_encode(recipe.tag()) + "/json";
  // 404: it does not exist.
  call.accepts = {200, 404};
  auto answer = co_await engine.call(std::move(call), deadline);
  if (!answer) co_return fail(std::move(answer).error());
  if (answer->status == 404) co_return std::optional<DockerImage>();
  const auto labels = json::text_map(json::find(answer->body, "Config", "Labels"));
  DockerImage image;
  if (const auto inputs = labels.find(inputs_label); inputs != labels.end()) image.inputs = inputs->second;
  image.bytes = static_cast<std::uint64_t>(json::number(json::find(answer->body, "Size")));
  image.built = json::text(json::find(answer->body, "Created"));
  co_return std::optional<DockerImage>(std::move(image));
}

Task<Status> import_root(docker::Engine& engine, asio::thread_pool& pool, Recipe recipe, std::string inputs,
                         std::string root, CancelToken token) {
  const Deadline deadline = token.deadline();
  auto tar = std::make_shared<TarStream>(std::move(root), std::move(token));
  docker::Call call;
  call.method = "POST";
  call.path = "/images/create";
  call.query = {{"fromSrc", "-"},
                {"repo", recipe.repository},
                {"tag", "latest"},
                {"changes", "USER sandbox"},
                {"changes", "WORKDIR /workspace"},
                {"changes", "CMD [\"/bin/bash\"]"},
                {"changes", std::string("LABEL ") + image_label + "=" + recipe.name},
                {"changes", std::string("LABEL ") + inputs_label + "=" + inputs}};
  call.source = source_of(pool, std::move(tar));
  call.content_type = "application/x-tar";
  call.accepts = {200};
  call.patience = patience;
  docker::Engine::LineSink ignore = [](const json::value&) -> Status { return {}; };
  co_return co_await engine.call_lines(std::move(call), std::move(ignore), deadline);
}

Task<Status> ensure_base(docker::Engine& engine, Recipe recipe, Progress progress, Deadline deadline) {
  auto there = co_await docker::inspect_image(engine, recipe.base, deadline);
  if (there) co_return Status{};
  if (there.error().code != ErrorCode::not_found) co_return fail(std::move(there).error());
  auto reference = docker::parse_image_reference(recipe.base);
  if (!reference) co_return fail(std::move(reference).error());
  progress("pulling " + recipe.base);
  docker::Progress silent;
  auto pulled = co_await docker::pull_image(engine, std::move(*reference), std::move(silent), deadline);
  if (!pulled) co_return fail(std::move(pulled).error().at("pull " + recipe.base));
  co_return Status{};
}

Task<Status> build_dockerfile(docker::Engine& engine, Recipe recipe, std::string inputs, std::string network,
                              Progress progress, Deadline deadline) {
  auto context = make_build_context(recipe);
  if (!context) co_return fail(std::move(context).error());
  docker::BuildSettings settings;
  settings.tag = recipe.tag();
  settings.dockerfile = recipe.dockerfile;
  settings.labels[image_label] = recipe.name;
  settings.labels[inputs_label] = inputs;
  settings.network = std::move(network);
  http::BodySource source = source_of(std::move(*context));
  docker::Progress steps = [progress](std::string_view line) {
    if (line.starts_with("Step ")) progress(line);
  };
  auto built = co_await docker::build_image(engine, std::move(settings), std::move(source), std::move(steps), deadline);
  if (!built) co_return fail(std::move(built).error().at("build " + recipe.dockerfile));
  co_return Status{};
}

Task<Status> remove_older(docker::Engine& engine, Recipe recipe, Deadline deadline) {
  const json::object filters{{"dangling", json::array{"true"}},
                             {"label", json::array{std::string(image_label) + "=" + recipe.name}}};
  docker::Call call;
  call.method = "POST";
  call.path = "/images/prune";
  call.query.emplace_back("filters", boost::json::serialize(filters));
  // 409: another prune is running.
  call.accepts = {200, 409};
  call.patience = patience;
  auto pruned = co_await engine.call(std::move(call), deadline);
  if (!pruned) co_return fail(std::move(pruned).error());
  co_return Status{};
}

}  // namespace cloche::images

#include "backend/docker/engine/image_calls.hpp"

namespace cloche::docker {

namespace {

// The slashes of a name stay: the engine takes all up to the last word as the name.
std::string path_of(const std::string& image, std::string_view action = "") {
  std::string path = "/images/";
  for (const char c : image) path += c == '/' ? std::string(1, c) : percent_encode(std::string_view(&c, 1));
  return path.append(action);
}

// A layer at a time an engine may be silent for long; not for ever.
constexpr auto transfer_timeout = std::chrono::minutes(5);

Engine::LineSink progress_sink(Progress progress) {
  return [progress = std::move(progress)](const json::value& line) -> Status {
    if (!progress) return {};
    std::string words = json::text(json::find(line, "status"));
    if (words.empty()) words = json::text(json::find(line, "stream"));
    const std::string layer = json::text(json::find(line, "id"));
    while (words.ends_with('\n')) words.pop_back();
    if (!words.empty()) progress(layer.empty() ? words : layer + ": " + words);
    return {};
  };
}

std::string serialise(const std::map<std::string, std::string>& map) {
  json::object object;
  for (const auto& [name, value] : map) object[name] = value;
  return boost::json::serialize(object);
}

}  // namespace

Task<Result<ImageDetails>> inspect_image(Engine& engine, std::string image, Deadline deadline) {
  Call call;
  call.method = "GET";
  call.path = path_of(image, "/json");
  call.accepts = {200};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  ImageDetails details;
  details.id = json::text(json::find(answer.body, "Id"));
  details.volumes = json::names(json::find(answer.body, "Config", "Volumes"));
  details.labels = json::text_map(json::find(answer.body, "Config", "Labels"));
  if (details.id.empty())
    co_return fail(ErrorCode::protocol, "GET " + path_of(image, "/json") + ": the engine returned no id");
  co_return details;
}

Task<Status> pull_image(Engine& engine, ImageReference reference, Progress progress, Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = "/images/create";
  // Without a tag the engine would pull all tags.
  call.query = {{"fromImage", reference.repository}, {"tag", reference.tag}};
  call.accepts = {200};
  call.patience = transfer_timeout;
  Engine::LineSink sink = progress_sink(std::move(progress));
  co_return co_await engine.call_lines(std::move(call), std::move(sink), deadline);
}

Task<Status> import_image(Engine& engine, ImageReference reference, std::string archive, Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = "/images/create";
  call.query = {{"fromSrc", "-"}, {"repo", reference.repository}, {"tag", reference.tag}};
  call.raw_body = std::move(archive);
  call.content_type = "application/x-tar";
  call.accepts = {200};
  call.patience = transfer_timeout;
  Engine::LineSink nothing = progress_sink({});
  auto imported = co_await engine.call_lines(std::move(call), std::move(nothing), deadline);
  co_return imported;
}

Task<Status> build_image(Engine& engine, BuildSettings settings, http::BodySource context, Progress progress,
                         Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = "/build";
  call.query = {{"t", settings.tag},
                {"dockerfile", settings.dockerfile},
                {"networkmode", settings.network},
                {"rm", "1"},
                {"forcerm", "1"},
                {"labels", serialise(settings.labels)},
                {"buildargs", serialise(settings.arguments)}};
  call.source = std::move(context);
  call.content_type = "application/x-tar";
  call.accepts = {200};
  call.patience = transfer_timeout;
  Engine::LineSink sink = progress_sink(std::move(progress));
  co_return co_await engine.call_lines(std::move(call), std::move(sink), deadline);
}

Task<Status> tag_image(Engine& engine, std::string image, std::string repository, std::string tag, Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = path_of(image, "/tag");
  call.query = {{"repo", std::move(repository)}, {"tag", std::move(tag)}};
  call.accepts = {201};
  CLOCHE_CO_CHECK(co_await engine.call(std::move(call), deadline));
  co_return Status{};
}

Task<Status> remove_image(Engine& engine, std::string image, Deadline deadline) {
  Call call;
  call.method = "DELETE";
  call.path = path_of(image);
  // 404: gone already.
  call.accepts = {200, 404};
  CLOCHE_CO_CHECK(co_await engine.call(std::move(call), deadline));
  co_return Status{};
}

}  // namespace cloche::docker

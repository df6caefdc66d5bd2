#include "backend/docker/engine/container_calls.hpp"

#include <fmt/format.h>

#include <optional>

#include "archive/tar_reader.hpp"
#include "backend/docker/engine/engine_time.hpp"
#include "core/utf8.hpp"

namespace cloche::docker {

namespace {

std::string path_of(const std::string& container, std::string_view action = "") {
  return "/containers/" + percent_encode(container) + std::string(action);
}

json::value label_filter(const LabelMap& labels) {
  json::array wanted;
  for (const auto& [name, value] : labels) wanted.emplace_back(fmt::format("{}={}", name, value));
  return json::object{{"label", std::move(wanted)}};
}

ContainerDetails details_of(const json::value& said) {
  ContainerDetails details;
  details.id = json::text(json::find(said, "Id"));
  details.status = json::text(json::find(said, "State", "Status"));
  details.is_running = json::truth(json::find(said, "State", "Running"));
  details.was_oom_killed = json::truth(json::find(said, "State", "OOMKilled"));
  details.exit_code = json::number(json::find(said, "State", "ExitCode"));
  details.finished_at = json::text(json::find(said, "State", "FinishedAt"));
  details.labels = json::text_map(json::find(said, "Config", "Labels"));
  details.runtime = json::text(json::find(said, "HostConfig", "Runtime"));
  details.memory = static_cast<std::uint64_t>(json::number(json::find(said, "HostConfig", "Memory")));
  const auto period = json::number(json::find(said, "HostConfig", "CpuPeriod"));
  const auto quota = json::number(json::find(said, "HostConfig", "CpuQuota"));
  if (period > 0) details.cpus = static_cast<double>(quota) / static_cast<double>(period);
  // For a container that an earlier release created.
  const auto nano_cpus = json::number(json::find(said, "HostConfig", "NanoCpus"));
  if (nano_cpus > 0) details.cpus = static_cast<double>(nano_cpus) / 1e9;
  details.pids = json::number(json::find(said, "HostConfig", "PidsLimit"));
  return details;
}

// The content of the first entry of a tar archive, if that is a file.
Result<std::optional<std::string>> first_file_in(std::string_view archive) {
  tar::Reader reader;
  reader.feed(archive);
  CLOCHE_TRY(tar::Reader::Event event, reader.next());
  if (event != tar::Reader::Event::entry || reader.entry().type != tar::EntryType::file) return std::nullopt;
  const std::uint64_t size = reader.entry().size;
  std::string content;
  while (content.size() < size) {
    CLOCHE_TRY(event, reader.next());
    if (event != tar::Reader::Event::data) return fail(ErrorCode::protocol, "the engine returned half a file");
    content.append(reader.data());
  }
  return content;
}

}  // namespace

Task<Result<CreatedContainer>> create_container(Engine& engine, std::string name, json::object body,
                                                Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = "/containers/create";
  call.query.emplace_back("name", std::move(name));
  call.body = std::move(body);
  call.accepts = {201};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  CreatedContainer created;
  created.id = json::text(json::find(answer.body, "Id"));
  created.warnings = json::texts(json::find(answer.body, "Warnings"));
  if (created.id.empty()) co_return fail(ErrorCode::protocol, "POST /containers/create: the engine returned no id");
  co_return created;
}

Task<Status> start_container(Engine& engine, std::string container, Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = path_of(container, "/start");
  // 304 would mean that it is already running: nothing else may start our containers, so that is an error.
  call.accepts = {204};
  CLOCHE_CO_CHECK(co_await engine.call(std::move(call), deadline));
  co_return Status{};
}

Task<Result<http::Upgrade>> attach_container(Engine& engine, std::string container, Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = path_of(container, "/attach");
  call.query = {{"stream", "1"}, {"stdin", "1"}, {"stdout", "1"}, {"stderr", "1"}};
  co_return co_await engine.call_upgrade(std::move(call), deadline);
}

Task<Status> wait_for_container(Engine& engine, std::string container, Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = path_of(container, "/wait");
  call.query.emplace_back("condition", "not-running");
  call.patience = Deadline::Clock::duration::max();
  // 404: it no longer exists, so it is not running either.
  call.accepts = {200, 404};
  CLOCHE_CO_CHECK(co_await engine.call(std::move(call), deadline));
  co_return Status{};
}

Task<Status> kill_container(Engine& engine, std::string container, Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = path_of(container, "/kill");
  // 404, 409: it is gone, or does not run; either way nothing is left to kill.
  call.accepts = {204, 404, 409};
  CLOCHE_CO_CHECK(co_await engine.call(std::move(call), deadline));
  co_return Status{};
}

namespace {

// 409, or 500 for a container that is not paused: it is in that state, or does not run.
Task<Status> change_pause(Engine& engine, std::string container, std::string action, std::string wanted,
                          Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = path_of(container, action);
  call.accepts = {204, 404, 409, 500};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  if (answer.status == 204) co_return Status{};
  auto details = co_await inspect_container(engine, std::move(container), deadline);
  if (!details && details.error().code != ErrorCode::not_found) co_return fail(std::move(details).error());
  if (!details || !details->is_running) co_return fail(ErrorCode::sandbox_lost, "the container does not run");
  if (details->status == wanted) co_return Status{};
  constexpr std::size_t most_words = 300;
  const std::string words = json::text(json::find(answer.body, "message")).substr(0, most_words);
  co_return fail(ErrorCode::unavailable, "the container is " + details->status + ": " + to_utf8(words));
}

}  // namespace

Task<Status> pause_container(Engine& engine, std::string container, Deadline deadline) {
  return change_pause(engine, std::move(container), "/pause", "paused", deadline);
}

Task<Status> unpause_container(Engine& engine, std::string container, Deadline deadline) {
  return change_pause(engine, std::move(container), "/unpause", "running", deadline);
}

Task<Status> remove_container(Engine& engine, std::string container, Deadline deadline) {
  Call call;
  call.method = "DELETE";
  call.path = path_of(container);
  call.query = {{"force", "1"}, {"v", "1"}};
  // 404: gone already. 409: another removal is under way.
  call.accepts = {204, 404, 409};
  CLOCHE_CO_CHECK(co_await engine.call(std::move(call), deadline));
  co_return Status{};
}

Task<Result<std::vector<std::string>>> update_container(Engine& engine, std::string container, json::object resources,
                                                        Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = path_of(container, "/update");
  call.body = std::move(resources);
  call.accepts = {200};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  co_return json::texts(json::find(answer.body, "Warnings"));
}

Task<Result<ContainerDetails>> inspect_container(Engine& engine, std::string container, Deadline deadline) {
  Call call;
  call.method = "GET";
  call.path = path_of(container, "/json");
  call.accepts = {200};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  ContainerDetails details = details_of(answer.body);
  if (details.id.empty())
    co_return fail(ErrorCode::protocol, "GET " + path_of(container, "/json") + ": the engine returned no id");
  co_return details;
}

Task<Result<std::vector<ContainerSummary>>> list_containers(Engine& engine, LabelMap labels, Deadline deadline) {
  Call call;
  call.method = "GET";
  call.path = "/containers/json";
  call.query = {{"all", "1"}, {"filters", boost::json::serialize(label_filter(labels))}};
  call.accepts = {200};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  if (!answer.body.is_array()) co_return fail(ErrorCode::protocol, "GET /containers/json: the engine returned no list");
  std::vector<ContainerSummary> found;
  for (const json::value& item : answer.body.get_array()) {
    ContainerSummary summary;
    summary.id = json::text(json::find(item, "Id"));
    summary.state = json::text(json::find(item, "State"));
    summary.labels = json::text_map(json::find(item, "Labels"));
    // Only containers with the labels are ours, whatever the engine made of the filter.
    const bool fits = std::ranges::all_of(labels, [&](const auto& wanted) {
      const auto has = summary.labels.find(wanted.first);
      return has != summary.labels.end() && has->second == wanted.second;
    });
    if (fits && !summary.id.empty()) found.push_back(std::move(summary));
  }
  co_return found;
}

Task<Result<bool>> has_path(Engine& engine, std::string container, std::string path, Deadline deadline) {
  Call call;
  call.method = "HEAD";
  call.path = path_of(container, "/archive");
  call.query.emplace_back("path", std::move(path));
  call.accepts = {200, 404};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  co_return answer.status == 200;
}

Task<Result<std::optional<std::string>>> read_file(Engine& engine, std::string container, std::string path,
                                                   Deadline deadline) {
  Call call;
  call.method = "GET";
  call.path = path_of(container, "/archive");
  call.query.emplace_back("path", std::move(path));
  call.accepts = {200};
  CLOCHE_CO_TRY(const std::string archive, co_await engine.call_bytes(std::move(call), deadline));
  co_return first_file_in(archive);
}

Task<Status> put_archive(Engine& engine, std::string container, std::string archive, Deadline deadline) {
  Call call;
  call.method = "PUT";
  call.path = path_of(container, "/archive");
  call.query.emplace_back("path", "/");
  call.raw_body = std::move(archive);
  call.content_type = "application/x-tar";
  call.accepts = {200};
  CLOCHE_CO_CHECK(co_await engine.call(std::move(call), deadline));
  co_return Status{};
}

Task<Result<std::string>> commit_container(Engine& engine, std::string container, std::string repository,
                                           std::string tag, json::object config, Deadline deadline) {
  Call call;
  call.method = "POST";
  call.path = "/commit";
  call.query = {
      {"container", std::move(container)}, {"repo", std::move(repository)}, {"tag", std::move(tag)}, {"pause", "0"}};
  call.body = std::move(config);
  call.accepts = {201};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  std::string id = json::text(json::find(answer.body, "Id"));
  if (id.empty()) co_return fail(ErrorCode::protocol, "POST /commit: the engine returned no id");
  co_return id;
}

Task<Result<ContainerStats>> container_stats(Engine& engine, std::string container, Deadline deadline) {
  CLOCHE_CO_TRY(const ApiVersion version, co_await engine.api_version(deadline));
  if (version < one_shot_stats_api)
    co_return fail(ErrorCode::unsupported, "the engine cannot return statistics without a delay");
  Call call;
  call.method = "GET";
  call.path = path_of(container, "/stats");
  call.query = {{"stream", "false"}, {"one-shot", "true"}};
  call.accepts = {200};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  ContainerStats stats;
  stats.read_at = json::text(json::find(answer.body, "read"));
  const auto number = [&](auto... path) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, json::number(json::find(answer.body, path...))));
  };
  stats.memory_peak = number("memory_stats", "max_usage");
  stats.memory = number("memory_stats", "usage");
  // By the names of either version of cgroups; on version 1, those without `total_` leave children out.
  const bool v1 = json::find(answer.body, "memory_stats", "stats", "total_inactive_file") != nullptr;
  stats.cache = number("memory_stats", "stats", v1 ? "total_inactive_file" : "inactive_file") +
                number("memory_stats", "stats", v1 ? "total_active_file" : "active_file");
  stats.cpu_ns = number("cpu_stats", "cpu_usage", "total_usage");
  co_return stats;
}

Task<Result<std::uint64_t>> count_oom_events(Engine& engine, std::string container, std::string until,
                                             Deadline deadline) {
  CLOCHE_CO_TRY(const std::string moment, to_event_time(until));
  Call call;
  call.method = "GET";
  call.path = "/events";
  const json::object filters{{"container", json::array{container}}, {"event", json::array{"oom"}}};
  call.query = {{"since", "1"}, {"until", moment}, {"filters", boost::json::serialize(filters)}};
  call.accepts = {200};
  std::uint64_t count = 0;
  Engine::LineSink sink = [&count, &container](const json::value& line) -> Status {
    const bool ours = json::text(json::find(line, "Actor", "ID")) == container;
    if (ours && json::text(json::find(line, "Action")) == "oom") ++count;
    return {};
  };
  CLOCHE_CO_CHECK(co_await engine.call_lines(std::move(call), std::move(sink), deadline));
  co_return count;
}

}  // namespace cloche::docker

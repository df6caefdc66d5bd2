#include "bench/alternatives/docker.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "bench/alternatives/python.hpp"
#include "json/lenient_json.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 120s;

std::string argv_text(const std::vector<std::string>& argv) {
  json::array words;
  for (const std::string& word : argv) words.emplace_back(word);
  return json::serialize(words);
}

std::string container_body(const std::string& image, const std::string& runtime, const std::vector<std::string>& argv) {
  return R"({"Image":")" + image + R"(","Cmd":)" + argv_text(argv) +
         R"(,"Labels":{"cloche.bench":"1"},"HostConfig":{"NetworkMode":"none","Runtime":")" + runtime + "\"}}";
}

Result<std::string> id_in(const std::string& answer) {
  CLOCHE_TRY(const json::value parsed, json::parse(answer));
  return json::text(json::find(parsed, "Id"));
}

// The output of a program, with the 8 bytes before each piece that identify its stream.
Status check_output(const std::string& framed, const std::string& wanted) {
  if (wanted.empty() ? framed.empty() : framed.size() == wanted.size() + 8 && framed.ends_with(wanted)) return {};
  return fail(ErrorCode::internal, "the program printed: " + framed.substr(0, 300));
}

Task<Result<std::string>> start_container(Surroundings& surroundings, std::string runtime) {
  EngineCalls calls(surroundings, *surroundings.docker());
  std::vector<std::string> argv{"sleep", "infinity"};
  std::string body = container_body(surroundings.docker()->image, runtime, argv);
  auto made = co_await calls.call("POST", "/containers/create", std::move(body));
  if (!made) co_return fail(std::move(made).error());
  CLOCHE_CO_TRY(std::string id, id_in(*made));
  auto started = co_await calls.call("POST", "/containers/" + id + "/start", "");
  if (!started) {
    [[maybe_unused]] auto removed = co_await calls.call("DELETE", "/containers/" + id + "?force=1&v=1", "");
    co_return fail(std::move(started).error());
  }
  co_return id;
}

}  // namespace

EngineCalls::EngineCalls(Surroundings& surroundings, const DockerEngine& engine)
    : client_(surroundings.executor(), engine.endpoint), prefix_(engine.api_prefix) {}

Task<Result<std::string>> EngineCalls::call(std::string method, std::string path, std::string body) {
  http::Request request;
  request.method = std::move(method);
  request.target = prefix_ + path;
  if (!body.empty()) request.fields.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  const std::string what = request.method + " " + path;
  auto response = co_await client_.send(std::move(request), Deadline::after(patience));
  if (!response) co_return fail(std::move(response).error().at(what));
  if (!response->success()) {
    co_return fail(ErrorCode::internal,
                   what + ": " + std::to_string(response->status) + " " + response->body.substr(0, 300));
  }
  co_return std::move(response->body);
}

Result<std::unique_ptr<DockerContainer>> DockerContainer::start(Surroundings& surroundings,
                                                                const std::string& runtime) {
  CLOCHE_TRY(std::string id, surroundings.await(start_container(surroundings, runtime)));
  return std::unique_ptr<DockerContainer>(new DockerContainer(surroundings, std::move(id)));
}

DockerContainer::~DockerContainer() {
  EngineCalls calls(surroundings_, *surroundings_.docker());
  if (auto removed = surroundings_.await(calls.call("DELETE", "/containers/" + id_ + "?force=1&v=1", "")); !removed) {
    tell("bench: a container is left: " + removed.error().message);
  }
}

DockerExecClient::DockerExecClient(Surroundings& surroundings, const DockerContainer& container)
    : calls_(surroundings, *surroundings.docker()), container_(container.id()) {}

Task<Status> DockerExecClient::run_once() {
  const std::vector<std::string> argv{"python3", "-c", program_text};
  std::string body = R"({"AttachStdout":true,"AttachStderr":true,"Cmd":)" + argv_text(argv) + "}";
  auto made = co_await calls_.call("POST", "/containers/" + container_ + "/exec", std::move(body));
  if (!made) co_return fail(std::move(made).error());
  CLOCHE_CO_TRY(const std::string id, id_in(*made));
  std::string start = R"({"Detach":false,"Tty":false})";
  auto printed = co_await calls_.call("POST", "/exec/" + id + "/start", std::move(start));
  if (!printed) co_return fail(std::move(printed).error());
  co_return check_output(*printed, program_output);
}

DockerRun::DockerRun(Surroundings& surroundings, std::string runtime, std::vector<std::string> argv, std::string output)
    : surroundings_(surroundings),
      calls_(surroundings, *surroundings.docker()),
      body_(container_body(surroundings.docker()->image, runtime, argv)),
      output_(std::move(output)) {}

Status DockerRun::run() { return surroundings_.await(run_task()); }

Task<Status> DockerRun::run_task() {
  auto made = co_await calls_.call("POST", "/containers/create", body_);
  if (!made) co_return fail(std::move(made).error());
  CLOCHE_CO_TRY(left_, id_in(*made));
  auto started = co_await calls_.call("POST", "/containers/" + left_ + "/start", "");
  if (!started) co_return fail(std::move(started).error());
  auto ended = co_await calls_.call("POST", "/containers/" + left_ + "/wait", "");
  if (!ended) co_return fail(std::move(ended).error());
  auto printed = co_await calls_.call("GET", "/containers/" + left_ + "/logs?stdout=1&stderr=1", "");
  if (!printed) co_return fail(std::move(printed).error());
  co_return check_output(*printed, output_);
}

void DockerRun::remove() {
  if (left_.empty()) return;
  const std::string id = std::exchange(left_, {});
  if (auto removed = surroundings_.await(calls_.call("DELETE", "/containers/" + id + "?force=1&v=1", "")); !removed) {
    tell("bench: a container is left: " + removed.error().message);
  }
}

}  // namespace cloche::bench

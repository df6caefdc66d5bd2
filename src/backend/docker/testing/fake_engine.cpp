#include "backend/docker/testing/fake_engine.hpp"

#include <fmt/format.h>

#include <fstream>

#include "core/ids.hpp"

namespace cloche::docker::testing {

namespace {

using http::testing::Handler;
using http::testing::Peer;
using http::testing::ReceivedRequest;

constexpr const char* info = R"({"ServerVersion":"20.10","OSType":"linux","CgroupVersion":"1","MemoryLimit":true,
  "SwapLimit":true,"CpuCfsPeriod":true,"CpuCfsQuota":true,"PidsLimit":true,"DefaultRuntime":"runc",
  "SecurityOptions":["name=seccomp,profile=default"],"Runtimes":)";

// The part of a target after `/v1.41/<kind>/`, up to the next slash or the query.
std::string part_after(const std::string& target, std::string_view kind) {
  const auto from = target.find(kind) + kind.size();
  return target.substr(from, target.find_first_of("/?", from) - from);
}

std::string missing(const std::string& what) { return R"({"message":"No such thing: )" + what + "\"}"; }

}  // namespace

FakeEngine::FakeEngine(Executor executor) : server_(std::move(executor)) {
  std::ofstream(agent_path()) << "an agent";
  images["base:latest"] = "sha256:" + std::string(64, 'b');
  answer_system();
  answer_images();
  answer_containers();
}

DockerOptions FakeEngine::options() const {
  DockerOptions options;
  options.host = "unix://" + server_.path();
  options.instance = {"test"};
  options.agent_path = agent_path();
  return options;
}

void FakeEngine::answer_system() {
  server_.on("GET /version", 200, R"({"ApiVersion":"1.41","MinAPIVersion":"1.12"})");
  server_.on("GET /v1.41/info", [this](ReceivedRequest, Peer& peer) -> Task<> {
    const std::string answer = info + runtimes + "}";
    co_await peer.reply(200, answer);
  });
}

void FakeEngine::answer_images() {
  server_.on("GET /v1.41/images/", [this](ReceivedRequest request, Peer& peer) -> Task<> {
    std::string name = request.target.substr(14, request.target.rfind("/json") - 14);
    for (auto at = name.find("%3A"); at != name.npos; at = name.find("%3A")) name.replace(at, 3, ":");
    if (name.find(':') == name.npos) name += ":latest";
    const auto found = images.find(name);
    if (found == images.end()) {
      co_await peer.reply(404, missing(name));
      co_return;
    }
    co_await peer.reply(200, R"({"Id":")" + found->second + R"(","Config":{}})");
  });
  server_.on("POST /v1.41/images/create", 404, R"({"message":"pull access denied"})");
  server_.on("POST /v1.41/commit", [this](ReceivedRequest request, Peer& peer) -> Task<> {
    const auto tag = part_after(request.target, "tag=");
    const std::string id = "sha256:" + random_hex(32);
    images["cloche/sandbox:" + tag.substr(0, tag.find('&'))] = id;
    co_await peer.reply(201, R"({"Id":")" + id + "\"}");
  });
}

json::value FakeEngine::summary_of(const std::string& id, const Container& container) const {
  const json::value* labels = container.body.if_contains("Labels");
  return json::object{
      {"Id", id}, {"State", container.state}, {"Labels", labels ? *labels : json::value(json::object{})}};
}

void FakeEngine::answer_containers() {
  server_.on("POST /v1.41/containers/create", [this](ReceivedRequest request, Peer& peer) -> Task<> {
    const std::string id = fmt::format("{:064x}", ++next_id_);
    const auto body = json::parse(request.body);
    containers[id] = Container{part_after(request.target, "name="), "created", body.value().as_object()};
    const std::string answer = R"({"Id":")" + id + R"(","Warnings":)" + warnings + "}";
    co_await peer.reply(201, answer);
  });
  server_.on("GET /v1.41/containers/json", [this](ReceivedRequest, Peer& peer) -> Task<> {
    // The filter is ignored: only the client's own check keeps it from what is not its.
    json::array all;
    for (const auto& [id, container] : containers) all.push_back(summary_of(id, container));
    co_await peer.reply(200, boost::json::serialize(all));
  });
  server_.on("GET /v1.41/containers/0", [this](ReceivedRequest request, Peer& peer) -> Task<> {
    const auto found = containers.find(part_after(request.target, "/containers/"));
    const bool asks_for_a_file = request.target.find("/archive?") != request.target.npos;
    if (found == containers.end() || asks_for_a_file) {
      co_await peer.reply(404, missing(request.target));
      co_return;
    }
    json::value details = summary_of(found->first, found->second);
    json::object& object = details.get_object();
    const std::string state = found->second.state;
    object["State"] = json::object{{"Status", state}, {"Running", state == "running" || state == "paused"}};
    object["Config"] = json::object{{"Labels", object["Labels"]}};
    if (const json::value* host = found->second.body.if_contains("HostConfig")) object["HostConfig"] = *host;
    co_await peer.reply(200, boost::json::serialize(details));
  });
  server_.on("HEAD /v1.41/containers/0", 404, "");
  server_.on("PUT /v1.41/containers/0", 200, "");
  // Attach, start and the rest that is done to one container.
  server_.on("POST /v1.41/containers/0", [this](ReceivedRequest request, Peer& peer) -> Task<> {
    const std::string id = part_after(request.target, "/containers/");
    if (request.target.find("/attach?") != request.target.npos) {
      co_await peer.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
      for (;;) {
        const std::string heard = co_await peer.receive();
        if (heard.empty()) break;
        co_await peer.send(frame(1, heard));
      }
      peer.hang_up();
    } else if (request.target.ends_with("/start")) {
      if (containers.contains(id)) containers[id].state = "running";
      co_await peer.reply(204, "");
    } else if (request.target.ends_with("/pause") || request.target.ends_with("/unpause")) {
      const bool pauses = request.target.ends_with("/pause");
      const auto found = containers.find(id);
      const bool can = found != containers.end() && found->second.state == (pauses ? "running" : "paused");
      if (can) found->second.state = pauses ? "paused" : "running";
      // As engines do.
      co_await peer.reply(can ? 204 : pauses ? 409 : 500, can ? "" : R"({"message":"Container is not paused"})");
    } else {
      co_await peer.reply(200, R"({"StatusCode":0})");
    }
  });
  server_.on("DELETE /v1.41/containers/0", [this](ReceivedRequest request, Peer& peer) -> Task<> {
    ++removals;
    const bool was_there = containers.erase(part_after(request.target, "/containers/")) > 0;
    co_await peer.reply(was_there ? 204 : 404, "");
  });
}

void FakeEngine::on_attach(const Handler& then) {
  server_.on("POST /v1.41/containers/0", [this, then](ReceivedRequest request, Peer& peer) -> Task<> {
    if (request.target.find("/attach?") == request.target.npos) {
      const std::string id = part_after(request.target, "/containers/");
      if (request.target.ends_with("/start") && containers.contains(id)) containers[id].state = "running";
      co_await peer.reply(204, "");
      co_return;
    }
    co_await peer.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    co_await then(std::move(request), peer);
  });
}

std::string frame(char kind, std::string_view payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::string bytes{kind, 0, 0, 0};
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xff);
  return bytes.append(payload);
}

}  // namespace cloche::docker::testing

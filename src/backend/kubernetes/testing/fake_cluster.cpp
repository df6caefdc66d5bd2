#include "backend/kubernetes/testing/fake_cluster.hpp"

#include <fmt/format.h>

#include "http/client_websocket.hpp"
#include "json/write_json.hpp"

namespace cloche::kubernetes::testing {

namespace {

using http::testing::Peer;
using http::testing::ReceivedRequest;

constexpr std::string_view pods_path = "/api/v1/namespaces/sandboxes/pods";

std::string field_in(const std::string& head, const std::string& name) {
  const auto at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 4;
  return head.substr(from, head.find("\r\n", from) - from);
}

std::string query_of(const std::string& target, const std::string& name) {
  const auto at = target.find(name + "=");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 1;
  return target.substr(from, target.find('&', from) - from);
}

// The name in PODS/NAME/rest?query.
std::string name_in(const std::string& target) {
  const std::string rest = target.substr(pods_path.size() + 1);
  return rest.substr(0, rest.find_first_of("/?"));
}

std::string chunk(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

std::string server_frame(std::string_view payload) {
  std::string frame = "\x82";
  if (payload.size() <= 125) {
    frame += static_cast<char>(payload.size());
  } else {
    frame += "\x7e";
    frame += static_cast<char>(payload.size() >> 8);
    frame += static_cast<char>(payload.size());
  }
  return frame + std::string(payload);
}

// The payload of a small masked frame at the beginning of the bytes, which is removed.
std::optional<std::string> take_frame(std::string& bytes) {
  if (bytes.size() < 2) return std::nullopt;
  std::size_t size = static_cast<unsigned char>(bytes[1]) & 0x7fU;
  std::size_t head = 2;
  if (size == 126) {
    if (bytes.size() < 4) return std::nullopt;
    size = static_cast<std::size_t>(static_cast<unsigned char>(bytes[2])) << 8 | static_cast<unsigned char>(bytes[3]);
    head = 4;
  }
  if (bytes.size() < head + 4 + size) return std::nullopt;
  std::string payload = bytes.substr(head + 4, size);
  for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(payload[i] ^ bytes[head + i % 4]);
  bytes.erase(0, head + 4 + size);
  return payload;
}

}  // namespace

std::string status_body(int code, const std::string& reason, const std::string& message) {
  const json::object status{
      {"kind", "Status"}, {"status", "Failure"}, {"code", code}, {"reason", reason}, {"message", message}};
  return write_json(status);
}

FakeCluster::FakeCluster(Executor executor)
    : new_status(running_status()),
      executor_(executor),
      server_(executor),
      watches_(std::make_shared<Streams>(executor)),
      programs_(std::make_shared<Streams>(executor)) {
  add_handlers();
}

void FakeCluster::add_handlers() {
  server_.on("GET /version", 200, R"({"major":"1","minor":"36","gitVersion":"v1.36.3"})");
  server_.on(
      "GET /apis/node.k8s.io/v1/runtimeclasses", 200,
      R"({"items":[{"metadata":{"name":"runc"},"handler":"runc"},{"metadata":{"name":"gvisor"},"handler":"runsc"}],
                 "metadata":{}})");
  server_.on("GET /api/v1/nodes", 200,
             R"({"items":[{"status":{"runtimeHandlers":[{"name":"","features":{"userNamespaces":true}},
                 {"name":"runc","features":{"userNamespaces":true}}]}}],"metadata":{}})");
  server_.on("POST /apis/authorization.k8s.io", 201, R"({"status":{"allowed":true}})");
  const std::string pods = std::string(pods_path);
  server_.on("GET " + pods + "?", [this](ReceivedRequest request, Peer& peer) {
    const bool is_watch = request.target.find("watch=1") != std::string::npos;
    return is_watch ? answer_watch(std::move(request), peer) : answer_list(std::move(request), peer);
  });
  server_.on("POST " + pods, [this](ReceivedRequest request, Peer& peer) -> Task<> {
    if (on_create) {
      co_await on_create(std::move(request), peer);
      co_return;
    }
    const json::object pod = make(request);
    co_await peer.reply(201, write_json(pod));
  });
  for (const char* method : {"GET ", "DELETE ", "PATCH "}) {
    server_.on(method + pods + "/",
               [this](ReceivedRequest request, Peer& peer) { return answer_one(std::move(request), peer); });
  }
}

KubernetesSettings FakeCluster::settings() const {
  KubernetesSettings settings;
  settings.access.emplace();
  settings.access->server = "unix:" + server_.path();
  settings.access->token = "secret-token";
  settings.namespace_name = "sandboxes";
  settings.agent_image = "agent:1";
  settings.instance = {"0123456789abcdef", "test", ""};
  return settings;
}

json::object FakeCluster::running_status() {
  json::object state;
  state["running"] = json::object{{"startedAt", "2026-08-22T10:00:00Z"}};
  json::object container{{"name", "sandbox"}};
  container["state"] = std::move(state);
  json::object status{{"phase", "Running"}};
  status["containerStatuses"] = json::array{std::move(container)};
  return status;
}

void FakeCluster::put(json::object pod) {
  auto& metadata = pod["metadata"].as_object();
  metadata["resourceVersion"] = std::to_string(++version_);
  if (!metadata.contains("uid")) metadata["uid"] = fmt::format("uid-{}", version_);
  const std::string name = json::text(json::find(metadata, "name"));
  changes_.push_back({version_, pods.contains(name) ? "MODIFIED" : "ADDED", pod});
  pods[name] = std::move(pod);
  watches_->changed.notify();
}

void FakeCluster::erase(const std::string& name) {
  const auto found = pods.find(name);
  if (found == pods.end()) return;
  changes_.push_back({++version_, "DELETED", found->second});
  changes_.back().pod["metadata"].as_object()["resourceVersion"] = std::to_string(version_);
  pods.erase(found);
  watches_->changed.notify();
}

json::object FakeCluster::make(const ReceivedRequest& request) {
  const auto body = json::parse(request.body);
  json::object pod = body->as_object();
  const std::string name = json::text(json::find(*body, "metadata", "name"));
  pod["status"] = new_status;
  put(std::move(pod));
  return pods[name];
}

void FakeCluster::end_watches() {
  ++watches_->generation;
  watches_->changed.notify();
}

void FakeCluster::expire_watches() {
  oldest_ = version_ + 1;
  changes_.clear();
  ++version_;
  end_watches();
}

void FakeCluster::cut_streams() {
  ++programs_->generation;
  programs_->changed.notify();
}

Task<> FakeCluster::answer_list(ReceivedRequest, Peer& peer) {
  json::array items;
  for (const auto& [name, pod] : pods) items.push_back(pod);
  json::object list{{"kind", "PodList"}};
  list["metadata"] = json::object{{"resourceVersion", std::to_string(version_)}};
  list["items"] = std::move(items);
  co_await peer.reply(200, write_json(list));
}

Task<> FakeCluster::answer_watch(ReceivedRequest request, Peer& peer) {
  int seen = std::atoi(query_of(request.target, "resourceVersion").c_str());
  if (seen < oldest_) {
    co_await peer.reply(410, status_body(410, "Expired", "too old resource version"));
    co_return;
  }
  std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  co_await peer.send(std::move(head));
  const int generation = watches_->generation;
  while (watches_->generation == generation) {
    std::string events;
    for (const Change& change : changes_) {
      if (change.version <= seen) continue;
      seen = change.version;
      json::object event{{"type", change.type}};
      event["object"] = change.pod;
      events += write_json(event) + "\n";
    }
    if (!events.empty()) {
      co_await peer.send(chunk(events));
      continue;
    }
    co_await watches_->changed.wait();
  }
  std::string end = "0\r\n\r\n";
  co_await peer.send(std::move(end));
}

Task<> FakeCluster::answer_one(ReceivedRequest request, Peer& peer) {
  const std::string name = name_in(request.target);
  const auto found = pods.find(name);
  if (found == pods.end()) {
    co_await peer.reply(404, status_body(404, "NotFound", "pods \"" + name + "\" not found"));
    co_return;
  }
  if (request.target.find("/exec?") != std::string::npos) {
    co_await answer_exec(std::move(request), peer);
  } else if (request.method == "DELETE") {
    const auto body = json::parse(request.body);
    const std::string uid = body ? json::text(json::find(*body, "preconditions", "uid")) : "";
    if (!uid.empty() && uid != json::text(json::find(found->second, "metadata") != nullptr
                                              ? json::find(*json::find(found->second, "metadata"), "uid")
                                              : nullptr)) {
      co_await peer.reply(409, status_body(409, "Conflict", "the UID in the precondition does not match"));
      co_return;
    }
    erase(name);
    co_await peer.reply(200, R"({"kind":"Status","status":"Success"})");
  } else {
    co_await peer.reply(200, write_json(found->second));
  }
}

Task<> FakeCluster::answer_exec(ReceivedRequest request, Peer& peer) {
  std::string head =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\nSec-WebSocket-Accept: " +
      http::websocket_accept(field_in(request.head, "Sec-WebSocket-Key")) + "\r\n\r\n";
  // As servers do, each channel is opened by an empty message.
  for (const char channel : {'\x01', '\x02', '\x03'}) head += server_frame(std::string(1, channel));
  co_await peer.send(std::move(head));
  const int generation = programs_->generation;
  std::string bytes;
  while (programs_->generation == generation) {
    const std::string more = co_await peer.receive();
    if (more.empty()) break;
    bytes += more;
    while (auto payload = take_frame(bytes)) {
      if (payload->empty() || payload->front() != '\0') continue;
      payload->front() = '\x01';
      co_await peer.send(server_frame(*payload));
    }
  }
  peer.hang_up();
}

}  // namespace cloche::kubernetes::testing

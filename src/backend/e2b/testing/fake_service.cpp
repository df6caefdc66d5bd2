#include "backend/e2b/testing/fake_service.hpp"

#include <fmt/format.h>

#include <fstream>

#include "backend/e2b/api/messages.hpp"
#include "connect/envelope.hpp"
#include "core/base64.hpp"
#include "json/lenient_json.hpp"

namespace cloche::e2b::testing {

namespace {

using http::testing::Peer;
using http::testing::ReceivedRequest;

constexpr const char* token = "token-of-sandbox";
constexpr const char* key = "e2b_0123456789abcdef";

std::string problem(int code, const std::string& message) {
  return fmt::format(R"({{"code":{},"message":"{}"}})", code, message);
}

// The id in /sandboxes/ID/rest.
std::string id_in(const std::string& target) {
  const std::string rest = target.substr(std::string("/sandboxes/").size());
  return rest.substr(0, rest.find_first_of("/?"));
}

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::string query_of(const std::string& target, const std::string& name) {
  const auto at = target.find(name + "=");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 1;
  return decoded(target.substr(from, target.find('&', from) - from));
}

json::object described(const std::string& id, const FakeService::Sandbox& sandbox) {
  json::object metadata;
  for (const auto& [name, value] : sandbox.metadata) metadata[name] = value;
  return {{"templateID", "rki5dems9wqfm4r03t7g"},
          {"alias", "base"},
          {"sandboxID", id},
          {"clientID", "6532622b"},
          {"startedAt", "2026-08-22T10:00:00Z"},
          {"endAt", "2026-08-22T10:05:00Z"},
          {"cpuCount", 2},
          {"memoryMB", 512},
          {"diskSizeMB", 1024},
          {"metadata", std::move(metadata)},
          {"state", sandbox.state},
          {"envdVersion", "0.6.13"}};
}

bool matches(const FakeService::Sandbox& sandbox, const std::string& filter) {
  std::string_view rest = filter;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const auto equals = pair.find('=');
    const auto found = sandbox.metadata.find(decoded(decoded(pair.substr(0, equals))));
    if (found == sandbox.metadata.end() || found->second != decoded(decoded(pair.substr(equals + 1)))) return false;
  }
  return true;
}

}  // namespace

std::string field_of(const ReceivedRequest& request, std::string_view name) {
  const auto at = request.head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 4;
  return request.head.substr(from, request.head.find("\r\n", from) - from);
}

std::string event(std::string_view json) { return connect::in_envelope(0, R"({"event":)" + std::string(json) + "}"); }

std::string stream_head() {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n";
}

std::string chunk(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

FakeService::FakeService(Executor executor) : executor_(executor), server_(executor) {
  std::ofstream(server_.path() + ".agent") << "an agent";
  server_.on("POST /sandboxes",
             [this](ReceivedRequest request, Peer& peer) { return answer_sandboxes(std::move(request), peer); });
  server_.on("GET /sandboxes/",
             [this](ReceivedRequest request, Peer& peer) { return answer_sandboxes(std::move(request), peer); });
  server_.on("DELETE /sandboxes/",
             [this](ReceivedRequest request, Peer& peer) { return answer_sandboxes(std::move(request), peer); });
  server_.on("GET /v2/sandboxes",
             [this](ReceivedRequest request, Peer& peer) { return answer_list(std::move(request), peer); });
  server_.on("GET /health", [this](ReceivedRequest request, Peer& peer) -> Task<> {
    co_await peer.reply(sandbox_of(request) != nullptr ? 204 : 502, problem(502, "The sandbox was not found"));
  });
  server_.on("POST /files", [this](ReceivedRequest request, Peer& peer) -> Task<> {
    Sandbox* sandbox = sandbox_of(request);
    if (sandbox != nullptr) sandbox->agent = request.body;
    co_await peer.reply(sandbox != nullptr ? 200 : 502, R"([{"path":"/x","name":"x","type":"file"}])");
  });
  server_.on("POST /process.Process/Start",
             [this](ReceivedRequest request, Peer& peer) { return answer_start(std::move(request), peer); });
  server_.on("POST /process.Process/SendInput",
             [this](ReceivedRequest request, Peer& peer) { return answer_input(std::move(request), peer); });
}

E2bSettings FakeService::settings() const {
  E2bSettings settings;
  settings.api_key = key;
  settings.domain = "e2b.example";
  settings.template_name = "base";
  settings.api_url = settings.sandbox_url = "unix:" + server_.path();
  settings.instance = {"test"};
  settings.agent_path = server_.path() + ".agent";
  return settings;
}

FakeService::Sandbox* FakeService::sandbox_of(const ReceivedRequest& request) {
  const auto found = sandboxes.find(field_of(request, "E2b-Sandbox-Id"));
  if (found == sandboxes.end() || field_of(request, "X-Access-Token") != token) return nullptr;
  return &found->second;
}

std::string FakeService::make(const ReceivedRequest& request) {
  const auto body = json::parse(request.body);
  const std::string id = fmt::format("i{:06}", ++next_id_);
  if (body) {
    sandboxes[id].metadata = json::text_map(json::find(*body, "metadata"));
    sandboxes[id].lifetime = json::number(json::find(*body, "timeout"));
  }
  return id;
}

Task<> FakeService::create(ReceivedRequest request, Peer& peer) {
  const auto body = json::parse(request.body);
  if (!body || json::text(json::find(*body, "templateID")) != "base") {
    co_await peer.reply(404, problem(404, "template not found"));
    co_return;
  }
  const std::string id = make(request);
  json::object answer = described(id, sandboxes[id]);
  for (const char* name : {"metadata", "cpuCount", "memoryMB", "diskSizeMB", "state"}) answer.erase(name);
  if (json::truth(json::find(*body, "secure"))) answer["envdAccessToken"] = token;
  co_await peer.reply(201, boost::json::serialize(answer));
}

Task<> FakeService::answer_sandboxes(ReceivedRequest request, Peer& peer) {
  if (field_of(request, "X-API-Key") != key) {
    co_await peer.reply(401, problem(401, "invalid API key"));
    co_return;
  }
  if (request.target == "/sandboxes") {
    if (on_create) {
      co_await on_create(std::move(request), peer);
    } else {
      co_await create(std::move(request), peer);
    }
    co_return;
  }
  if (request.method == "DELETE" && on_remove) {
    co_await on_remove(std::move(request), peer);
    co_return;
  }
  const std::string id = id_in(request.target);
  const auto found = sandboxes.find(id);
  if (found == sandboxes.end()) {
    co_await peer.reply(404, problem(404, "Sandbox doesn't exist or you don't have access to it"));
    co_return;
  }
  if (request.method == "DELETE") {
    sandboxes.erase(found);
    co_await peer.reply(204, "");
  } else if (request.target.ends_with("/timeout")) {
    const auto body = json::parse(request.body);
    found->second.lifetime = body ? json::number(json::find(*body, "timeout")) : 0;
    ++found->second.prolonged;
    co_await peer.reply(204, "");
  } else {
    json::object answer = described(id, found->second);
    answer["envdAccessToken"] = token;
    co_await peer.reply(200, boost::json::serialize(answer));
  }
}

Task<> FakeService::answer_list(ReceivedRequest request, Peer& peer) {
  if (field_of(request, "X-API-Key") != key) {
    co_await peer.reply(401, problem(401, "invalid API key"));
    co_return;
  }
  const std::string filter = query_of(request.target, "metadata");
  const std::string after = query_of(request.target, "nextToken");
  json::array page;
  std::string next;
  for (const auto& [id, sandbox] : sandboxes) {
    if (id <= after || !matches(sandbox, filter)) continue;
    if (page.size() == page_size) {
      next = json::text(page.back().get_object(), "sandboxID");
      break;
    }
    page.push_back(described(id, sandbox));
  }
  std::string cursor = next.empty() ? "" : "x-next-token: " + next + "\r\n";
  co_await peer.reply(200, boost::json::serialize(page), std::move(cursor));
}

Task<> FakeService::answer_start(ReceivedRequest request, Peer& peer) {
  Sandbox* sandbox = sandbox_of(request);
  if (sandbox == nullptr) {
    co_await peer.reply(502, problem(502, "The sandbox was not found"));
    co_return;
  }
  const auto said = json::parse(std::string_view(request.body).substr(connect::envelope_head));
  std::vector<std::string> argv{json::text(json::find(*said, "process", "cmd"))};
  for (const std::string& each : json::texts(json::find(*said, "process", "args"))) argv.push_back(each);
  const std::string verb = argv.size() > 1 ? argv[1] : "";
  sandbox->commands.push_back(argv);
  const std::uint32_t pid = ++next_pid_;
  const auto program = std::make_shared<Program>(executor_);
  programs_[pid] = program;
  co_await peer.send(stream_head() + chunk(event(fmt::format(R"({{"start":{{"pid":{}}}}})", pid))));
  if (verb != "relay" && verb != "dial") {
    const auto ending = exit_codes.find(argv.front() == "chmod" ? argv.front() : verb);
    const int code = ending == exit_codes.end() ? 0 : ending->second;
    if (code != 0) co_await peer.send(chunk(event(R"({"data":{"stderr":"bm8gc3VjaCBsdWNr"}})")));
    co_await peer.send(chunk(event(fmt::format(R"({{"end":{{"exitCode":{},"exited":true,"status":"exit status {}"}}}})",
                                               code, code))) +
                       chunk(connect::in_envelope(2, "{}")) + "0\r\n\r\n");
    co_return;
  }
  if (verb == "relay") co_await peer.send(chunk(event(R"({"data":{"stdout":"cmVhZHkK"}})")));
  for (;;) {
    if (program->is_cut) break;
    if (program->envelopes.empty()) {
      co_await program->changed.wait();
      continue;
    }
    std::string bytes = chunk(program->envelopes.front());
    program->envelopes.pop_front();
    co_await peer.send(std::move(bytes));
  }
  peer.hang_up();
}

Task<> FakeService::answer_input(ReceivedRequest request, Peer& peer) {
  const auto said = json::parse(request.body);
  const auto pid = static_cast<std::uint32_t>(json::number(json::find(*said, "process", "pid")));
  const auto found = programs_.find(pid);
  if (found == programs_.end() || found->second->is_cut) {
    co_await peer.reply(404, R"({"code":"not_found","message":"no such process"})");
    co_return;
  }
  const std::string bytes = json::text(json::find(*said, "input", "stdin"));
  found->second->envelopes.push_back(event(R"({"data":{"stdout":")" + bytes + R"("}})"));
  found->second->changed.notify();
  co_await peer.reply(200, "{}");
}

void FakeService::cut_streams() {
  for (const auto& [pid, program] : programs_) {
    program->is_cut = true;
    program->changed.notify();
  }
}

}  // namespace cloche::e2b::testing

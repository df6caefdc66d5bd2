// A server that is killed: the next one continues with its sessions, their files and background programs, and nothing
// else is left.
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <fstream>

#include "cli/cli.hpp"
#include "core/ids.hpp"
#include "http/client.hpp"

namespace cloche {

namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr int session_count = 20;

struct Reply {
  unsigned status = 0;
  json::value body;
};

}  // namespace

class Restart : public CliOn {
 protected:
  void SetUp() override {
    CliOn::SetUp();
    configure("", "");
  }

  // With more keys at the top, and more of the profile.
  void configure(const std::string& top, const std::string& of_profile) {
    std::ofstream(config_) << "sessions: {most: 30}\n"
                           << top
                           << "profiles:\n"
                              "  session:\n"
                              "    work_dir: /workspace\n"
                              "    runtime: "
                           << GetParam().runtime
                           << "\n"
                              "    limits: {memory: 64m, cpus: 1, pids: 64}\n"
                              "    pool: {pool_size: 2, scale_limit: 30}\n"
                           << of_profile;
  }

  std::unique_ptr<Command> serve(const std::string& fault = "") {
    CommandSpec spec = cloche({"serve", "--config", config_, "--listen", "unix:" + socket_, "--backend",
                               GetParam().backend, "--instance", instance_});
    spec.env["THE_KEY"] = "value-of-the-key";
    if (!fault.empty()) spec.env["CLOCHE_FAULT"] = fault;
    return std::make_unique<Command>(spec);
  }

  Reply call(const std::string& method, const std::string& path, const std::string& body = "") {
    asio::io_context io{1};
    Reply reply;
    asio::co_spawn(
        io,
        [&]() -> Task<> {
          http::Client client(io.get_executor(), http::UnixEndpoint{socket_});
          http::Request request;
          request.method = method;
          request.target = path;
          request.body = body;
          if (!body.empty()) request.fields.emplace_back("Content-Type", "application/json");
          auto response = co_await client.send(std::move(request), Deadline::after(100s));
          if (!response) co_return;
          reply.status = response->status;
          boost::system::error_code not_json;
          reply.body = json::parse(response->body, not_json);
        },
        asio::detached);
    io.run();
    return reply;
  }

  static std::string body_of(int session, json::object fields) {
    fields["session_id"] = "s" + std::to_string(session);
    return json::serialize(fields);
  }
  static std::string path_of(int session) { return "/sessions/default/s" + std::to_string(session); }

  std::string instance_ = "test-" + random_hex(6);
  std::string config_ = (scratch_.path() / "cloche.yml").string();
  std::string socket_ = (scratch_.path() / "s").string();
};

TEST_P(Restart, KilledWithTwentySessions_GoesOnWithAllOfThem) {
  {
    auto server = serve();
    ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
    for (int i = 0; i < session_count; ++i) {
      const std::string mark = "mark of " + std::to_string(i);
      auto written = call("POST", "/write", body_of(i, {{"path", "a/file.txt"}, {"content", mark}}));
      ASSERT_EQ(written.status, 200u) << json::serialize(written.body);
      auto started = call("POST", "/bash", body_of(i, {{"command", "echo on; exec sleep 1000"}, {"background", true}}));
      ASSERT_EQ(started.status, 202u) << json::serialize(started.body);
    }
    server->signal(SIGKILL);
    server->finish();
  }
  auto server = serve();
  ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
  const auto all = call("GET", "/sessions");
  ASSERT_EQ(all.status, 200u);
  EXPECT_EQ(all.body.at("sessions").as_array().size(), static_cast<std::size_t>(session_count));
  for (int i = 0; i < session_count; ++i) {
    const auto read = call("POST", "/read", body_of(i, {{"path", "a/file.txt"}}));
    ASSERT_EQ(read.status, 200u) << json::serialize(read.body);
    EXPECT_EQ(read.body.at("content").as_string(), "mark of " + std::to_string(i));
    const auto ran = call("POST", "/bash", body_of(i, {{"command", "ps -e -o args= | grep -c '[s]leep 1000'"}}));
    ASSERT_EQ(ran.status, 200u) << json::serialize(ran.body);
    EXPECT_EQ(ran.body.at("stdout").as_string(), "1\n");
    const auto runs = call("GET", path_of(i) + "/runs");
    ASSERT_EQ(runs.status, 200u) << json::serialize(runs.body);
    const auto& first = runs.body.at("runs").as_array().at(0);
    EXPECT_TRUE(first.at("background").as_bool());
    EXPECT_EQ(first.at("state").as_string(), "running") << json::serialize(runs.body);
    const auto ended = call("DELETE", path_of(i));
    EXPECT_EQ(ended.status, 200u) << json::serialize(ended.body);
  }
  server->signal(SIGTERM);
  EXPECT_EQ(server->finish().exit_code, 0);
  EXPECT_TRUE(traces_of(GetParam(), instance_).empty());
}

TEST_P(Restart, KilledWhileASessionIsMadeOrEnded_TheNextHasAllOfItOrNothing) {
  for (const char* fault : {"session.make.recorded", "session.make.claimed", "session.make.made", "session.end.begun",
                            "session.end.forgotten"}) {
    SCOPED_TRACE(fault);
    {
      auto server = serve(fault);
      ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
      call("POST", "/write", body_of(1, {{"path", "file"}, {"content", "x"}}));
      call("DELETE", path_of(1));
      EXPECT_EQ(server->finish().exit_code, 128 + SIGKILL);
    }
    auto server = serve();
    ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
    const Reply all = call("GET", "/sessions");
    ASSERT_EQ(all.status, 200u);
    for (const auto& each : all.body.at("sessions").as_array()) {
      EXPECT_EQ(each.at("state").as_string(), "live");
    }
    const auto written = call("POST", "/write", body_of(1, {{"path", "file2"}, {"content", "x"}}));
    EXPECT_EQ(written.status, 200u) << json::serialize(written.body);
    EXPECT_EQ(call("DELETE", path_of(1)).status, 200u);
    server->signal(SIGTERM);
    EXPECT_EQ(server->finish().exit_code, 0);
  }
  EXPECT_TRUE(traces_of(GetParam(), instance_).empty());
}

// A record has the names of secrets. Who may have them is asked again.
TEST_P(Restart, TenantThatMayNoLongerUseWhatItsSessionHas_LosesTheSession) {
  const std::string key = "secrets: {KEY: {env: THE_KEY, tenants: [";
  struct Change {
    const char* what;
    std::string top, of_profile, new_top, new_of_profile;
  };
  const Change changes[] = {
      {"secret", key + "default]}}\n", "", key + "other]}}\n", ""},
      {"secret gone", key + "default]}}\n", "", "", ""},
      {"profile", key + "default]}}\n", "    tenants: [default]\n", key + "default]}}\n", "    tenants: [other]\n"}};
  for (const Change& change : changes) {
    SCOPED_TRACE(change.what);
    configure(change.top, change.of_profile);
    {
      auto server = serve();
      ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
      const auto made = call("POST", "/sessions", body_of(1, {{"secrets", json::array{"KEY"}}}));
      ASSERT_EQ(made.status, 201u) << json::serialize(made.body);
      const auto held = call("POST", "/bash", body_of(1, {{"command", "echo $KEY"}}));
      EXPECT_EQ(held.body.at("stdout").as_string(), "value-of-the-key\n");
      const auto on = call("POST", "/bash", body_of(1, {{"command", "sleep 1000"}, {"background", true}}));
      EXPECT_EQ(on.status, 202u) << json::serialize(on.body);
      server->signal(SIGKILL);
      server->finish();
    }
    configure(change.new_top, change.new_of_profile);
    auto server = serve();
    ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
    const auto found = call("GET", path_of(1));
    EXPECT_EQ(found.body.at("state").as_string(), "lost") << json::serialize(found.body);
    EXPECT_EQ(json::serialize(found.body).find("value-of"), std::string::npos);
    const auto ran = call("POST", "/bash", body_of(1, {{"command", "env"}}));
    EXPECT_EQ(ran.status, 410u) << json::serialize(ran.body);
    EXPECT_EQ(call("DELETE", path_of(1)).status, 200u);
    server->signal(SIGTERM);
    EXPECT_EQ(server->finish().exit_code, 0);
    EXPECT_TRUE(traces_of(GetParam(), instance_).empty());
  }
}

TEST_P(Restart, NetworkOfASession_IsAsItWasLastSaid) {
  configure("egress: {choose: {tenants: all}}\n", "");
  // 403 by the proxy, or 111 if nothing listens.
  const json::object probe{{"command",
                            "python3 -c \"import socket; s = socket.socket(); e = s.connect_ex(('127.0.0.1', 3128))\n"
                            "if e: print(e); raise SystemExit\n"
                            "s.sendall(b'GET http://other.example/ HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n')\n"
                            "print(s.recv(100).split()[1].decode())\""}};
  const auto probed = [&] {
    const auto ran = call("POST", "/bash", body_of(0, probe));
    EXPECT_EQ(ran.status, 200u) << json::serialize(ran.body);
    return ran.status == 200 ? std::string(ran.body.at("stdout").as_string()) : "";
  };
  const auto killed = [](std::unique_ptr<Command> server) {
    server->signal(SIGKILL);
    server->finish();
  };
  auto server = serve();
  ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
  const json::object network{{"allow", {"allowed.example"}}};
  const auto made = call("POST", "/sessions", body_of(0, {{"network", network}}));
  ASSERT_EQ(made.status, 201u) << json::serialize(made.body);
  EXPECT_EQ(probed(), "403\n");
  killed(std::move(server));
  server = serve();
  ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
  EXPECT_EQ(probed(), "403\n");
  EXPECT_EQ(json::serialize(call("GET", path_of(0)).body.at("network")),
            R"({"mode":"allow-list","allow":["allowed.example"]})");
  EXPECT_EQ(call("PUT", path_of(0) + "/network", R"({"network": "none"})").status, 200u);
  EXPECT_EQ(probed(), "111\n");
  killed(std::move(server));
  server = serve();
  ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
  EXPECT_EQ(probed(), "111\n");
  EXPECT_EQ(call("PUT", path_of(0) + "/network", R"({"network": "allow-list"})").status, 200u);
  killed(std::move(server));
  // A tenant that may no longer choose loses the session.
  configure("", "");
  server = serve();
  ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
  EXPECT_EQ(call("GET", path_of(0)).body.at("state").as_string(), "lost");
  server->signal(SIGTERM);
  EXPECT_EQ(server->finish().exit_code, 0);
  EXPECT_TRUE(traces_of(GetParam(), instance_).empty());
}

// Where sandboxes can have volumes.
class RestartWithVolumes : public Restart {
 protected:
  std::string bash(int session, const std::string& command) {
    const auto ran = call("POST", "/bash", body_of(session, {{"command", command}}));
    EXPECT_EQ(ran.status, 200u) << json::serialize(ran.body);
    return ran.status == 200 ? std::string(ran.body.at("stdout").as_string()) : "";
  }
  Reply open(int session) {
    return call("POST", "/sessions", body_of(session, {{"volumes", json::array{json::object{{"name", "data"}}}}}));
  }
  Reply create() { return call("POST", "/volumes", R"({"name": "data", "size": "16m"})"); }
};

TEST_P(RestartWithVolumes, VolumeAndMount_AreKept) {
  auto server = serve();
  ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
  ASSERT_EQ(create().status, 201u);
  const auto made = open(0);
  ASSERT_EQ(made.status, 201u) << json::serialize(made.body);
  EXPECT_EQ(bash(0, "echo before > /volumes/data/file"), "");
  server->signal(SIGKILL);
  server->finish();
  server = serve();
  ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
  EXPECT_EQ(bash(0, "echo after >> /volumes/data/file; cat /volumes/data/file"), "before\nafter\n");
  EXPECT_EQ(call("GET", "/volumes/default/data").body.at("writers").as_int64(), 1);
  EXPECT_EQ(json::serialize(call("GET", path_of(0)).body.at("volumes")),
            R"([{"name":"data","target":"/volumes/data","access":"read_write"}])");
  EXPECT_EQ(open(1).status, 429u) << "the first session still has it";
  EXPECT_EQ(call("DELETE", "/volumes/default/data").status, 429u);
  EXPECT_EQ(call("DELETE", path_of(0)).status, 200u);
  ASSERT_EQ(open(1).status, 201u);
  EXPECT_EQ(bash(1, "cat /volumes/data/file"), "before\nafter\n");
  server->signal(SIGTERM);
  EXPECT_EQ(server->finish().exit_code, 0);
  EXPECT_TRUE(traces_of(GetParam(), instance_).empty());
  // Another process of this instance, without any sandbox left.
  server = serve();
  ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
  ASSERT_EQ(open(2).status, 201u);
  EXPECT_EQ(bash(2, "cat /volumes/data/file"), "before\nafter\n");
  server->signal(SIGTERM);
  EXPECT_EQ(server->finish().exit_code, 0);
}

TEST_P(RestartWithVolumes, KilledWhileAVolumeIsAttached_NoByteIsLost) {
  auto server = serve();
  ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
  ASSERT_EQ(create().status, 201u);
  ASSERT_EQ(open(0).status, 201u);
  EXPECT_EQ(bash(0, "echo kept > /volumes/data/file"), "");
  EXPECT_EQ(call("DELETE", path_of(0)).status, 200u);
  server->signal(SIGTERM);
  EXPECT_EQ(server->finish().exit_code, 0);
  for (const char* point : {"volume.locked", "volume.mounted", "backend.volumes.journalled", "backend.volumes.mapped",
                            "backend.volumes.attached", "session.make.claimed"}) {
    server = serve(point);
    ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
    EXPECT_EQ(open(1).status, 0u) << point;
    server->finish();
    server = serve();
    ASSERT_TRUE(server->wait_for("listening")) << server->finish().err;
    const auto again = open(1);
    ASSERT_EQ(again.status, 201u) << point << ": " << json::serialize(again.body);
    EXPECT_EQ(bash(1, "cat /volumes/data/file"), "kept\n") << point;
    server->signal(SIGTERM);
    EXPECT_EQ(server->finish().exit_code, 0) << point;
    EXPECT_TRUE(traces_of(GetParam(), instance_).empty()) << point;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, RestartWithVolumes, testing::Values(Target{"oci", "crun"}, Target{"oci", "runsc"}),
                         [](const auto& target) { return target.param.name(); });
INSTANTIATE_TEST_SUITE_P(Backends, Restart, testing::Values(Target{"oci", "crun"}, Target{"docker", "runc"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche

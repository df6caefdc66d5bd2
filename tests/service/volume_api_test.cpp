// Volumes over HTTP: whose they are, who may use them at a time, and what outlives a session.
#include <boost/json.hpp>

#include "service/service_auth.hpp"
#include "support/eventually.hpp"

namespace cloche {

namespace {

namespace json = boost::json;
using testing::AnyOf;

std::string error_code(const Answered& answered) {
  const auto* error = answered.body.is_object() ? answered.body.get_object().if_contains("error") : nullptr;
  return error == nullptr ? "" : std::string(error->at("code").as_string());
}

std::string error_text(const Answered& answered) {
  const auto* error = answered.body.is_object() ? answered.body.get_object().if_contains("error") : nullptr;
  return error == nullptr ? "" : std::string(error->at("message").as_string());
}

std::vector<std::string> volume_names(const Answered& listed) {
  std::vector<std::string> names;
  for (const auto& each : listed.body.at("volumes").as_array()) {
    names.push_back(std::string(each.at("tenant_id").as_string()) + "/" + std::string(each.at("name").as_string()));
  }
  return names;
}

}  // namespace

class VolumeApi : public ServiceAuth {
 protected:
  Task<Answered> create(std::string name, std::string size = "16m") {
    json::object body{{"name", name}, {"size", size}};
    std::string text = json::serialize(body);
    co_return co_await call_as(acme_, "POST", "/volumes", std::move(text));
  }
  Task<Answered> open(std::string session, json::array volumes) {
    json::object body{{"session_id", session}, {"volumes", std::move(volumes)}};
    std::string text = json::serialize(body);
    co_return co_await call_as(acme_, "POST", "/sessions", std::move(text));
  }
  static json::array one(std::string_view name, std::string_view access = "read_write", std::string_view target = "") {
    json::object volume{{"name", name}, {"access", access}};
    if (!target.empty()) volume["target"] = target;
    return {volume};
  }
  Task<std::string> bash(std::string session, std::string command) {
    json::object body{{"session_id", session}, {"command", command}};
    std::string text = json::serialize(body);
    auto ran = co_await call_as(acme_, "POST", "/bash", std::move(text));
    EXPECT_EQ(ran.status, 200u) << json::serialize(ran.body);
    co_return ran.text("stdout") + ran.text("stderr");
  }
  Task<> end(std::string session) {
    auto ended = co_await call_as(acme_, "DELETE", "/sessions/acme/" + session);
    EXPECT_EQ(ended.status, 200u) << json::serialize(ended.body);
  }
};

TEST_P(VolumeApi, IsOfOneTenant) {
  serve([this]() -> Task<> {
    auto made = co_await create("data", "32m");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    EXPECT_EQ(made.text("tenant_id"), "acme");
    EXPECT_EQ(made.number("size"), 32 << 20);
    auto twice = co_await create("data");
    EXPECT_EQ(twice.status, 409u);
    auto mine = co_await call_as(acme_, "GET", "/volumes");
    EXPECT_EQ(volume_names(mine), std::vector<std::string>{"acme/data"});
    auto theirs = co_await call_as(other_, "GET", "/volumes");
    EXPECT_TRUE(volume_names(theirs).empty());
    auto asked = co_await call_as(other_, "GET", "/volumes?tenant_id=acme");
    EXPECT_EQ(asked.status, 403u);
    for (const char* method : {"GET", "DELETE"}) {
      auto refused = co_await call_as(other_, method, "/volumes/acme/data");
      EXPECT_EQ(refused.status, 403u) << method;
    }
    // A volume of this name of another tenant is another volume.
    auto other =
        co_await call_as(other_, "POST", "/sessions", R"json({"session_id": "s1", "volumes": [{"name": "data"}]})json");
    EXPECT_EQ(other.status, 404u) << json::serialize(other.body);
    auto all = co_await call_as(admin_, "GET", "/volumes");
    EXPECT_EQ(volume_names(all), std::vector<std::string>{"acme/data"});
    auto deleted = co_await call_as(admin_, "DELETE", "/volumes/acme/data");
    EXPECT_EQ(deleted.status, 200u) << json::serialize(deleted.body);
    auto gone = co_await call_as(acme_, "GET", "/volumes/acme/data");
    EXPECT_EQ(gone.status, 404u);
  });
}

TEST_P(VolumeApi, BadRequests_AreRejected) {
  serve([this]() -> Task<> {
    for (const char* name : {"", ".", "..", "a/b", "../x", "a b"}) {
      auto made = co_await create(name);
      EXPECT_EQ(made.status, 400u) << name;
    }
    for (const char* size : {"1m", "0", "x", "100t"}) {
      auto made = co_await create("data", size);
      EXPECT_EQ(made.status, 400u) << size;
    }
    auto made = co_await create("data");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    for (const char* path : {"/volumes/acme/..%2f..%2fsessions.db", "/volumes/acme/%2e%2e", "/volumes/acme/a%00b"}) {
      auto refused = co_await call_as(acme_, "DELETE", path);
      EXPECT_TRUE(refused.status == 400u || refused.status == 404u) << path << ": " << refused.status;
    }
    for (const char* target : {"/etc", "/", "/workspace", "/workspace/../etc", "relative", "/proc/self"}) {
      auto refused = co_await open("s1", one("data", "read_write", target));
      EXPECT_EQ(refused.status, 400u) << target << json::serialize(refused.body);
    }
    auto missing = co_await open("s1", one("none"));
    EXPECT_EQ(missing.status, 404u) << json::serialize(missing.body);
    EXPECT_EQ(error_text(missing), "no such volume: 'none'");
    auto word = co_await open("s1", one("data", "all"));
    EXPECT_EQ(word.status, 400u);
  });
}

TEST_P(VolumeApi, Quotas_AreKept) {
  quotas_.named["acme"].volumes = 1;
  quotas_.named["other"].volume_bytes = mib(20).count;
  serve([this]() -> Task<> {
    auto first = co_await create("a");
    EXPECT_EQ(first.status, 201u) << json::serialize(first.body);
    auto second = co_await create("b");
    EXPECT_EQ(second.status, 429u);
    EXPECT_EQ(error_code(second), "limit_reached");
    auto large = co_await call_as(other_, "POST", "/volumes", R"json({"name": "a", "size": "21m"})json");
    EXPECT_EQ(large.status, 429u);
  });
}

class VolumeMounts : public VolumeApi {};

TEST_P(VolumeMounts, WhatASessionWrites_TheNextOneFinds) {
  serve([this]() -> Task<> {
    auto made = co_await create("data");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto opened = co_await open("s1", one("data"));
    EXPECT_EQ(opened.status, 201u) << json::serialize(opened.body);
    if (opened.status != 201u) co_return;
    EXPECT_EQ(json::serialize(opened.body.at("volumes")),
              R"([{"name":"data","target":"/volumes/data","access":"read_write"}])");
    EXPECT_EQ(co_await bash("s1", "cd /volumes/data && ls -A && echo kept > file && mkdir d && stat -c %u:%a . file"),
              "1000:755\n1000:644\n");
    // gVisor has the flags, and does not show them.
    const std::string flags = target().is_gvisor() ? "" : "nosuid,nodev";
    EXPECT_EQ(co_await bash("s1", "grep ' /volumes/data ' /proc/self/mountinfo | grep -c '" + flags + "'"), "1\n");
    EXPECT_THAT(co_await bash("s1", "touch /volumes/x"), AnyOf(HasSubstr("Read-only"), HasSubstr("Permission denied")));
    auto used = co_await call_as(acme_, "GET", "/volumes/acme/data");
    EXPECT_EQ(used.number("writers"), 1);
    auto deleted = co_await call_as(acme_, "DELETE", "/volumes/acme/data");
    EXPECT_EQ(deleted.status, 429u) << "while it is used";
    co_await end("s1");
    // In another place, and with another name of the session.
    auto again = co_await open("s2", one("data", "read_write", "/workspace/sets/data"));
    EXPECT_EQ(again.status, 201u) << json::serialize(again.body);
    EXPECT_EQ(co_await bash("s2", "cat sets/data/file && echo more >> sets/data/file && rm -r sets/data/d"), "kept\n");
    EXPECT_EQ(co_await bash("s2", "touch sets/own && ls sets && rm sets/own"), "data\nown\n") << "beside the volume";
    co_await end("s2");
    auto third = co_await open("s3", one("data", "read_only"));
    EXPECT_EQ(third.status, 201u) << json::serialize(third.body);
    EXPECT_EQ(co_await bash("s3", "cat /volumes/data/file; ls /volumes/data"), "kept\nmore\nfile\n");
    EXPECT_THAT(co_await bash("s3", "echo x > /volumes/data/file"), HasSubstr("Read-only"));
    co_await end("s3");
    auto gone = co_await call_as(acme_, "DELETE", "/volumes/acme/data");
    EXPECT_EQ(gone.status, 200u) << json::serialize(gone.body);
  });
}

// Whatever a runtime keeps in memory of its own, and however abruptly the sandbox ends.
TEST_P(VolumeMounts, WhatIsWritten_IsThereWithoutSync) {
  serve([this]() -> Task<> {
    auto made = co_await create("data", "64m");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto opened = co_await open("s1", one("data"));
    EXPECT_EQ(opened.status, 201u) << json::serialize(opened.body);
    constexpr const char* writes = R"(
cat > write.py <<'END'
import mmap, os
place = "/volumes/data/"
held = open(place + "held", "wb", buffering=0)
held.write(bytes(range(256)) * 4096)
mapped = os.open(place + "mapped", os.O_CREAT | os.O_RDWR)
os.ftruncate(mapped, 1 << 20)
memory = mmap.mmap(mapped, 1 << 20)
memory[:] = bytes(range(256)) * 4096
for number in range(300):
    with open(f"{place}small-{number}", "w") as file:
        file.write("x" * number)
os.rename(place + "small-0", place + "renamed")
os.unlink(place + "small-1")
print("written", flush=True)
import time
time.sleep(1000)
END
(python3 write.py > out 2>&1 &) ; until grep -q written out; do sleep 0.05; done
)";
    EXPECT_EQ(co_await bash("s1", writes), "");
    co_await end("s1");
    auto again = co_await open("s2", one("data", "read_only"));
    EXPECT_EQ(again.status, 201u) << json::serialize(again.body);
    EXPECT_EQ(co_await bash("s2",
                            "cd /volumes/data; python3 -c \"print(open('held','rb').read() == "
                            "open('mapped','rb').read() == bytes(range(256)) * 4096)\"; ls | wc -l; "
                            "wc -c < small-299; ls renamed small-1"),
              "True\n301\n299\nrenamed\nls: cannot access 'small-1': No such file or directory\n");
    co_await end("s2");
  });
}

TEST_P(VolumeMounts, WithASessionOnDisk_BothAreKept) {
  const auto usual = adjust_;
  adjust_ = [usual](server::ServiceOptions& options) {
    usual(options);
    for (Profile& profile : options.config.manager.profiles) {
      profile.sandbox.workspace = WorkspaceKind::disk;
      profile.sandbox.disk_size = mib(64);
    }
  };
  serve([this]() -> Task<> {
    auto made = co_await create("data");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto opened = co_await open("s1", one("data", "read_write", "/home/sandbox/.cache/tool"));
    EXPECT_EQ(opened.status, 201u) << json::serialize(opened.body);
    EXPECT_EQ(
        co_await bash("s1",
                      "echo kept > ~/.cache/tool/file; touch ~/.cache/own; stat -c %u ~/.cache; df --output=target "
                      "~/.cache/tool | tail -1; echo work > file && cat file"),
        "1000\n/home/sandbox/.cache/tool\nwork\n");
    co_await end("s1");
    auto again = co_await open("s2", one("data", "read_only", "/workspace/a/b"));
    EXPECT_EQ(again.status, 201u) << json::serialize(again.body);
    EXPECT_EQ(co_await bash("s2", "cat a/b/file; ls -A ~; stat -c %u a"), "kept\n1000\n");
    co_await end("s2");
  });
}

TEST_P(VolumeMounts, PausedAndResumed_TheVolumeIsThere) {
  serve([this]() -> Task<> {
    auto made = co_await create("data");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto opened = co_await open("s1", one("data", "read_write", "/workspace/data"));
    EXPECT_EQ(opened.status, 201u) << json::serialize(opened.body);
    EXPECT_EQ(co_await bash("s1", "echo of-volume > data/file; echo of-session > file"), "");
    auto paused = co_await call_as(acme_, "POST", "/sessions/acme/s1/pause");
    EXPECT_EQ(paused.status, 200u) << json::serialize(paused.body);
    auto refused = co_await open("s2", one("data"));
    EXPECT_EQ(refused.status, 429u) << "a paused session has its volumes";
    auto resumed = co_await call_as(acme_, "POST", "/sessions/acme/s1/resume");
    EXPECT_EQ(resumed.status, 200u) << json::serialize(resumed.body);
    EXPECT_EQ(co_await bash("s1", "cat data/file"), "of-volume\n");
    // A snapshot has the session's files, and none of the volume's.
    auto taken = co_await call_as(acme_, "POST", "/sessions/acme/s1/snapshots", R"json({"name": "taken"})json");
    EXPECT_EQ(taken.status, 201u) << json::serialize(taken.body);
    auto from = co_await call_as(acme_, "POST", "/sessions", R"json({"session_id": "s3", "snapshot": "taken"})json");
    EXPECT_EQ(from.status, 201u) << json::serialize(from.body);
    EXPECT_EQ(co_await bash("s3", "cat file; ls -A"), "of-session\nfile\n");
    co_await end("s1");
    co_await end("s3");
  });
}

TEST_P(VolumeMounts, PoolThatIsFull_MakesRoom) {
  serve([this]() -> Task<> {
    auto made = co_await create("data");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    // Every place of the profile is taken by warm sandboxes or by sessions, one after the other.
    for (int turn = 0; turn < 3; ++turn) {
      const std::string name = "s" + std::to_string(turn);
      auto opened = co_await open(name, one("data"));
      EXPECT_EQ(opened.status, 201u) << json::serialize(opened.body);
      co_await end(name);
    }
    auto plain = co_await open("plain", {});
    EXPECT_EQ(plain.status, 201u) << json::serialize(plain.body);
    co_await end("plain");
  });
}

TEST_P(VolumeMounts, OneWriterOrManyReaders) {
  serve([this]() -> Task<> {
    auto made = co_await create("data");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto writer = co_await open("s1", one("data"));
    EXPECT_EQ(writer.status, 201u) << json::serialize(writer.body);
    for (const char* access : {"read_write", "read_only"}) {
      auto refused = co_await open("s2", one("data", access));
      EXPECT_EQ(refused.status, 429u) << access;
      EXPECT_THAT(error_text(refused), testing::StartsWith("volume 'data' is in use"));
      EXPECT_THAT(error_text(refused), testing::Not(HasSubstr("s1")));
    }
    co_await end("s1");
    for (const char* session : {"r1", "r2"}) {
      auto reader = co_await open(session, one("data", "read_only"));
      EXPECT_EQ(reader.status, 201u) << json::serialize(reader.body);
    }
    auto refused = co_await open("s2", one("data"));
    EXPECT_EQ(refused.status, 429u);
    co_await end("r1");
    co_await end("r2");
  });
}

TEST_P(VolumeMounts, Files_BelongToTheUserOfEachProfile) {
  const auto usual = adjust_;
  adjust_ = [usual](server::ServiceOptions& options) {
    usual(options);
    for (Profile& profile : options.config.manager.profiles) {
      if (profile.name != "cpp") continue;
      profile.sandbox.uid = 2000;
      profile.sandbox.gid = 3000;
    }
  };
  serve([this]() -> Task<> {
    auto made = co_await create("data");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto first = co_await open("s1", one("data"));
    EXPECT_EQ(first.status, 201u) << json::serialize(first.body);
    EXPECT_EQ(co_await bash("s1", "touch /volumes/data/a && stat -c %u:%g /volumes/data/a"), "1000:1000\n");
    co_await end("s1");
    auto second = co_await call_as(acme_, "POST", "/sessions",
                                   R"json({"session_id": "s2", "profile": "cpp", "volumes": [{"name": "data"}]})json");
    EXPECT_EQ(second.status, 201u) << json::serialize(second.body);
    EXPECT_EQ(co_await bash("s2", "echo x > /volumes/data/a && touch /volumes/data/b && stat -c %u:%g /volumes/data/*"),
              "2000:3000\n2000:3000\n");
    EXPECT_THAT(co_await bash("s2", "chown 1 /volumes/data/b"), HasSubstr("changing ownership"));
    co_await end("s2");
  });
}

TEST_P(VolumeMounts, FullVolume_IsAnErrorOfItsOwn) {
  serve([this]() -> Task<> {
    auto made = co_await create("data");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto opened = co_await open("s1", one("data"));
    EXPECT_EQ(opened.status, 201u) << json::serialize(opened.body);
    EXPECT_THAT(co_await bash("s1", "head -c 14m /dev/zero > /volumes/data/a; head -c 4m /dev/zero > /volumes/data/b"),
                HasSubstr("No space left"));
    EXPECT_EQ(co_await bash("s1", "echo fine > here && cat here"), "fine\n");
    co_await end("s1");
  });
}

TEST_P(VolumeMounts, VolumesOfAProfile_AreReadByAllWhoMayUseIt) {
  const auto usual = adjust_;
  adjust_ = [usual](server::ServiceOptions& options) {
    usual(options);
    options.config.volumes["python"] = {{.tenant = "acme", .name = "cache", .target = "/volumes/cache"}};
  };
  serve([this]() -> Task<> {
    auto made = co_await create("cache");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    // The owner fills it by a profile that does not have it.
    auto filling = co_await open("fill", one("cache"));
    EXPECT_EQ(filling.status, 201u) << json::serialize(filling.body);
    EXPECT_EQ(co_await bash("fill", "echo packages > /volumes/cache/index"), "");
    co_await end("fill");
    auto opened = co_await call_as(other_, "POST", "/sessions", R"json({"session_id": "s1", "profile": "python"})json");
    EXPECT_EQ(opened.status, 201u) << json::serialize(opened.body);
    auto read = co_await call_as(
        other_, "POST", "/bash",
        R"json({"session_id": "s1", "command": "cat /volumes/cache/index; echo >> /volumes/cache/index"})json");
    EXPECT_EQ(read.text("stdout"), "packages\n") << json::serialize(read.body);
    EXPECT_THAT(read.text("stderr"), HasSubstr("Read-only"));
    auto shown = co_await call_as(admin_, "GET", "/v1/sandbox/access");
    EXPECT_THAT(json::serialize(shown.body),
                HasSubstr(R"("volumes":[{"tenant_id":"acme","name":"cache","target":"/volumes/cache"}])"));
  });
}

class NoVolumes : public VolumeApi {};

TEST_P(NoVolumes, WhereThereAreNone_AreRefusedWithAdvice) {
  serve([this]() -> Task<> {
    auto made = co_await create("data");
    if (made.status == 201u) made = co_await open("s1", one("data"));
    EXPECT_EQ(made.status, 501u) << json::serialize(made.body);
    EXPECT_THAT(error_text(made), HasSubstr("use "));
    // The server is as it was.
    auto plain = co_await open("s2", {});
    EXPECT_EQ(plain.status, 201u) << json::serialize(plain.body);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, VolumeApi, testing::Values(Target{"oci", "crun"}),
                         [](const auto& target) { return target.param.name(); });
INSTANTIATE_TEST_SUITE_P(Backends, VolumeMounts,
                         testing::Values(Target{"oci", "crun"}, Target{"oci", "runc"}, Target{"oci", "runsc"},
                                         Target{"oci", "runsc", Target::Edition::modern}),
                         [](const auto& target) { return target.param.name(); });
INSTANTIATE_TEST_SUITE_P(Backends, NoVolumes, testing::Values(Target{"docker", "runc"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche

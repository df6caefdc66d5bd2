#include "config/config.hpp"

#include <gmock/gmock.h>

namespace cloche::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

ManagerOptions parse(std::string_view text, const Environment& environment = {}) {
  auto config = parse_config(text, "cloche.yml", environment);
  EXPECT_TRUE(config) << (config ? "" : config.error().message);
  return config ? config->manager : ManagerOptions{};
}

PoolOptions pool_of(std::string_view text) {
  const ManagerOptions options = parse(text);
  return options.profiles.empty() ? PoolOptions{} : options.profiles.front().pool;
}

TEST(Config, EmptyFile_HasTheLibrarysDefaults) {
  for (const auto* text : {"", "# nothing\n", "{}", "profiles:\n", "pool:\nlimits:\nsecrets:\ndocker:\n"}) {
    const ManagerOptions options = parse(text);
    const ManagerOptions defaults;
    EXPECT_EQ(options.engine.backend, defaults.engine.backend);
    EXPECT_EQ(options.engine.state_dir, defaults.engine.state_dir);
    EXPECT_EQ(options.name_prefix, defaults.name_prefix);
    EXPECT_EQ(options.max_making, defaults.max_making);
    EXPECT_EQ(options.drain_timeout, defaults.drain_timeout);
    EXPECT_THAT(options.profiles, IsEmpty());
  }
}

TEST(Config, GpusOfAProfile_AreAllSomeOrThese) {
  const auto gpus_of = [](const std::string& value) {
    return parse("profiles: {a: {gpus: " + value + "}}").profiles.at(0).sandbox.gpus;
  };
  EXPECT_TRUE(gpus_of("all").all);
  EXPECT_EQ(gpus_of("2").count, 2u);
  EXPECT_TRUE(gpus_of("0").empty());
  EXPECT_THAT(gpus_of("[0, GPU-6f2a, nvidia.com/gpu=1]").ids, ElementsAre("0", "GPU-6f2a", "nvidia.com/gpu=1"));
  for (const char* bad : {"-1", "65", "some", "[]", "[a b]", "{}"}) {
    EXPECT_FALSE(parse_config(std::string("profiles: {a: {gpus: ") + bad + "}}", "c", {})) << bad;
  }
  EXPECT_EQ(pool_of("pool: {pool_size: 4}\nprofiles: {a: {gpus: 1}}").pool_size, 0u);
  EXPECT_EQ(pool_of("profiles: {a: {gpus: 1, pool: {pool_size: 2}}}").pool_size, 2u);
}

TEST(Config, GpusAndANetwork_AreTogetherOnlyIfAVariableSaysSo) {
  const std::string text = "profiles: {a: {gpus: 1, network: internet}}";
  const auto refused = parse_config(text, "c", {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("SANDBOX_GPU_NETWORK_ENABLED"));
  EXPECT_TRUE(parse_config(text, "c", {{"SANDBOX_GPU_NETWORK_ENABLED", "true"}}));
  EXPECT_TRUE(parse_config("profiles: {a: {gpus: 1, network: none}}", "c", {}));
}

TEST(Config, EveryKey_IsRead) {
  const ManagerOptions options = parse(R"(
backend: docker
state_dir: /srv/cloche/state
run_dir: /srv/cloche/run
instance: grader-1
name_prefix: sbx
docker:
  host: tcp://engine:2375
  host_path_map: {/app/data: /srv/data}
  first_uid: 70000
  uids: 100
secrets:
  BY_VALUE: 007
  FROM_ENV: {env: HOST_TOKEN}
max_making: 8
max_removing: 2
drain_timeout: 1m
profiles:
  python:
    image: python:3.12-slim
    runtime: runsc
    work_dir: /app
    uid: 1001
    gid: 1002
    user: someone
    root: true
    hostname: box
    network: none
    ready_timeout: 5s
    limits: {memory: 256m, cpus: 1.5, pids: 100, file_size: 1MB, open_files: 64, work_dir: 8MiB, tmp_dir: 1m, shm_dir: 65536}
    mounts:
    - {source: /srv/data, target: /data}
    - {source: /srv/out, target: /out, access: read_write}
    labels: {team: a, "9": "yes"}
    pool:
      pool_size: 5
      scale_limit: 20
      idle_timeout: 10m
      running_timeout: 30
      max_uses: 7
      reuse: never
      at_limit: fail
      wait_timeout: 500ms
      max_waiting: 3
      reset_timeout: 2.5
      health_interval: 1m
    zygotes:
    - {imports: [json, numpy.linalg]}
    - {name: other, interpreter: /usr/bin/python3.11}
    scripts: {interpreter: python3.11, imports: [json]}
    env: {MODE: test, EMPTY: ''}
    secrets: [BY_VALUE]
)",
                                       {{"HOST_TOKEN", "t0ken"}});
  EXPECT_EQ(options.engine.backend, BackendKind::docker);
  EXPECT_EQ(options.engine.state_dir, "/srv/cloche/state");
  EXPECT_EQ(options.engine.run_dir, "/srv/cloche/run");
  EXPECT_EQ(options.engine.instance, "grader-1");
  EXPECT_EQ(options.engine.docker_host, "tcp://engine:2375");
  EXPECT_THAT(options.engine.host_path_map, ElementsAre(Pair("/app/data", "/srv/data")));
  EXPECT_EQ(options.engine.docker_first_uid, 70'000U);
  EXPECT_EQ(options.engine.docker_uids, 100U);
  EXPECT_EQ(options.name_prefix, "sbx");
  EXPECT_THAT(options.secrets, ElementsAre(Pair("BY_VALUE", "007"), Pair("FROM_ENV", "t0ken")));
  EXPECT_EQ(options.max_making, 8U);
  EXPECT_EQ(options.max_removing, 2U);
  EXPECT_EQ(options.drain_timeout, 1min);

  ASSERT_EQ(options.profiles.size(), 1U);
  const Profile& profile = options.profiles[0];
  EXPECT_EQ(profile.name, "python");
  EXPECT_EQ(profile.sandbox.image, "python:3.12-slim");
  EXPECT_EQ(profile.sandbox.runtime, "runsc");
  EXPECT_EQ(profile.sandbox.work_dir, "/app");
  EXPECT_EQ(profile.sandbox.uid, 1001U);
  EXPECT_EQ(profile.sandbox.gid, 1002U);
  EXPECT_EQ(profile.sandbox.user, "someone");
  EXPECT_TRUE(profile.sandbox.root);
  EXPECT_EQ(profile.sandbox.hostname, "box");
  EXPECT_EQ(profile.sandbox.ready_timeout, 5s);
  EXPECT_EQ(profile.sandbox.limits.memory, mib(256));
  EXPECT_EQ(profile.sandbox.limits.cpus, 1.5);
  EXPECT_EQ(profile.sandbox.limits.pids, 100U);
  EXPECT_EQ(profile.sandbox.limits.file_size, mib(1));
  EXPECT_EQ(profile.sandbox.limits.open_files, 64U);
  EXPECT_EQ(profile.sandbox.limits.work_dir, mib(8));
  EXPECT_EQ(profile.sandbox.limits.tmp_dir, mib(1));
  EXPECT_EQ(profile.sandbox.limits.shm_dir, kib(64));
  ASSERT_EQ(profile.sandbox.mounts.size(), 2U);
  EXPECT_EQ(profile.sandbox.mounts[0].source, "/srv/data");
  EXPECT_EQ(profile.sandbox.mounts[0].access, Access::read_only);
  EXPECT_EQ(profile.sandbox.mounts[1].target, "/out");
  EXPECT_EQ(profile.sandbox.mounts[1].access, Access::read_write);
  EXPECT_THAT(profile.sandbox.labels, ElementsAre(Pair("9", "yes"), Pair("team", "a")));
  EXPECT_EQ(profile.pool.pool_size, 5U);
  EXPECT_EQ(profile.pool.scale_limit, 20U);
  EXPECT_EQ(profile.pool.idle_timeout, 10min);
  EXPECT_EQ(profile.pool.running_timeout, 30s);
  EXPECT_EQ(profile.pool.max_uses, 7U);
  EXPECT_EQ(profile.pool.reuse, Reuse::never);
  EXPECT_EQ(profile.pool.at_limit, AtLimit::fail);
  EXPECT_EQ(profile.pool.wait_timeout, 500ms);
  EXPECT_EQ(profile.pool.max_waiting, 3U);
  EXPECT_EQ(profile.pool.reset_timeout, 2500ms);
  EXPECT_EQ(profile.pool.health_interval, 1min);
  ASSERT_EQ(profile.zygotes.size(), 2U);
  EXPECT_EQ(profile.zygotes[0].name, "python");
  EXPECT_THAT(profile.zygotes[0].imports, ElementsAre("json", "numpy.linalg"));
  EXPECT_EQ(profile.zygotes[1].interpreter, "/usr/bin/python3.11");
  ASSERT_TRUE(profile.scripts);
  EXPECT_EQ(profile.scripts->interpreter, "python3.11");
  EXPECT_THAT(profile.scripts->imports, ElementsAre("json"));
  EXPECT_THAT(profile.env, ElementsAre(Pair("EMPTY", ""), Pair("MODE", "test")));
  EXPECT_THAT(profile.secrets, ElementsAre("BY_VALUE"));
}

TEST(Config, Profile_HasTheGeneralPoolAndLimitsWhereItSaysNothing) {
  const ManagerOptions options = parse(R"(
pool: {pool_size: 1, scale_limit: 4, max_uses: 9}
limits: {memory: 64m, cpus: 2}
profiles:
  plain:
  other:
    pool: {scale_limit: 6}
    limits: {memory: 1g}
)");
  ASSERT_EQ(options.profiles.size(), 2U);
  EXPECT_FALSE(options.profiles[0].scripts);
  EXPECT_EQ(options.profiles[0].pool.pool_size, 1U);
  EXPECT_EQ(options.profiles[0].pool.scale_limit, 4U);
  EXPECT_EQ(options.profiles[0].sandbox.limits.memory, mib(64));
  EXPECT_EQ(options.profiles[0].sandbox.work_dir, "/workspace");
  EXPECT_EQ(options.profiles[1].pool.scale_limit, 6U);
  EXPECT_EQ(options.profiles[1].pool.max_uses, 9U);
  EXPECT_EQ(options.profiles[1].sandbox.limits.memory, mib(1024));
  EXPECT_EQ(options.profiles[1].sandbox.limits.cpus, 2.0);
}

TEST(Config, LimitsThatAreSaid_AreToldFromDefaults) {
  const auto options =
      parse_config("limits: {pids: 64}\nprofiles: {a: {limits: {memory: 8g}}, b: {}}", "cloche.yml", {})->manager;
  const LimitOverrides& a = options.profiles.at(0).limits_set;
  EXPECT_EQ(a.memory, mib(8192));
  EXPECT_EQ(a.pids, 64U) << "said, although it is the default";
  EXPECT_FALSE(a.cpus || a.file_size || a.open_files);
  EXPECT_FALSE(options.profiles.at(1).limits_set.memory);
  EXPECT_EQ(options.profiles.at(1).limits_set.pids, 64U);
  const auto grader = parse_config("general: {}", "sandbox_config.yml", {})->manager;
  EXPECT_TRUE(grader.profiles.at(0).limits_set.empty());
}

TEST(Config, OrderOfTheKeys_DoesNotMatter) {
  const ManagerOptions options =
      parse("profiles: {a: {}}\npool: {pool_size: 2}\nlimits: {pids: 99}\nbackend: docker\n");
  EXPECT_EQ(options.profiles.at(0).pool.pool_size, 2U);
  EXPECT_EQ(options.profiles.at(0).sandbox.limits.pids, 99U);
  EXPECT_EQ(options.profiles.at(0).sandbox.image, "python:3.12-slim");
}

TEST(Config, MaxOverflow_IsAnotherWayToSayScaleLimit) {
  const struct {
    const char* text;
    std::uint32_t pool_size, scale_limit;
  } cases[] = {
      {"profiles: {a: {pool: {pool_size: 4, max_overflow: 10}}}", 4, 14},
      {"profiles: {a: {pool: {pool_size: 20, max_overflow: 0}}}", 20, 20},
      {"profiles: {a: {pool: {max_overflow: 1}}}", 3, 4},
      {"profiles: {a: {pool: {pool_size: 4, max_overflow: 2, scale_limit: 6}}}", 4, 6},
      // The general one counts from each profile's own size …
      {"pool: {max_overflow: 5}\nprofiles: {a: {pool: {pool_size: 8}}}", 8, 13},
      // … and each profile may say it in its own way.
      {"pool: {max_overflow: 5}\nprofiles: {a: {pool: {scale_limit: 8}}}", 3, 8},
      {"pool: {scale_limit: 5}\nprofiles: {a: {pool: {max_overflow: 8}}}", 3, 11},
      {"pool: {pool_size: 1, scale_limit: 2, max_overflow: 1}\nprofiles: {a: {pool: {pool_size: 2}}}", 2, 2},
      {"profiles: {a: {pool: {pool_size: 0, scale_limit: 1}}}", 0, 1},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(pool_of(test.text).pool_size, test.pool_size) << test.text;
    EXPECT_EQ(pool_of(test.text).scale_limit, test.scale_limit) << test.text;
  }
}

TEST(Config, Anchors_Work) {
  const ManagerOptions options = parse(R"(
profiles:
  a: &base {work_dir: /app, limits: &small {memory: 32m}}
  b: *base
  c: {limits: *small}
)");
  EXPECT_EQ(options.profiles.at(1).sandbox.work_dir, "/app");
  EXPECT_EQ(options.profiles.at(2).sandbox.limits.memory, mib(32));
}

TEST(Config, Languages_AreKeptForTheirReader) {
  const auto config = parse_config("languages:\n  zig: {extension: .zig}\n", "cloche.yml", {}).value();
  ASSERT_TRUE(config.languages);
  EXPECT_EQ(config.languages->node.keys.at(0).text, "zig");
  EXPECT_FALSE(parse_config("", "cloche.yml", {})->languages);
}

TEST(Config, Disks_AreRead) {
  const auto config = parse_config(
      "disk: {dir: /srv/disks, max_size: 4g, max_total: 40g, allocation: at_once}\n"
      "profiles: {a: {}, b: {workspace: disk}, c: {workspace: disk, disk_size: 4g}}\n"
      "sessions: {workspace: disk, disk_size: 64m}\n",
      "cloche.yml", {});
  ASSERT_TRUE(config) << config.error().message;
  const DiskOptions& disk = config->manager.engine.disk;
  EXPECT_EQ(disk.dir, "/srv/disks");
  EXPECT_EQ(disk.max_size, mib(4096));
  EXPECT_EQ(disk.max_total, mib(40'960));
  EXPECT_TRUE(disk.preallocate);
  const auto& profiles = config->manager.profiles;
  EXPECT_EQ(profiles.at(0).sandbox.workspace, WorkspaceKind::memory);
  EXPECT_EQ(profiles.at(1).sandbox.workspace, WorkspaceKind::disk);
  EXPECT_EQ(profiles.at(1).sandbox.disk_size, mib(2048));
  EXPECT_EQ(profiles.at(2).sandbox.disk_size, mib(4096));
  EXPECT_EQ(config->sessions.workspace, WorkspaceKind::disk);
  EXPECT_EQ(config->sessions.disk_size, mib(64));
  EXPECT_FALSE(parse_config("sessions: {workspace: auto}", "cloche.yml", {})->sessions.workspace);
}

TEST(Config, SecretsByValue_AreNoticed) {
  EXPECT_TRUE(parse_config("secrets: {A: x}", "cloche.yml", {})->holds_secrets);
  EXPECT_FALSE(parse_config("secrets: {A: {env: X}}", "cloche.yml", {{"X", ""}})->holds_secrets);
  EXPECT_FALSE(parse_config("secrets: {}", "cloche.yml", {})->holds_secrets);
  EXPECT_TRUE(parse_config("secrets: {A: {value: x}}", "cloche.yml", {})->holds_secrets);
}

TEST(Config, Tenants_AreKeptWhereTheyAreGiven) {
  const auto config = parse_config(
      "secrets: {A: a, B: {value: b, tenants: [acme, graders]}, C: {env: X, tenants: all}, D: {env: X, tenants: []}}\n"
      "profiles: {plain: {}, own: {tenants: [acme]}, wide: {tenants: all}, shut: {tenants: []}}\n",
      "cloche.yml", {{"X", "x"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->manager.secrets.at("B"), "b");
  const auth::AccessTable::Lists secrets{
      {"B", auth::AccessList({"acme", "graders"})}, {"C", auth::AccessList::all()}, {"D", auth::AccessList()}};
  EXPECT_EQ(config->access.secrets, secrets);
  const auth::AccessTable::Lists profiles{
      {"own", auth::AccessList({"acme"})}, {"wide", auth::AccessList::all()}, {"shut", auth::AccessList()}};
  EXPECT_EQ(config->access.profiles, profiles);
}

}  // namespace
}  // namespace cloche::config

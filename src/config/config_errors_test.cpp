// Configurations that are wrong, each with the whole error that its author reads.
#include <gmock/gmock.h>

#include "config/config.hpp"

namespace cloche::config {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct BadConfig {
  const char* name;
  std::string text;
  const char* error;  // behind the file's name, as far as it matters
};

std::ostream& operator<<(std::ostream& out, const BadConfig& bad) { return out << bad.text; }

class BadConfigTest : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigTest, IsRefusedWithFileLineAndKey) {
  const auto config = parse_config(GetParam().text, "cloche.yml", {});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(config.error().message, StartsWith(std::string("cloche.yml: ") + GetParam().error));
}

std::string profile(const std::string& keys) { return "profiles:\n  python:\n    " + keys + "\n"; }
std::string pool(const std::string& keys) { return profile("pool:\n      " + keys); }

const BadConfig bad_keys[] = {
    {"Top", "backend: oci\nprofile: {}\n", "unknown key `profile` (line 2) at the top level; did you mean `profiles`?"},
    {"Unlike", "webhooks: {listen: 80}\n",
     "unknown key `webhooks` (line 1) at the top level; known keys: backend, dialects, "},
    {"Pool", pool("pool_sise: 3"),
     "unknown key `pool_sise` (line 4) in profiles.python.pool; did you mean `pool_size`?"},
    {"GeneralPool", "pool:\n  max_use: 3\n", "unknown key `max_use` (line 2) in pool; did you mean `max_uses`?"},
    {"Limits", "limits: {mem: 3}", "unknown key `mem` (line 1) in limits; known keys: cpus, file_size, memory, "},
    {"Profile", profile("Image: x"), "unknown key `Image` (line 3) in profiles.python; did you mean `image`?"},
    {"Docker", "docker: {hots: x}", "unknown key `hots` (line 1) in docker; did you mean `host`?"},
    {"Mount", profile("mounts: [{src: /a}]"), "unknown key `src` (line 3) in profiles.python.mounts[0]; known keys: "},
    {"Zygote", profile("zygotes: [{import: [json]}]"),
     "unknown key `import` (line 3) in profiles.python.zygotes[0]; did you mean `imports`?"},
    {"Secret", "secrets: {A: {vault: x}}",
     "unknown key `vault` (line 1) in secrets.A; known keys: env, file, tenants, value"},
    {"Escapes", "\"\\e[31m\\n\": 1", "unknown key `\\x1b[31m\\x0a` (line 1) at the top level"},
    {"Twice", "instance: a\ninstance: b\n", "line 2: key `instance` is given twice, first at line 1"},
};

const BadConfig bad_types[] = {
    {"TopList", "- backend: oci\n", "must be a map of keys to values, not a list"},
    {"TopText", "hello", "must be a map of keys to values, not `hello`"},
    {"BackendNumber", "backend: 3", "backend (line 1): must be one of oci, docker, e2b, kubernetes, not `3`"},
    {"BackendCase", "backend: Docker", "backend (line 1): must be one of oci, docker, e2b, kubernetes, not `Docker`"},
    {"BackendNothing", "backend:", "backend (line 1): must be one of oci, docker, e2b, kubernetes, not nothing"},
    {"BackendMap", "backend: {oci: 1}", "backend (line 1): must be one of oci, docker, e2b, kubernetes, not a map"},
    {"ProfilesList", "profiles: [python]", "profiles (line 1): must be a map of keys to values, not a list"},
    {"ProfileText", "profiles: {python: slim}",
     "profiles.python (line 1): must be a map of keys to values, not `slim`"},
    {"PoolNumber", profile("pool: 3"), "profiles.python.pool (line 3): must be a map of keys to values, not `3`"},
    {"Word", pool("pool_size: many"),
     "profiles.python.pool.pool_size (line 4): must be a whole number from 0 to 10000, not `many`"},
    {"Quoted", pool("pool_size: '3'"),
     "profiles.python.pool.pool_size (line 4): must be a whole number from 0 to "
     "10000, without quotes"},
    {"Fraction", pool("pool_size: 2.5"), "profiles.python.pool.pool_size (line 4): must be a whole number"},
    {"Boolean", pool("pool_size: true"), "profiles.python.pool.pool_size (line 4): must be a whole number"},
    {"Hex", pool("pool_size: 0x10"), "profiles.python.pool.pool_size (line 4): must be a whole number"},
    {"CpusText", "limits: {cpus: half}", "limits.cpus (line 1): must be a number such as 0.5 or 2, not `half`"},
    {"CpusQuoted", "limits: {cpus: '1'}", "limits.cpus (line 1): must be a number such as 0.5 or 2, without quotes"},
    {"MemoryList", "limits: {memory: [1]}", "limits.memory (line 1): must be a number of bytes such as 64k, 128m"},
    {"DurationUnit", pool("idle_timeout: 5 minutes"),
     "profiles.python.pool.idle_timeout (line 4): must be a duration from 0s to 8784h, in seconds or with a unit, such "
     "as 500ms, 10s, 5m or 2h, not `5 minutes`"},
    {"Choice", pool("reuse: always"), "profiles.python.pool.reuse (line 4): must be one of reset, never, not `always`"},
    {"Network", profile("network: host"),
     "profiles.python.network (line 3): must be one of none, allow-list, internet, not `host`"},
    {"EnvList", profile("env: [A=1]"), "profiles.python.env (line 3): must be a map of keys to values, not a list"},
    {"EnvNothing", profile("env: {A: }"), "profiles.python.env.A (line 3): must be a string, not nothing"},
    {"SecretsMap", profile("secrets: {A: x}"), "profiles.python.secrets (line 3): must be a list of strings"},
    {"SecretsNested", profile("secrets: [[A]]"), "profiles.python.secrets (line 3): must be a list of strings"},
    {"MountsMap", profile("mounts: {a: b}"), "profiles.python.mounts (line 3): must be a list, not a map"},
    {"MountText", profile("mounts: ['/a:/b']"),
     "profiles.python.mounts[0] (line 3): must be a map of keys to values, not `/a:/b`"},
    {"MountNothing", profile("mounts: [~]"), "profiles.python.mounts[0] (line 3): must be a map of keys to values"},
};

const BadConfig bad_numbers[] = {
    {"Negative", pool("pool_size: -1"), "profiles.python.pool.pool_size (line 4): must be a whole number from 0"},
    {"Absurd", pool("pool_size: 1000000"), "profiles.python.pool.pool_size (line 4): must be a whole number from 0"},
    {"Overflowing32", pool("max_waiting: 4294967299"), "profiles.python.pool.max_waiting (line 4): must be a whole"},
    {"Overflowing64", pool("pool_size: 18446744073709551617"), "profiles.python.pool.pool_size (line 4): must be"},
    {"NoScale", pool("scale_limit: 0"), "profiles.python.pool.scale_limit (line 4): must be a whole number from 1"},
    {"NoUses", pool("max_uses: 0"), "profiles.python.pool.max_uses (line 4): must be a whole number from 1"},
    {"NoMaking", "max_making: 0", "max_making (line 1): must be a whole number from 1 to 1000, not `0`"},
    {"NoRunning", pool("running_timeout: 0"), "profiles.python.pool.running_timeout (line 4): must be a duration from"},
    {"NegativeTime", pool("idle_timeout: -5"), "profiles.python.pool.idle_timeout (line 4): must be a duration from"},
    {"EndlessTime", pool("idle_timeout: .inf"), "profiles.python.pool.idle_timeout (line 4): must be a duration from"},
    {"LongTime", "drain_timeout: 25h", "drain_timeout (line 1): must be a duration from 0s to 24h"},
    {"SizeOverflow", "limits: {memory: 99999999999999g}", "limits.memory (line 1): must be a number of bytes"},
    {"SizeNegative", "limits: {memory: -1m}", "limits.memory (line 1): must be a number of bytes"},
    {"SizeFraction", "limits: {memory: 1.5g}", "limits.memory (line 1): must be a number of bytes"},
    {"MemoryTiny", "limits: {memory: 128}", "limits (line 1): limit memory is 128 B; it must be from 8 MiB to 16 TiB"},
    {"MemoryAbsurd", profile("limits: {memory: 99t}"), "profiles.python.limits (line 3): limit memory is 99 TiB"},
    {"CpusNone", "limits: {cpus: 0}", "limits (line 1): limit cpus is 0.000000; it must be from 0.01 to 1024"},
    {"CpusNegative", "limits: {cpus: -1}", "limits.cpus (line 1): must be a number such as 0.5 or 2, not `-1`"},
    {"CpusNan", "limits: {cpus: .nan}", "limits.cpus (line 1): must be a number such as 0.5 or 2, not `.nan`"},
    {"PidsFew", "limits: {pids: 2}", "limits (line 1): limit pids is 2; it must be from 8 to 32768"},
    {"Uid", profile("uid: 0"), "profiles.python.uid (line 3): must be a whole number from 1 to 65533, not `0`"},
    {"UidLarge", profile("uid: 65534"), "profiles.python.uid (line 3): must be a whole number from 1 to 65533"},
};

const BadConfig bad_sense[] = {
    {"DiskInMemory", profile("disk_size: 1g"), "profiles.python.disk_size (line 3): requires `workspace: disk`"},
    {"LargeDisk", "disk: {max_size: 1g}\n" + profile("{workspace: disk, disk_size: 2g}"),
     "profiles.python.disk_size (line 4): must be from 8 MiB to 1 GiB, which is disk.max_size"},
    {"SmallDisk", profile("{workspace: disk, disk_size: 7m}"),
     "profiles.python.disk_size (line 3): must be from 8 MiB"},
    {"LargeDiskOfSessions", "sessions: {disk_size: 1t}", "sessions.disk_size (line 1): must be from 8 MiB"},
    {"TotalOfDisks", "disk: {max_total: 1g}", "disk.max_total (line 1): must not be less than max_size"},
    {"Workspace", profile("workspace: tmpfs"), "profiles.python.workspace (line 3): "},
    {"Scale", pool("{pool_size: 5, scale_limit: 4}"),
     "profiles.python.pool (line 3): pool_size is 5 but scale_limit is only 4; raise scale_limit or set max_overflow"},
    {"ScaleByDefault", pool("pool_size: 20"),
     "profiles.python.pool (line 3): pool_size is 20 but scale_limit is only 10"},
    {"ScaleFromGeneral", "pool: {pool_size: 20}\nprofiles: {a: {}}\n",
     "profiles.a.pool (line 2): pool_size is 20 but scale_limit is only 10"},
    {"Disagree", pool("{pool_size: 5, scale_limit: 10, max_overflow: 4}"),
     "profiles.python.pool.max_overflow (line 4): pool_size 5 and max_overflow 4 make 9, but scale_limit is 10; set "
     "only"},
    {"DisagreeGeneral", "pool: {scale_limit: 10, max_overflow: 4}",
     "pool.max_overflow (line 1): pool_size 3 and max_overflow 4 make 7, but scale_limit is 10"},
    {"NeverAny", pool("{pool_size: 0, max_overflow: 0}"),
     "profiles.python.pool (line 3): pool_size and max_overflow are both 0"},
    {"TooMany", pool("{pool_size: 9000, max_overflow: 9000}"),
     "profiles.python.pool (line 3): pool_size plus max_overflow is more than 10000 sandboxes"},
    {"NameUpper", "profiles: {Python: {}}", "profiles.Python (line 1): a profile name must be lower-case letters"},
    {"NameSpace", "profiles: {'a b': {}}", "profiles[`a b`] (line 1): a profile name must be lower-case letters"},
    {"NamePath", "profiles: {'../x': {}}", "profiles[`../x`] (line 1): a profile name must be lower-case letters"},
    {"NameEmpty", "profiles: {'': {}}", "profiles[``] (line 1): a profile name must be lower-case letters"},
    {"NameLong", "profiles: {" + std::string(33, 'a') + ": {}}",
     "profiles.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa (line 1): a profile name must be"},
    {"StateRelative", "state_dir: state", "state_dir (line 1): must be an absolute path without '..', '.' or empty"},
    {"StateDots", "state_dir: /var/../etc", "state_dir (line 1): must be an absolute path"},
    {"Instance", "instance: a_b", "instance (line 1): must be letters, digits and '-', at most 40, not `a_b`"},
    {"Prefix", "name_prefix: -x", "name_prefix (line 1): must be letters, digits, '-', '_' and '.', at most 16"},
    {"DockerHost", "docker: {host: http://x}", "docker.host (line 1): must be unix:///path or tcp://host:port"},
    {"FirstUid", "docker: {first_uid: 1000}", "docker.first_uid (line 1): must be a whole number from 65536 to"},
    {"Uids", "docker: {uids: 16385}", "docker.uids (line 1): must be a whole number from 0 to 16384"},
    {"PathMap", "docker: {host_path_map: {data: /srv}}",
     "docker.host_path_map (line 1): keys and values must each be an absolute path"},
    {"WorkDir", profile("work_dir: app"), "profiles.python (line 2): work_dir must be an absolute path"},
    {"WorkDirReserved", profile("work_dir: /proc/x"), "profiles.python (line 2): work_dir cannot be /proc/x"},
    {"User", profile("user: Root"), "profiles.python (line 2): a user name must be"},
    {"UserRoot", profile("user: root"), "profiles.python (line 2): a user name must be"},
    {"Root", profile("root: maybe"), "profiles.python.root (line 3): must be one of true, false, not `maybe`"},
    {"Hostname", profile("hostname: a b"), "profiles.python (line 2): invalid host name: 'a b'"},
    {"MountTarget", profile("mounts: [{source: /a, target: /proc}]"),
     "profiles.python (line 2): the target of a mount cannot be /proc"},
    {"MountSource", profile("mounts: [{source: a, target: /b}]"),
     "profiles.python (line 2): the source of a mount must be an absolute path"},
    {"MountHalf", profile("mounts: [{target: /b}]"),
     "profiles.python.mounts[0] (line 3): a mount needs a source and a target"},
    {"Label", profile("labels: {cloche.instance: x}"),
     "profiles.python.labels (line 3): invalid label name `cloche.instance`"},
    {"EnvName", profile("env: {'A=B': x}"),
     "profiles.python.env (line 3): `A=B` is not a valid environment variable name"},
    {"SecretListName", profile("secrets: [a-b]"),
     "profiles.python.secrets (line 3): `a-b` is not a valid environment variable name"},
    {"SecretListTwice", profile("secrets: [A, A]"), "profiles.python.secrets (line 3): `A` is given twice"},
    {"SecretName", "secrets: {1A: x}", "secrets.1A (line 1): a secret name must be letters"},
    {"SecretMissing", "secrets:\n  A: {env: NOT_THERE}",
     "secrets.A.env (line 2): no such environment variable: `NOT_THERE`"},
    {"SecretValueAndFile", "secrets: {A: {value: x, file: /y}}",
     "secrets.A (line 1): set exactly one of `env`, `file` and"},
    {"SecretTenantsAlone", "secrets: {A: {tenants: all}}",
     "secrets.A (line 1): set exactly one of `env`, `file` and `value`"},
    {"SecretTenantsWord", "secrets: {A: {value: x, tenants: acme}}",
     "secrets.A.tenants (line 1): must be a list of tenants, or `all`"},
    {"TenantsAllInList", profile("tenants: [acme, all]"),
     "profiles.python.tenants (line 3): `all` must not be in a list"},
    {"TenantsTwice", profile("tenants: [acme, acme]"), "profiles.python.tenants (line 3): a tenant is listed twice"},
    {"TenantsName", profile("tenants: [a/b]"), "profiles.python.tenants (line 3): `a/b` is not a valid tenant name"},
    {"TenantsEmptyName", profile("tenants: ['']"), "profiles.python.tenants (line 3): `` is not a valid tenant name"},
    {"TenantsNothing", profile("tenants:"), "profiles.python.tenants (line 3): must be a list of tenants, or `all`"},
    {"TenantsMap", profile("tenants: {acme: true}"), "profiles.python.tenants (line 3): must be a list of tenants, or"},
    {"TenantsStar", profile("tenants: '*'"), "profiles.python.tenants (line 3): must be a list of tenants, or `all`"},
    {"SecretBoth", "secrets: {A: {env: X, file: /y}}",
     "secrets.A (line 1): set exactly one of `env`, `file` and `value`"},
    {"ZygoteModule", profile("zygotes: [{imports: ['os; rm']}]"),
     "profiles.python.zygotes[0].imports (line 3): `os; rm` is not a module name"},
    {"ZygoteTwice", profile("zygotes: [{}, {}]"),
     "profiles.python.zygotes[1] (line 3): duplicate zygote name `python`"},
    {"ScriptsModule", profile("scripts: {imports: [-c]}"),
     "profiles.python.scripts.imports (line 3): `-c` is not a module name"},
    {"ScriptsKey", profile("scripts: {import: [a]}"),
     "unknown key `import` (line 3) in profiles.python.scripts; did you mean `imports`?"},
    {"ZygotesMany",
     profile("zygotes: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}, {name: h}, {name: "
             "i}]"),
     "profiles.python.zygotes (line 3): a sandbox keeps at most 8 of them, the one for `scripts` included"},
};

const auto case_name = [](const auto& each) { return each.param.name; };
INSTANTIATE_TEST_SUITE_P(Keys, BadConfigTest, testing::ValuesIn(bad_keys), case_name);
INSTANTIATE_TEST_SUITE_P(Types, BadConfigTest, testing::ValuesIn(bad_types), case_name);
INSTANTIATE_TEST_SUITE_P(Numbers, BadConfigTest, testing::ValuesIn(bad_numbers), case_name);
INSTANTIATE_TEST_SUITE_P(Sense, BadConfigTest, testing::ValuesIn(bad_sense), case_name);

TEST(ConfigError, AboutASecret_DoesNotShowIt) {
  for (const auto* text : {"secrets: {A: hunter2, 1B: hunter2}", "secrets: {A: [hunter2]}", "secrets: [hunter2]",
                           "secrets: {A: {env: X, value: hunter2}}", "secrets: {A: \"hunter2\\0\"}",
                           "secrets: {A: hunter2, A: hunter2}", "secrets: {A: !x hunter2}"}) {
    const auto config = parse_config(text, "cloche.yml", {});
    ASSERT_FALSE(config) << text;
    EXPECT_THAT(config.error().message, Not(HasSubstr("hunter2")));
  }
}

TEST(ConfigError, OneMistakeAmongMany_IsTheOneThatStandsFirst) {
  const auto config =
      parse_config("backend: oci\nmax_making: x\nprofiles: {A: {uid: 0}}\nzzz: 1\ninstance: ' '\n", "c", {});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, "c: max_making (line 2): must be a whole number from 1 to 1000, not `x`");
}

}  // namespace
}  // namespace cloche::config

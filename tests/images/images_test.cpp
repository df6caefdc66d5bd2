// `cloche images`: an image made of Debian's packages, used on oci and brought into a Docker engine.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "cli/cli.hpp"
#include "images/debian_root.hpp"
#include "images/mirror.hpp"
#include "support/eventually.hpp"

namespace cloche {
namespace {

namespace fs = std::filesystem;

// One that is made here has this tag.
constexpr const char* tag = "sandbox-bash:latest";

class CliImages : public Cli {
 protected:
  void SetUp() override {
    if (const auto lack = testing_support::lack_of({"oci", "crun"})) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  }
  void TearDown() override {
    if (has_imported_) {
      EXPECT_EQ(docker({"rmi", "-f", tag}).exit_code, 0);
    }
    if (!has_imported_) return;
    // What was derived from it to run it.
    std::istringstream ids(docker({"images", "-q", "--filter", "label=cloche.image=bash"}).out);
    for (std::string id; ids >> id;) docker({"rmi", "-f", id});
  }

  CommandEnd docker(std::vector<std::string> arguments) const {
    CommandSpec spec = cloche({});
    spec.argv = {"docker"};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    return run_command(spec);
  }
  fs::path store() const { return scratch_.path() / "state" / "images"; }

  // Why no image can be made here; empty when one can. The mirror is asked for the file that apt asks for first.
  std::string why_not_offline() const {
    if (const auto tools = images::check_offline_tools(); !tools) return tools.error().message;
    const auto mirror = images::find_mirror(CancelToken(Deadline::after(std::chrono::seconds(20))));
    if (!mirror) return mirror.error().message;
    std::istringstream words(mirror->sources);
    std::string deb, option, address;
    words >> deb >> option >> address;
    if (address.empty()) return {};  // mmdebstrap knows one itself
    CommandSpec spec;
    spec.argv = {"/usr/lib/apt/apt-helper",
                 "-o",
                 "Acquire::Retries=0",
                 "download-file",
                 address + (address.ends_with('/') ? "" : "/") + "dists/bookworm/InRelease",
                 scratch_.path() / "InRelease"};
    const CommandEnd end = run_command(spec);
    return end.exit_code == 0 ? "" : "the Debian mirror does not answer: " + end.err;
  }

  bool has_imported_ = false;
};

// All in one test, since making the image takes most of the time.
TEST_F(CliImages, OfflineImage_IsMadeOnceAndRunsOnBothBackends) {
  if (const std::string why = why_not_offline(); !why.empty()) CLOCHE_CANNOT_TEST("mmdebstrap", why);
  const CommandEnd built = run_command(cloche({"images", "build", "bash", "--offline", "--json"}));
  ASSERT_EQ(built.exit_code, 0) << built.err;
  EXPECT_EQ(parse_json(built.out).at(0).at("state").as_string(), "built");

  const CommandEnd again = run_command(cloche({"images", "build", "bash", "--offline"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("nothing to do"));

  const std::string program = source("who.sh", "id -un; id -g; pwd; ls -A /usr/share/man /var/cache\n");
  const std::string expected = "sandbox\n1000\n/workspace\n/usr/share/man:\n\n/var/cache:\n";
  const CommandEnd ran = run_command(cloche_run({"--image", store() / "bash", program}));
  EXPECT_EQ(ran.out, expected) << ran.err;

  if (const auto lack = testing_support::lack_of({"docker", "runc"})) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  if (docker({"image", "inspect", tag}).exit_code == 0)
    CLOCHE_CANNOT_TEST("docker", std::string(tag) + " is there already");
  has_imported_ = true;
  const CommandEnd imported = run_command(cloche({"images", "build", "bash", "--offline", "--backend", "docker"}));
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr(" built "));
  const CommandEnd kept = run_command(cloche({"images", "build", "bash", "--offline", "--backend", "docker"}));
  EXPECT_THAT(kept.out, HasSubstr("nothing to do")) << kept.err;
  const CommandEnd listed = run_command(cloche({"images", "list", "--backend", "docker"}));
  EXPECT_THAT(listed.out, testing::ContainsRegex("bash +current .*sandbox-bash:latest")) << listed.err;
  EXPECT_EQ(docker({"image", "inspect", "--format", "{{.Config.User}} {{.Config.WorkingDir}}", tag}).out,
            "sandbox /workspace\n");
  const CommandEnd ran_there = run_command(cloche_run({"docker", "runc"}, {"--image", tag, program}));
  EXPECT_EQ(ran_there.out, expected) << ran_there.err;
}

TEST_F(CliImages, Interrupted_LeavesNothing) {
  if (const std::string why = why_not_offline(); !why.empty()) CLOCHE_CANNOT_TEST("mmdebstrap", why);
  Command command(cloche({"images", "build", "bash", "--offline", "--json"}));
  const auto is_at_work = [&] {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(store(), none)) {
      if (entry.path().filename().string().starts_with(".build-") && fs::exists(entry.path() / "rootfs")) return true;
    }
    return false;
  };
  ASSERT_TRUE(testing_support::eventually(is_at_work));
  command.signal(SIGTERM);
  const CommandEnd end = command.finish();
  EXPECT_EQ(end.exit_code, 128 + SIGTERM) << end.err;
  for (const auto& entry : fs::directory_iterator(store())) {
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf(".build.lock", "roots"));
  }
  EXPECT_TRUE(fs::is_empty(store() / "roots"));
}

TEST_F(CliImages, List_NamesAllThatAreMissing) {
  const CommandEnd end = run_command(cloche({"images", "list", "--json"}));
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const auto json = parse_json(end.out);
  EXPECT_EQ(json.as_array().size(), 10u);
  for (const auto& entry : json.as_array()) EXPECT_EQ(entry.at("state").as_string(), "missing");
}

TEST_F(CliImages, WithoutOffline_OciSaysWhatToDo) {
  const CommandEnd end = run_command(cloche({"images", "build", "bash"}));
  EXPECT_EQ(end.exit_code, 64);
  EXPECT_THAT(end.err, HasSubstr("--offline"));
}

TEST_F(CliImages, UnknownName_ListsThoseThereAre) {
  const CommandEnd end = run_command(cloche({"images", "build", "cobol", "--offline"}));
  EXPECT_NE(end.exit_code, 0);
  EXPECT_THAT(end.err, HasSubstr("no image 'cobol'"));
  EXPECT_THAT(end.err, HasSubstr("python"));
}

TEST_F(CliImages, WithoutPackages_IsRefusedOffline) {
  const CommandEnd end = run_command(cloche({"images", "build", "csharp", "--offline"}));
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_THAT(end.err, HasSubstr("Debian has no packages"));
}

TEST_F(CliImages, BothWays_AreRefused) {
  EXPECT_EQ(run_command(cloche({"images", "build", "--offline", "--or-offline"})).exit_code, 64);
}

TEST_F(CliImages, EngineThatDoesNotAnswer_IsInTheExitCode) {
  const CommandEnd end = run_command(
      cloche({"images", "build", "bash", "--backend", "docker", "--docker-host", "unix:///nowhere/docker.sock"}));
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_THAT(end.err, HasSubstr("/nowhere/docker.sock"));
}

}  // namespace
}  // namespace cloche

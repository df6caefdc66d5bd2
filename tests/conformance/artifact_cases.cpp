// What a run made or changed in the workspace, and modules that Python finds there.
#include "conformance/conformance.hpp"
#include "session/runs/artifacts.hpp"

namespace cloche {

namespace {

using session::ArtifactCaps;
using session::ArtifactList;
using session::WorkspaceMark;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string workspace = "/workspace";

Task<WorkspaceMark> mark(LiveSandbox& sandbox) {
  ChangeRules all;
  auto taken = co_await WorkspaceMark::take(sandbox, workspace, std::move(all), Deadline::after(30s));
  EXPECT_TRUE(taken) << taken.error().message;
  co_return taken.value_or(WorkspaceMark(workspace, 0));
}

Task<ArtifactList> changes(LiveSandbox& sandbox, const WorkspaceMark& since, ArtifactCaps caps) {
  const std::string nothing;
  auto found = co_await since.changes(sandbox, caps, nothing, Deadline::after(60s));
  EXPECT_TRUE(found) << found.error().message;
  co_return found.value_or(ArtifactList());
}

Task<ArtifactList> changes(LiveSandbox& sandbox, const WorkspaceMark& since) {
  return changes(sandbox, since, ArtifactCaps());
}

std::vector<std::string> paths(const ArtifactList& list) {
  std::vector<std::string> all;
  for (const auto& artifact : list.artifacts) all.push_back(artifact.path);
  return all;
}

}  // namespace

CONFORMANCE(FilesMadeAndChanged_AreArtifacts_WithTypeSizeAndChecksum) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "mkdir d; echo old > d/old; echo old > d/changed; echo old > d/moved");
    const auto before = co_await mark(sandbox);
    (void)co_await run_shell(sandbox, "echo new > d/changed; mv d/moved d/other; printf hello > hello.txt");
    const auto found = co_await changes(sandbox, before);
    EXPECT_THAT(paths(found), ElementsAre("hello.txt", "d/changed", "d/other"));
    EXPECT_FALSE(found.cut);
    EXPECT_EQ(found.left_out, 0U);
    if (found.artifacts.size() != 3) co_return;
    EXPECT_EQ(found.artifacts[0].name, "hello.txt");
    EXPECT_EQ(found.artifacts[0].size, 5U);
    EXPECT_EQ(found.artifacts[0].content_type, "text/plain; charset=utf-8");
    EXPECT_EQ(found.artifacts[0].sha256, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  });
}

// However close to the mark a file is changed, on either side.
CONFORMANCE(MarkBetweenTwoChanges_TellsThemApart) {
  const int rounds = target().is_gvisor() ? 4 : 20;  // where each operation takes its time
  in_sandbox([rounds](LiveSandbox& sandbox) -> Task<> {
    auto files = sandbox.files();
    for (int i = 0; i < rounds; ++i) {
      const std::string before_path = "/workspace/before" + std::to_string(i);
      const std::string after_path = "/workspace/after" + std::to_string(i);
      (void)co_await files.write(before_path, "x");
      const auto before = co_await mark(sandbox);
      (void)co_await files.write(after_path, "y");
      const auto found = co_await changes(sandbox, before);
      EXPECT_THAT(paths(found), ElementsAre(after_path.substr(workspace.size() + 1)));
    }
  });
}

// Small trees are looked at by the agent itself, large ones by a worker; what is discarded goes either way.
CONFORMANCE(DirectoryToDiscard_IsGoneAndChangesAreTold) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    for (const char* content : {"1", "$(seq 400)"}) {
      const auto before = co_await mark(sandbox);
      const std::string line =
          std::string("mkdir -p /tmp/own/deep; for i in ") + content +
          "; do echo > /tmp/own/deep/$i; done; mkdir /tmp/own/shut; chmod 0 /tmp/own/shut; echo > made";
      (void)co_await run_shell(sandbox, line);
      const ArtifactCaps caps;
      const std::string own = "/tmp/own";
      auto found = co_await before.changes(sandbox, caps, own, Deadline::after(60s));
      EXPECT_TRUE(found) << found.error().message;
      if (found) {
        EXPECT_THAT(paths(*found), ElementsAre("made"));
      }
      const auto left = co_await run_shell(sandbox, "test -e /tmp/own && echo left; true");
      EXPECT_EQ(left.out, "");
    }
  });
}

// The result of the last scan is outdated if another writer has run.
CONFORMANCE(ChangeBetweenALookAndAMark_IsNotTold) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto files = sandbox.files();
    for (int i = 0; i < 5; ++i) {
      const auto first = co_await mark(sandbox);
      (void)co_await run_shell(sandbox, "echo > by_a_program");
      const auto told = co_await changes(sandbox, first);
      EXPECT_THAT(paths(told), ElementsAre("by_a_program"));
      (void)co_await files.write("/workspace/by_a_caller", "x");
      const auto second = co_await mark(sandbox);
      const auto nothing_new = co_await changes(sandbox, second);
      EXPECT_THAT(paths(nothing_new), IsEmpty());
    }
  });
}

namespace {

// What a program that was started with a look made or changed; by its exec, or asked for where that would have taken
// long.
Task<std::vector<std::string>> changes_of(LiveSandbox& sandbox, std::string line, std::string discard,
                                          std::string input) {
  ExecSpec spec;
  spec.argv = {"sh", "-c", std::move(line)};
  spec.stdin_mode = Stdin::stream;
  LiveSandbox::StartExtras extras;
  extras.change_scan = {FilePath(workspace), {}, discard};
  auto started = co_await sandbox.start(std::move(spec), std::move(extras), Deadline::after(30s));
  std::vector<std::string> none;
  EXPECT_TRUE(started) << started.error().message;
  if (!started) co_return none;
  auto& exec = **started;
  (void)co_await exec.write_stdin(std::move(input), Deadline::after(30s));
  exec.close_stdin();
  auto ran = co_await exec.collect(Deadline::after(60s));
  EXPECT_TRUE(ran) << ran.error().message;
  EXPECT_TRUE(exec.seen());
  if (!ran || !exec.seen()) co_return none;
  if (!exec.seen()->changes) {
    const WorkspaceMark since(workspace, exec.seen()->since_ns);
    const ArtifactCaps caps;
    auto found = co_await since.changes(sandbox, caps, discard, Deadline::after(60s));
    EXPECT_TRUE(found) << found.error().message;
    co_return paths(found.value_or(ArtifactList()));
  }
  for (const auto& entry : exec.seen()->changes->entries) none.push_back(entry.path);
  co_return none;
}

}  // namespace

// Whether its start has to wait for a tick of the clock, as it does after a caller's write, or not.
CONFORMANCE(ProgramStartedWithALook_TellsWhatItChanged_AndNothingElse) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto files = sandbox.files();
    const std::string own = "/tmp/own";
    for (int i = 0; i < 5; ++i) {
      (void)co_await files.write("/workspace/by_a_caller", "x");
      const auto made = co_await changes_of(sandbox, "mkdir -p /tmp/own/deep; cat > made", own, "input");
      EXPECT_THAT(made, ElementsAre("made"));
      const auto idle = co_await changes_of(sandbox, "test ! -e /tmp/own || echo > left; true", own, "");
      EXPECT_THAT(idle, IsEmpty());
    }
    const auto written = co_await run_shell(sandbox, "cat made");
    EXPECT_EQ(written.out, "input");
  });
}

CONFORMANCE(LookAtManyFiles_IsToldAllTheSame) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const std::string nothing;
    const auto made = co_await changes_of(sandbox, "for i in $(seq 400); do echo > f$i; done", nothing, "");
    EXPECT_EQ(made.size(), std::min<std::size_t>(400, ArtifactCaps().most));
  });
}

CONFORMANCE(LookBesideAProgramInTheBackground_IsToldAllTheSame) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec;
    spec.argv = {"sleep", "100"};
    spec.lifetime = Lifetime::background;
    auto started = co_await sandbox.start(std::move(spec), Deadline::after(30s));
    EXPECT_TRUE(started) << started.error().message;
    const std::string nothing;
    const auto made = co_await changes_of(sandbox, "echo > made", nothing, "");
    EXPECT_THAT(made, ElementsAre("made"));
  });
}

CONFORMANCE(LookOfAProgramInTheBackground_IsRefused) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec;
    spec.argv = {"true"};
    spec.lifetime = Lifetime::background;
    LiveSandbox::StartExtras extras;
    extras.change_scan = {FilePath(workspace), {}, {}};
    auto started = co_await sandbox.start(std::move(spec), std::move(extras), Deadline::after(30s));
    EXPECT_FALSE(started);
    if (!started) {
      EXPECT_EQ(started.error().code, ErrorCode::invalid_argument) << started.error().message;
    }
  });
}

CONFORMANCE(ProgramInTheBackground_ItsChangesAreToldWhenTheyHappen) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec;
    spec.argv = {"sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; echo > late; sleep 100"};
    spec.lifetime = Lifetime::background;
    auto started = co_await sandbox.start(std::move(spec), Deadline::after(30s));
    EXPECT_TRUE(started) << started.error().message;
    const auto before = co_await mark(sandbox);
    (void)co_await run_shell(sandbox, "echo > go; while [ ! -e late ]; do sleep 0.01; done");
    const auto found = co_await changes(sandbox, before);
    EXPECT_THAT(paths(found), ElementsAre("go", "late"));
  });
}

CONFORMANCE(LinksPipesAndRunDirectories_AreNoArtifacts) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto before = co_await mark(sandbox);
    (void)co_await run_shell(sandbox,
                             "ln -s /etc out; ln -s /etc/passwd file; mkfifo pipe; mkdir .run-0123456789abcdef; "
                             "echo x > .run-0123456789abcdef/main.py; echo x > .run-mine");
    const auto found = co_await changes(sandbox, before);
    EXPECT_THAT(paths(found), ElementsAre(".run-mine"));
  });
}

CONFORMANCE(SparseGiant_IsLeftOutByTheSizeItClaims) {
  auto roomy = spec();
  roomy.limits.file_size = mib(4096);
  in_sandbox(roomy, [](LiveSandbox& sandbox) -> Task<> {
    const auto before = co_await mark(sandbox);
    (void)co_await run_shell(sandbox, "truncate -s 3G giant; echo small > small");
    const auto found = co_await changes(sandbox, before);
    EXPECT_THAT(paths(found), ElementsAre("small"));
    EXPECT_EQ(found.left_out, 1U);
  });
}

CONFORMANCE(ArtifactCaps_AreHeldAndTold) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto before = co_await mark(sandbox);
    (void)co_await run_shell(sandbox, "for i in 1 2 3 4 5; do printf 1234567890 > f$i; done");
    ArtifactCaps few;
    few.most = 2;
    const auto two = co_await changes(sandbox, before, few);
    EXPECT_THAT(paths(two), ElementsAre("f1", "f2"));
    EXPECT_EQ(two.left_out, 3U);
    ArtifactCaps small;
    small.all = Bytes{25};
    const auto by_size = co_await changes(sandbox, before, small);
    EXPECT_THAT(paths(by_size), ElementsAre("f1", "f2"));
    ArtifactCaps tiny;
    tiny.each = Bytes{9};
    const auto none = co_await changes(sandbox, before, tiny);
    EXPECT_THAT(paths(none), IsEmpty());
    EXPECT_EQ(none.left_out, 5U);
  });
}

CONFORMANCE(FileThatCannotBeRead_IsLeftOut) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto before = co_await mark(sandbox);
    (void)co_await run_shell(sandbox, "echo x > secret; chmod 0 secret; echo y > plain");
    const auto found = co_await changes(sandbox, before);
    EXPECT_THAT(paths(found), ElementsAre("plain"));
    EXPECT_EQ(found.left_out, 1U);
  });
}

CONFORMANCE(ManyFilesAndDeepTrees_AreLookedThrough_OrSaidToBeCut) {
  auto roomy = spec();
  roomy.limits.work_dir = mib(256);  // so many bytes, so many names
  roomy.limits.memory = mib(384);
  in_sandbox(roomy, [](LiveSandbox& sandbox) -> Task<> {
    const auto made = co_await run_python(sandbox, "import os\nfor i in range(20000): open(f'f{i:05}', 'w').close()\n");
    EXPECT_TRUE(made.outcome.success()) << made.err;
    const auto before = co_await mark(sandbox);
    (void)co_await run_shell(sandbox, "echo x > f19999; echo x > f00000");
    const auto found = co_await changes(sandbox, before);
    EXPECT_THAT(paths(found), ElementsAre("f00000", "f19999"));
    EXPECT_FALSE(found.cut);
    const auto deep = co_await run_python(
        sandbox, "import os\nfor i in range(1000):\n os.mkdir('d'); os.chdir('d')\nopen('bottom', 'w').close()\n");
    EXPECT_TRUE(deep.outcome.success()) << deep.err;
    const auto cut = co_await changes(sandbox, before);
    EXPECT_THAT(paths(cut), ElementsAre("f00000", "f19999"));
    EXPECT_TRUE(cut.cut);
  });
}

namespace {

// The same script, forked from a zygote and by an interpreter of its own.
Task<std::pair<Exec::Collected, Exec::Collected>> run_both_ways(LiveSandbox& sandbox, std::string path,
                                                                std::map<std::string, std::string> env) {
  ExecSpec forked;
  forked.argv = {path};
  forked.env = env;
  forked.zygote = "python";
  ExecSpec plain;
  plain.argv = {"python3", path};
  plain.env = env;
  auto first = co_await run_program(sandbox, std::move(forked));
  auto second = co_await run_program(sandbox, std::move(plain));
  std::pair<Exec::Collected, Exec::Collected> both(std::move(first), std::move(second));
  co_return both;
}

}  // namespace

CONFORMANCE(ZygoteRun_WithPythonPath_FindsModulesAsPlainPythonDoes) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> imports(1, "json");
    auto started = co_await sandbox.start_zygote("python", "python3", std::move(imports), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    auto files = sandbox.files();
    (void)co_await files.write("/workspace/mine.py", "where = 'workspace'");
    (void)co_await files.write("/tmp/.run-1/main.py",
                               "import sys, mine, os\nprint(mine.where, mine.__file__, sys.path[:3], os.getcwd())\n");
    for (const std::string path : {"/workspace", ":lib", "/workspace:/workspace/", "lib:"}) {
      std::map<std::string, std::string> env;
      env["PYTHONPATH"] = path;
      const auto ran = co_await run_both_ways(sandbox, "/tmp/.run-1/main.py", env);
      EXPECT_EQ(ran.first.out, ran.second.out) << path;
      EXPECT_EQ(ran.first.err, ran.second.err) << path;
      EXPECT_THAT(ran.first.out, HasSubstr("workspace /workspace/mine.py")) << path;
    }
  });
}

CONFORMANCE(ZygoteRun_WithAModuleOfTheNameOfAnImportedOne_FindsItAsPlainPythonDoes) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> imports(1, "json");
    auto started = co_await sandbox.start_zygote("python", "python3", std::move(imports), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    auto files = sandbox.files();
    (void)co_await files.write("/workspace/json.py", "mine = True");
    (void)co_await files.write("/workspace/main.py", "import json\nprint(json.mine)\n");
    (void)co_await files.write("/tmp/.run-1/main.py", "import json\nprint(json.mine)\n");
    std::map<std::string, std::string> env;
    const auto beside = co_await run_both_ways(sandbox, "main.py", env);
    EXPECT_EQ(beside.first.out, "True\n") << beside.first.err;
    EXPECT_EQ(beside.second.out, "True\n");
    env["PYTHONPATH"] = "/workspace";
    const auto elsewhere = co_await run_both_ways(sandbox, "/tmp/.run-1/main.py", env);
    EXPECT_EQ(elsewhere.first.out, "True\n") << elsewhere.first.err;
    EXPECT_EQ(elsewhere.second.out, "True\n");
  });
}

// However large the tree is that is ignored, it is not walked through.
CONFORMANCE(TreesOfTools_AreIgnoredAndNotWalkedThrough) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto before = co_await mark(sandbox);
    (void)co_await run_shell(sandbox,
                             "mkdir -p v/lib node_modules .git a; echo x > v/pyvenv.cfg; cd v/lib; "
                             "for i in 1 2 3 4 5 6 7 8 9; do echo x > m$i.py; done; cd ../..; "
                             "echo x > node_modules/i.js; echo x > .git/HEAD; echo x > a/deep; echo x > z");
    ArtifactCaps caps;
    caps.rules.usual = ChangeRules::Usual::ignored;
    const auto found = co_await changes(sandbox, before, caps);
    EXPECT_THAT(paths(found), ElementsAre("z", "a/deep"));
    EXPECT_EQ(found.ignored, 3U);
    EXPECT_FALSE(found.cut);
    caps.rules.include = {"z"};
    const auto chosen = co_await changes(sandbox, before, caps);
    EXPECT_THAT(paths(chosen), ElementsAre("z"));
  });
}

}  // namespace cloche

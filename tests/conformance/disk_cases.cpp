// A work directory on disk: a file system of its own size, and of no other sandbox.
#include <filesystem>
#include <fstream>

#include "conformance/conformance.hpp"
#include "disk/store.hpp"
#include "support/eventually.hpp"

namespace cloche {

namespace {

constexpr Bytes disk_size = mib(64);

// Empty: this host can have disks.
std::string lack_of_disks(const testing_support::Scratch& scratch) {
  DiskOptions options;
  options.dir = scratch.path() / "probe";
  disk::DiskStore store(options);
  const Status works = store.probe(CancelToken(Deadline::after(60s)));
  return works ? "" : works.error().message;
}

SandboxSpec on_disk(SandboxSpec spec) {
  spec.workspace = WorkspaceKind::disk;
  spec.disk_size = disk_size;
  spec.limits.file_size = mib(2048);
  return spec;
}

// Devices whose images are below this directory.
std::size_t loops_below(const std::filesystem::path& directory) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block")) {
    std::ifstream file(entry.path() / "loop/backing_file");
    std::string line;
    if (std::getline(file, line) && line.starts_with(directory.string())) ++count;
  }
  return count;
}

// A tree that is wide, deep and closed, on a disk that is full, with a file that is open and has no name.
constexpr const char* untidy = R"(
import os, subprocess
def fill(path):
    try:
        with open(path, 'wb', 0) as f:
            while True: f.write(b'secret' * 100000)
    except OSError as e: return e.errno
for place in ['/workspace', os.environ['HOME']]:
    os.chdir(place)
    open('.hidden', 'w').close(); os.symlink('/etc/passwd', 'link'); os.mkfifo('fifo'); os.link('.hidden', 'hard')
    os.makedirs('wide')
    for i in range(400):
        os.makedirs(f'wide/{"d" * 40}{i}/inner/most'); open(f'wide/{"d" * 40}{i}/inner/file', 'w').close()
    os.mkdir('closed'); open('closed/x', 'w').close(); os.chmod('closed', 0)
    os.mkdir('deep'); os.chdir('deep')
    for _ in range(300):
        os.mkdir('d' * 20); os.chdir('d' * 20)
os.chdir('/workspace')
open('without-name', 'w').write('secret' * 1000000)
subprocess.Popen('exec 3<without-name; rm without-name; echo; exec sleep 1000', shell=True, stdout=subprocess.PIPE).stdout.readline()
print(fill('full'))
os.chmod('/workspace', 0)
)";

constexpr const char* whats_there = R"(
import os
s = os.statvfs('/workspace')
print(os.listdir('/workspace'), os.listdir(os.environ['HOME']), s.f_bavail * s.f_frsize >> 20)
)";

}  // namespace

class DiskConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (target().is_fake()) CLOCHE_DOES_NOT_APPLY("the fake backend has no disks");
    if (target().backend != "oci") CLOCHE_DOES_NOT_APPLY("an engine has no disks of a given size");
    if (const std::string lack = lack_of_disks(scratch_); !lack.empty()) CLOCHE_CANNOT_TEST("loop devices", lack);
  }
  void TearDown() override {
    Conformance::TearDown();
    EXPECT_TRUE(testing_support::eventually([this] { return loops_below(scratch_.path()) == 0; }));
  }

  void in_disk_sandbox(std::function<Task<>(LiveSandbox&)> body) { in_sandbox(on_disk(spec()), std::move(body)); }
};

TEST_P(DiskConformance, WorkAndHome_AreOnTheDisk) {
  in_disk_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto seen = co_await run_python(sandbox, R"(
import os, pwd
home = os.environ['HOME']
for place in ['/workspace', home]:
    s, about = os.statvfs(place), os.stat(place)
    print(place, s.f_blocks * s.f_frsize >> 20, about.st_uid == os.getuid(), oct(about.st_mode), bool(s.f_flag & os.ST_NOEXEC))
    open(place + '/file', 'w').write('x')
print(os.getcwd(), pwd.getpwuid(os.getuid()).pw_dir == home)
)");
    EXPECT_THAT(seen.out,
                testing::MatchesRegex("/workspace 6[0-4] True 0o40755 False\n/home/sandbox 6[0-4] True 0o40755 "
                                      "False\n/workspace True\n"))
        << seen.err;
  });
}

TEST_P(DiskConformance, FullDisk_IsAnErrorAndTheSandboxLives) {
  in_disk_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto full = co_await run_shell(sandbox, "cat /dev/zero > big; ls -s --block-size=1M big");
    EXPECT_THAT(full.err, HasSubstr("No space left on device"));
    EXPECT_THAT(full.out, testing::MatchesRegex("(5[0-9]|6[0-4]) big\n"));
    const auto elsewhere = co_await run_shell(sandbox, "head -c 8M /dev/zero > ~/file");
    EXPECT_THAT(elsewhere.err, HasSubstr("No space left on device"));
    const auto again = co_await run_shell(sandbox, "rm big && echo x > ~/file && cat ~/file");
    EXPECT_EQ(again.out, "x\n") << again.err;
  });
}

TEST_P(DiskConformance, Inodes_AreBounded) {
  in_disk_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox, R"(
import errno, os
os.mkdir('many')
made = 0
try:
    while True:
        open(f'many/{made}', 'w').close(); made += 1
except OSError as e: print(errno.errorcode[e.errno], made < 64 * 1024 // 8)
)");
    EXPECT_EQ(ran.out, "ENOSPC True\n") << ran.err;
    const auto again = co_await run_shell(sandbox, "rm -r many && echo x > file && cat file");
    EXPECT_EQ(again.out, "x\n") << again.err;
  });
}

TEST_P(DiskConformance, SparseFiles_TakeWhatIsWritten) {
  in_disk_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox, R"(
import os
def free(): s = os.statvfs('.'); return s.f_bavail * s.f_frsize >> 20
before = free()
with open('sparse', 'wb', 0) as f:
    f.truncate(1 << 30); f.seek(0, 2); f.write(b'x'); os.fsync(f.fileno())
    print(before - free() <= 1)
    f.seek(0)
    try:
        while True: f.write(b'x' * 100000)
    except OSError as e: print(e.strerror)
)");
    EXPECT_EQ(ran.out, "True\nNo space left on device\n") << ran.err;
  });
}

TEST_P(DiskConformance, Programs_RunFromItWithoutPrivileges) {
  in_disk_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, R"(
cp /usr/bin/id ~/id && ~/id -u && chmod 6755 ~/id && ~/id -u && ~/id -g
mknod device c 1 3 2>/dev/null && cat device && echo a device
echo done)");
    EXPECT_EQ(ran.out, "1000\n1000\n1000\ndone\n") << ran.err;
  });
}

TEST_P(DiskConformance, NothingElseOfTheImage_CanBeReached) {
  in_disk_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox, R"(
import errno, os
home = os.environ['HOME']
print('usr' in os.listdir('/workspace/..'), os.listdir(home + '/..'))
open('file', 'w').write('x')
try: os.link('file', home + '/file'); print('linked')
except OSError as e: print(errno.errorcode[e.errno])
try: os.rename('file', home + '/file'); print('renamed')
except OSError as e: print(errno.errorcode[e.errno])
os.symlink('../../../../../../lost+found', 'up'); print(os.path.exists('up'))
fd = os.open('.', os.O_RDONLY)
try: print(os.listdir(os.open('../work', os.O_RDONLY, dir_fd=fd)))
except OSError as e: print(errno.errorcode[e.errno])
print([name for name in os.listdir('/dev') if 'loop' in name])
)");
    EXPECT_EQ(ran.out, "True ['sandbox']\nEXDEV\nEXDEV\nFalse\nENOENT\n[]\n") << ran.err;
  });
}

TEST_P(DiskConformance, LargerFilesThanMemory_CanBeWritten) {
  SandboxSpec spec = on_disk(this->spec());
  spec.disk_size = mib(512);
  spec.limits.memory = target().is_gvisor() ? mib(192) : mib(96);
  in_sandbox(spec, [](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(
        sandbox, "head -c 300M /dev/zero > big && stat -c %s big && head -c 300M big | cksum | cut -d' ' -f2");
    EXPECT_EQ(ran.out, "314572800\n314572800\n") << ran.err;
    EXPECT_EQ(ran.outcome.oom_kills, 0U);
  });
}

TEST_P(DiskConformance, Reset_LeavesNothing) {
  in_disk_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto before = co_await run_python(sandbox, whats_there);
    const auto plant = co_await run_python(sandbox, untidy);
    EXPECT_EQ(plant.out, "28\n") << plant.err;
    const auto reset = co_await sandbox.reset(Deadline::after(60s));
    EXPECT_TRUE(reset) << reset.error().message;
    const auto after = co_await run_python(sandbox, whats_there);
    EXPECT_EQ(after.out, before.out) << after.err;
  });
}

TEST_P(DiskConformance, DirectoryThatShowsHowManyFilesItHad_IsNotReused) {
  in_disk_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto plant = co_await run_shell(sandbox, "seq -f 'a-rather-long-name-of-a-file-%g' 2000 | xargs touch");
    EXPECT_EQ(plant.err, "");
    const auto reset = co_await sandbox.reset(Deadline::after(60s));
    EXPECT_FALSE(reset);
    EXPECT_THAT(reset ? "" : reset.error().message, HasSubstr("size of /workspace"));
  });
}

TEST_P(DiskConformance, TwoDisks_AreSeparate) {
  in_two_sandboxes(on_disk(spec()), on_disk(spec()), [](LiveSandbox& one, LiveSandbox& other) -> Task<> {
    (void)co_await run_shell(one, "echo secret > file; cat /dev/zero > big");
    const auto ran = co_await run_shell(other, "ls -A . ~; head -c 1M /dev/zero > file && echo fits");
    EXPECT_THAT(ran.out, HasSubstr("fits")) << ran.err;
    EXPECT_THAT(ran.out, testing::Not(HasSubstr("secret")));
  });
}

TEST_P(DiskConformance, DiskOutlivesItsServer_AndGoesWithItsSandbox) {
  run([this]() -> Task<> {
    auto made = co_await create(on_disk(spec()));
    EXPECT_TRUE(made) << made.error().message;
    if (!made) co_return;
    (void)co_await run_shell(**made, "echo kept > file; echo home > ~/file");
    made->reset();  // the server goes, the sandbox stays
    auto found = co_await backend().recover(Deadline::after(60s));
    EXPECT_TRUE(found && found->size() == 1);
    if (!found || found->size() != 1) co_return;
    EXPECT_EQ(found->front()->spec().workspace, WorkspaceKind::disk);
    EXPECT_EQ(found->front()->spec().disk_size, disk_size);
    auto opened = co_await LiveSandbox::open(std::move(found->front()), Greeting::takeover, Deadline::after(60s));
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) co_return;
    const auto read = co_await run_shell(**opened, "cat file ~/file");
    EXPECT_EQ(read.out, "kept\nhome\n") << read.err;
    EXPECT_EQ(loops_below(scratch_.path()), 1U);
    const auto destroyed = co_await (*opened)->destroy(Deadline::after(60s));
    EXPECT_TRUE(destroyed) << destroyed.error().message;
  });
}

TEST_P(DiskConformance, SizesOutOfRange_AreRefused) {
  run([this]() -> Task<> {
    for (const Bytes size : {mib(1), mib(1 << 20)}) {
      SandboxSpec wrong = on_disk(spec());
      wrong.disk_size = size;
      const auto made = co_await create(wrong);
      EXPECT_TRUE(!made && made.error().code == ErrorCode::invalid_argument);
    }
  });
}

CONFORMANCE(DiskThatAnEngineCannotLimit_IsRefused) {
  if (target().backend != "docker") CLOCHE_DOES_NOT_APPLY("this backend has disks");
  run([this]() -> Task<> {
    const auto made = co_await create(on_disk(spec()));
    EXPECT_TRUE(!made && made.error().code == ErrorCode::unsupported);
  });
}

INSTANTIATE_TEST_SUITE_P(Disks, DiskConformance, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche

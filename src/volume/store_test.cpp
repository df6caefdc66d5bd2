// Volumes on the kernel of this host.
#include "volume/store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/fault_point.hpp"
#include "disk/store.hpp"
#include "support/eventually.hpp"
#include "support/loop_devices.hpp"
#include "support/missing.hpp"

namespace cloche::volume {
namespace {

using namespace std::chrono_literals;

constexpr Bytes size = mib(16);
const VolumeId data{"acme", "data"};

CancelToken soon() { return CancelToken(Deadline::after(60s)); }
CancelToken at_once() { return CancelToken(Deadline::after(0s)); }

class Volume : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "volumes are mounted by root");
    std::string name = (testing_support::directory_of_images() / "cloche-volume.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    DiskOptions disks;
    disks.dir = directory_;
    disk::DiskStore probe(disks);
    if (const Status works = probe.probe(soon()); !works) CLOCHE_CANNOT_TEST("loop devices", works.error().message);
  }
  void TearDown() override {
    if (directory_.empty()) return;
    expect_no_loop();
    std::filesystem::remove_all(directory_);
  }

  std::string volumes() const { return directory_ + "/volumes"; }
  std::unique_ptr<VolumeStore> make_store(DiskOptions options = {}) const {
    auto store = std::make_unique<VolumeStore>(volumes(), options, ledger_);
    EXPECT_TRUE(store->open());
    return store;
  }

  std::vector<std::string> loops() const { return testing_support::loop_devices_of(directory_); }
  void expect_no_loop() const {
    EXPECT_TRUE(testing_support::eventually([this] { return loops().empty(); })) << loops().size();
  }
  // Files below the directory of volumes.
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (!entry.is_directory()) found.push_back(entry.path().string().substr(directory_.size()));
    }
    return found;
  }

  std::string directory_;
  std::shared_ptr<disk::Ledger> ledger_ = std::make_shared<disk::Ledger>();
};

Status write(int mount, const char* path, std::string_view text) {
  const UniqueFd file(::openat(mount, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail_errno("write");
  }
  return {};
}

std::string read(int mount, const char* path) {
  char buffer[256];
  const UniqueFd file(::openat(mount, path, O_RDONLY | O_CLOEXEC));
  const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
  return n < 0 ? "error" : std::string(buffer, static_cast<std::size_t>(n));
}

TEST_F(Volume, IsCreatedListedAndDeleted) {
  const auto store = make_store();
  EXPECT_TRUE(store->list("acme")->empty());
  const auto made = store->create(data, size, {}, soon());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->size, size);
  EXPECT_LT(made->allocated, mib(1));
  EXPECT_EQ(ledger_->promised(), size);
  const auto again = store->create(data, size, {}, soon());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::already_exists);
  const auto all = store->list("acme");
  ASSERT_TRUE(all && all->size() == 1);
  EXPECT_EQ(all->front().id, data);
  EXPECT_TRUE(store->list("other")->empty());
  EXPECT_EQ(store->find({"other", "data"}).error().code, ErrorCode::not_found);
  ASSERT_TRUE(store->remove(data, soon()));
  EXPECT_TRUE(store->list("acme")->empty());
  EXPECT_EQ(ledger_->promised(), Bytes{});
  EXPECT_EQ(store->remove(data, soon()).error().code, ErrorCode::not_found);
}

TEST_F(Volume, HostileNames_AreRejected) {
  const auto store = make_store();
  const std::vector<std::string> hostile = {"",         ".",      "..",
                                            "a/b",      "/a",     "../a",
                                            "a\nb",     "a b",    std::string("a\0b", 3),
                                            "\xc3\xa4", "%2e%2e", std::string(65, 'a')};
  for (const std::string& name : hostile) {
    for (const VolumeId& id : {VolumeId{"acme", name}, VolumeId{name, "data"}}) {
      EXPECT_EQ(store->create(id, size, {}, soon()).error().code, ErrorCode::invalid_argument) << name;
      EXPECT_EQ(store->find(id).error().code, ErrorCode::invalid_argument) << name;
      EXPECT_EQ(store->remove(id, soon()).error().code, ErrorCode::invalid_argument) << name;
      EXPECT_EQ(store->mount(id, Access::read_only, soon()).error().code, ErrorCode::invalid_argument) << name;
    }
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(Volume, LinksInThePlaceOfAnImage_AreNotFollowed) {
  const auto store = make_store();
  ASSERT_TRUE(store->create(data, size, {}, soon()));
  std::filesystem::create_symlink("data.img", volumes() + "/acme/link.img");
  EXPECT_FALSE(store->mount({"acme", "link"}, Access::read_write, soon()));
}

TEST_F(Volume, SizesOutOfRange_AreRejected) {
  DiskOptions options;
  options.max_size = mib(32);
  const auto store = make_store(options);
  for (const Bytes wrong : {Bytes{0}, mib(15), mib(33), Bytes{~0ULL}}) {
    EXPECT_EQ(store->create(data, wrong, {}, soon()).error().code, ErrorCode::invalid_argument);
  }
}

TEST_F(Volume, Allowances_AreKept) {
  const auto store = make_store();
  const Allowance two{.volumes = 2, .bytes = mib(64)};
  ASSERT_TRUE(store->create({"acme", "a"}, mib(32), two, soon()));
  EXPECT_EQ(store->create({"acme", "b"}, mib(33), two, soon()).error().code, ErrorCode::limit_reached);
  ASSERT_TRUE(store->create({"acme", "b"}, mib(16), two, soon()));
  EXPECT_EQ(store->create({"acme", "c"}, mib(16), two, soon()).error().code, ErrorCode::limit_reached);
  EXPECT_TRUE(store->create({"other", "c"}, mib(16), two, soon()));
  EXPECT_EQ(store->create({"none", "c"}, mib(16), {.volumes = 0, .bytes = {}}, soon()).error().code,
            ErrorCode::limit_reached);
}

TEST_F(Volume, CountsInTheTotalOfDisks_AlsoAfterARestart) {
  DiskOptions options;
  options.max_total = mib(48);
  ASSERT_TRUE(make_store(options)->create({"acme", "a"}, mib(32), {}, soon()));
  ledger_ = std::make_shared<disk::Ledger>();
  const auto store = make_store(options);
  EXPECT_EQ(ledger_->promised(), mib(32));
  EXPECT_EQ(store->create({"acme", "b"}, mib(32), {}, soon()).error().code, ErrorCode::limit_reached);
  EXPECT_TRUE(store->create({"acme", "b"}, mib(16), {}, soon()));
}

TEST_F(Volume, KeepsItsFiles) {
  const auto store = make_store();
  ASSERT_TRUE(store->create(data, size, {}, soon()));
  {
    const auto mount = store->mount(data, Access::read_write, soon());
    ASSERT_TRUE(mount) << mount.error().message;
    struct stat about{};
    ASSERT_EQ(::fstat(mount->get(), &about), 0);
    EXPECT_EQ(about.st_uid, owner);
    EXPECT_EQ(about.st_gid, owner);
    EXPECT_NE(::faccessat(mount->get(), "lost+found", F_OK, 0), 0);
    struct statvfs fs{};
    ASSERT_EQ(::fstatvfs(mount->get(), &fs), 0);
    EXPECT_NE(fs.f_flag & ST_NOSUID, 0U);
    EXPECT_NE(fs.f_flag & ST_NODEV, 0U);
    ASSERT_TRUE(write(mount->get(), "file", "kept"));
  }
  const auto mount = make_store()->mount(data, Access::read_only, soon());
  ASSERT_TRUE(mount) << mount.error().message;
  EXPECT_EQ(read(mount->get(), "file"), "kept");
  EXPECT_FALSE(write(mount->get(), "file", "changed"));
  EXPECT_EQ(errno, EROFS);
}

TEST_F(Volume, OneWriterOrManyReaders) {
  const auto store = make_store();
  ASSERT_TRUE(store->create(data, size, {}, soon()));
  {
    const auto first = store->use(data, Access::read_only);
    const auto second = store->use(data, Access::read_only);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(store->use(data, Access::read_write).error().code, ErrorCode::limit_reached);
    const auto one = store->mount(data, Access::read_only, soon());
    const auto two = store->mount(data, Access::read_only, soon());
    EXPECT_TRUE(one && two);
    EXPECT_EQ(store->find(data)->uses.readers, 2U);
    EXPECT_EQ(store->remove(data, soon()).error().code, ErrorCode::limit_reached);
    // The kernel says the same, also to another process.
    EXPECT_EQ(make_store()->mount(data, Access::read_write, at_once()).error().code, ErrorCode::limit_reached);
    EXPECT_EQ(make_store()->remove(data, at_once()).error().code, ErrorCode::limit_reached);
  }
  const auto writer = store->use(data, Access::read_write);
  ASSERT_TRUE(writer);
  EXPECT_EQ(store->use(data, Access::read_only).error().code, ErrorCode::limit_reached);
  const auto mount = store->mount(data, Access::read_write, soon());
  ASSERT_TRUE(mount) << mount.error().message;
  EXPECT_EQ(make_store()->mount(data, Access::read_only, at_once()).error().code, ErrorCode::limit_reached);
  EXPECT_EQ(make_store()->remove(data, at_once()).error().code, ErrorCode::limit_reached);
  EXPECT_TRUE(store->find(data));
}

TEST_F(Volume, FullVolume_IsAnErrorOfItsOwn) {
  const auto store = make_store();
  ASSERT_TRUE(store->create(data, size, {}, soon()));
  const auto mount = store->mount(data, Access::read_write, soon());
  ASSERT_TRUE(mount) << mount.error().message;
  const UniqueFd file(::openat(mount->get(), "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  const std::string chunk(1 << 20, 'x');
  while (::write(file.get(), chunk.data(), chunk.size()) > 0) {
  }
  EXPECT_EQ(errno, ENOSPC);
}

TEST_F(Volume, DamagedImage_IsAnErrorOfTheServer) {
  const auto store = make_store();
  const std::string image = volumes() + "/acme/data.img";
  const std::pair<const char*, std::function<void()>> damages[] = {
      {"empty", [&] { std::filesystem::resize_file(image, 0); }},
      {"cut off", [&] { std::filesystem::resize_file(image, size.count / 4); }},
      {"text", [&] { std::ofstream(image) << std::string(size.count, 'x'); }},
      {"a link",
       [&] {
         std::filesystem::remove(image);
         std::filesystem::create_symlink("/etc/passwd", image);
       }},
  };
  for (const auto& [what, damage] : damages) {
    ASSERT_TRUE(store->create(data, size, {}, soon())) << what;
    damage();
    for (const Access access : {Access::read_write, Access::read_only}) {
      const auto mount = store->mount(data, access, soon());
      ASSERT_FALSE(mount) << what;
      EXPECT_EQ(mount.error().code, ErrorCode::internal) << what;
      EXPECT_EQ(mount.error().message, "mount volume 'data' of tenant 'acme': failed; see the server log") << what;
    }
    EXPECT_EQ(store->find(data)->uses.writers + store->find(data)->uses.readers, 0U) << what;
    if (std::filesystem::is_symlink(image)) std::filesystem::remove(image);
    if (std::filesystem::exists(image)) {
      EXPECT_TRUE(store->remove(data, soon())) << what;
    }
  }
}

// What is in the journal alone after a crash of the host is there for a reader, too.
TEST_F(Volume, AfterACrash_ReadersSeeAll) {
  const auto store = make_store();
  ASSERT_TRUE(store->create(data, size, {}, soon()));
  const std::string crashed = volumes() + "/acme/crashed.img";
  {
    const auto mount = store->mount(data, Access::read_write, soon());
    ASSERT_TRUE(mount) << mount.error().message;
    ASSERT_TRUE(write(mount->get(), "file", "kept"));
    const UniqueFd file(::openat(mount->get(), "file", O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::fsync(file.get()), 0);
    std::filesystem::copy_file(volumes() + "/acme/data.img", crashed);
  }
  const auto mount = store->mount({"acme", "crashed"}, Access::read_only, soon());
  ASSERT_TRUE(mount) << mount.error().message;
  EXPECT_EQ(read(mount->get(), "file"), "kept");
}

#ifdef CLOCHE_FAULT_POINTS
// A process that is killed at this point while it creates, mounts and deletes a volume.
TEST_F(Volume, KilledAtAnyStep_NothingIsLostOrLeft) {
  const VolumeId other{"acme", "other"};
  ASSERT_TRUE(make_store()->create(data, size, {}, soon()));
  {
    const auto mount = make_store()->mount(data, Access::read_write, soon());
    ASSERT_TRUE(mount) << mount.error().message;
    ASSERT_TRUE(write(mount->get(), "file", "kept"));
  }
  for (const char* point : {"disk.image", "volume.image", "volume.attached", "volume.mounted", "volume.named",
                            "volume.locked", "disk.attached:2", "volume.attached:2", "disk.mounted:2",
                            "volume.mounted:2", "volume.remove", "volume.removed"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto store = make_store();
      if (!faults::set_faults(point)) ::_exit(1);
      (void)store->create(other, size, {}, soon());
      (void)store->mount(data, Access::read_write, soon());
      (void)store->remove(other, soon());
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << point;
    expect_no_loop();
    const auto store = make_store();
    {
      const auto mount = store->mount(data, Access::read_only, soon());
      ASSERT_TRUE(mount) << point << ": " << mount.error().message;
      EXPECT_EQ(read(mount->get(), "file"), "kept") << point;
    }
    // The other one is there completely or not at all.
    if (store->find(other)) {
      EXPECT_TRUE(store->mount(other, Access::read_write, soon())) << point;
      ASSERT_TRUE(store->remove(other, soon())) << point;
    }
    EXPECT_EQ(files(), std::vector<std::string>{"/volumes/acme/data.img"}) << point;
  }
}
#endif

}  // namespace
}  // namespace cloche::volume

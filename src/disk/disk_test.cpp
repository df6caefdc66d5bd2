// Disks on the kernel of this host.
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
#include <vector>

#include "core/fault_point.hpp"
#include "disk/store.hpp"
#include "support/eventually.hpp"
#include "support/loop_devices.hpp"
#include "support/missing.hpp"

namespace cloche::disk {
namespace {

using namespace std::chrono_literals;

constexpr Owner owner{0x7000'03e8, 0x7000'03e8};
constexpr Bytes size = mib(16);

CancelToken soon() { return CancelToken(Deadline::after(60s)); }

class Disk : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "disks are mounted by root");
    std::string name = (testing_support::directory_of_images() / "cloche-disk.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    DiskStore store = make_store();
    if (const Status works = store.probe(soon()); !works) CLOCHE_CANNOT_TEST("loop devices", works.error().message);
  }
  void TearDown() override {
    if (directory_.empty()) return;
    EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "an image with a name was left";
    std::filesystem::remove_all(directory_);
  }

  DiskOptions options() const {
    DiskOptions made;
    made.dir = directory_;
    return made;
  }
  DiskStore make_store() const { return DiskStore(options()); }

  // The devices of this test's images.
  std::vector<std::string> loops() const { return testing_support::loop_devices_of(directory_); }
  void expect_no_loop() const {
    EXPECT_TRUE(testing_support::eventually([this] { return loops().empty(); })) << loops().size();
  }

  std::string directory_;
};

int open_in(const UniqueFd& mount, const char* path, int flags) {
  return ::openat(mount.get(), path, flags | O_CLOEXEC, 0644);
}

// Writes until it fails; the error, and how much was written.
std::pair<int, std::uint64_t> fill(int fd) {
  const std::string chunk(1 << 20, 'x');
  std::uint64_t written = 0;
  for (;;) {
    const ssize_t n = ::write(fd, chunk.data(), chunk.size());
    if (n < 0) return {errno, written};
    written += static_cast<std::uint64_t>(n);
  }
}

TEST_F(Disk, HasItsSizeAndItsDirectories) {
  DiskStore store = make_store();
  const auto mount = store.make("a", size, owner, soon());
  ASSERT_TRUE(mount) << mount.error().message;
  struct statvfs about{};
  ASSERT_EQ(::fstatvfs(mount->get(), &about), 0);
  const std::uint64_t bytes = about.f_blocks * about.f_frsize;
  EXPECT_LE(bytes, size.count);
  EXPECT_GT(bytes, size.count * 8 / 10);
  EXPECT_EQ(about.f_files, size.count / 8192);
  EXPECT_NE(about.f_flag & ST_NOSUID, 0U);
  EXPECT_NE(about.f_flag & ST_NODEV, 0U);
  EXPECT_EQ(about.f_flag & ST_NOEXEC, 0U);
  for (const char* name : {work_directory, home_directory}) {
    struct stat directory{};
    ASSERT_EQ(::fstatat(mount->get(), name, &directory, AT_SYMLINK_NOFOLLOW), 0) << name;
    EXPECT_EQ(directory.st_uid, owner.uid);
    EXPECT_EQ(directory.st_gid, owner.gid);
    EXPECT_EQ(directory.st_mode, S_IFDIR | 0755);
  }
  EXPECT_EQ(loops().size(), 1U);
}

TEST_F(Disk, IsGoneWithItsLastUser) {
  DiskStore store = make_store();
  {
    const auto mount = store.make("a", size, owner, soon());
    ASSERT_TRUE(mount) << mount.error().message;
    EXPECT_FALSE(loops().empty());
  }
  expect_no_loop();
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(mounts), {}};
  EXPECT_EQ(text.find(directory_), text.npos);
}

TEST_F(Disk, FullDisk_IsAnErrorOfItsOwn) {
  DiskStore store = make_store();
  const auto mount = store.make("a", size, owner, soon());
  ASSERT_TRUE(mount) << mount.error().message;
  const UniqueFd file(open_in(*mount, "work/file", O_CREAT | O_WRONLY));
  const auto [error, written] = fill(file.get());
  EXPECT_EQ(error, ENOSPC);
  EXPECT_LT(written, size.count);
  EXPECT_GT(written, size.count / 2);
  EXPECT_EQ(::fsync(file.get()), 0);
  ASSERT_EQ(::unlinkat(mount->get(), "work/file", 0), 0);
  const UniqueFd other(open_in(*mount, "home/file", O_CREAT | O_WRONLY));
  EXPECT_EQ(::write(other.get(), "x", 1), 1);
}

TEST_F(Disk, Inodes_AreBounded) {
  DiskStore store = make_store();
  const auto mount = store.make("a", least_size, owner, soon());
  ASSERT_TRUE(mount) << mount.error().message;
  std::uint64_t files = 0;
  int error = 0;
  while (error == 0 && files < 10'000) {
    const UniqueFd file(open_in(*mount, ("work/" + std::to_string(files)).c_str(), O_CREAT | O_WRONLY));
    if (file) {
      ++files;
    } else {
      error = errno;
    }
  }
  EXPECT_EQ(error, ENOSPC);
  EXPECT_LT(files, least_size.count / 8192);
}

TEST_F(Disk, SparseFile_TakesNoSpaceAndNoMoreThanThereIs) {
  DiskStore store = make_store();
  const auto mount = store.make("a", size, owner, soon());
  ASSERT_TRUE(mount) << mount.error().message;
  const UniqueFd file(open_in(*mount, "work/file", O_CREAT | O_WRONLY));
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(size.count) * 64), 0);
  EXPECT_EQ(fill(file.get()).first, ENOSPC);
}

TEST_F(Disk, DeletedFiles_ReturnTheirSpaceToTheHost) {
  DiskStore store = make_store();
  BlankImages images(directory_, BlankImages::Allocation::as_written);
  auto image = images.make(size, soon());
  ASSERT_TRUE(image) << image.error().message;
  const auto device = LoopDevice::attach(image->get());
  ASSERT_TRUE(device) << device.error().message;
  const auto mount = mount_detached(*device, Deleted::returned);
  ASSERT_TRUE(mount) << mount.error().message;
  const auto used = [&] {
    struct stat about{};
    ::fstat(image->get(), &about);
    return static_cast<std::uint64_t>(about.st_blocks) * 512;
  };
  EXPECT_LT(used(), mib(1).count);
  UniqueFd file(open_in(*mount, "file", O_CREAT | O_WRONLY));
  const std::string chunk(4 << 20, 'x');
  ASSERT_EQ(::write(file.get(), chunk.data(), chunk.size()), static_cast<ssize_t>(chunk.size()));
  ASSERT_EQ(::syncfs(file.get()), 0);
  EXPECT_GT(used(), chunk.size());
  file.reset();
  ASSERT_EQ(::unlinkat(mount->get(), "file", 0), 0);
  ::syncfs(mount->get());
  EXPECT_TRUE(testing_support::eventually([&] { return used() < mib(2).count; })) << used();
}

TEST_F(Disk, Preallocated_HasItsSpaceFromTheBeginning) {
  BlankImages images(directory_, BlankImages::Allocation::at_once);
  const auto image = images.make(size, soon());
  ASSERT_TRUE(image) << image.error().message;
  struct stat about{};
  ASSERT_EQ(::fstat(image->get(), &about), 0);
  EXPECT_GE(static_cast<std::uint64_t>(about.st_blocks) * 512, size.count);
}

TEST_F(Disk, DisksAreSeparate_AndEmpty) {
  DiskStore store = make_store();
  const auto first = store.make("a", size, owner, soon());
  ASSERT_TRUE(first) << first.error().message;
  const UniqueFd file(open_in(*first, "work/file", O_CREAT | O_WRONLY));
  ASSERT_EQ(::write(file.get(), "secret", 6), 6);
  const auto second = store.make("b", size, owner, soon());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(::faccessat(second->get(), "work/file", F_OK, 0), -1);
  EXPECT_EQ(store.promised(), Bytes{size.count * 2});
}

TEST_F(Disk, SizesOutOfRange_AreRefused) {
  DiskOptions limited = options();
  limited.max_size = mib(32);
  limited.max_total = mib(48);
  DiskStore store(limited);
  for (const Bytes wrong : {Bytes{0}, mib(7), mib(33), Bytes{~0ULL}}) {
    const auto mount = store.make("a", wrong, owner, soon());
    ASSERT_FALSE(mount);
    EXPECT_EQ(mount.error().code, ErrorCode::invalid_argument);
  }
  const auto first = store.make("a", mib(32), owner, soon());
  ASSERT_TRUE(first) << first.error().message;
  const auto second = store.make("b", mib(32), owner, soon());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::limit_reached);
}

TEST_F(Disk, FileSystemWithoutUnnamedFiles_IsRefusedWithAdvice) {
  BlankImages images("/proc", BlankImages::Allocation::as_written);
  const auto image = images.make(size, soon());
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, ErrorCode::unsupported);
  EXPECT_NE(image.error().message.find("disk.dir"), std::string::npos) << image.error().message;
}

#ifdef CLOCHE_FAULT_POINTS
// A process that makes a disk and is killed at this point.
TEST_F(Disk, KilledAtAnyStep_NothingIsLeft) {
  for (const char* point : {"disk.image", "disk.attached", "disk.mounted", "disk.made"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskStore store = make_store();
      if (faults::set_faults(point)) (void)store.make("a", size, owner, soon());
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << point;
    expect_no_loop();
    EXPECT_TRUE(std::filesystem::is_empty(directory_)) << point;
  }
}
#endif

}  // namespace
}  // namespace cloche::disk

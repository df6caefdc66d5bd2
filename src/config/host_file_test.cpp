#include "config/host_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/config.hpp"

namespace cloche::config {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class HostFileTest : public testing::Test {
 public:
  HostFileTest() {
    std::string pattern = (fs::temp_directory_path() / "cloche-config-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~HostFileTest() override { fs::remove_all(directory_); }

 protected:
  std::string file(const std::string& name, const std::string& content, mode_t mode) {
    const std::string path = directory_ / name;
    std::ofstream(path, std::ios::binary) << content;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  std::string secret_error(const std::string& path) {
    const auto config = parse_config("secrets: {TOKEN: {file: " + path + "}}", "cloche.yml", {});
    return config ? "none" : config.error().message;
  }

  fs::path directory_;
};

TEST_F(HostFileTest, RegularFile_IsRead) {
  const auto read = read_host_file(file("a", std::string("x\0y\n", 4), 0644), kib(1)).value();
  EXPECT_EQ(read.content, std::string("x\0y\n", 4));
  EXPECT_TRUE(read.others_can_read);
  EXPECT_FALSE(read_host_file(file("b", "", 0640), kib(1))->others_can_read);
}

TEST_F(HostFileTest, OddFile_IsRefused) {
  const auto error_of = [](const std::string& path) { return read_host_file(path, kib(1)).error(); };
  EXPECT_EQ(error_of(directory_ / "none").code, ErrorCode::not_found);
  EXPECT_THAT(error_of(directory_).message, HasSubstr("is not a regular file"));
  EXPECT_THAT(error_of("/dev/zero").message, HasSubstr("is not a regular file"));
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(error_of(fifo).message, HasSubstr("is not a regular file"));
  EXPECT_THAT(error_of(file("big", std::string(1025, 'x'), 0600)).message, HasSubstr("is larger than 1 KiB"));
  EXPECT_THAT(error_of(file("open", "x", 0666)).message, HasSubstr("is writable by every user"));
  EXPECT_EQ(error_of(std::string("a\0b", 3)).code, ErrorCode::invalid_argument);
}

TEST_F(HostFileTest, SecretFromAFile_IsItsContentWithoutTheLastLineEnd) {
  const auto secret = [&](const std::string& content) {
    const std::string path = file("secret", content, 0600);
    return parse_config("secrets: {TOKEN: {file: " + path + "}}", "cloche.yml", {}).value().manager.secrets.at("TOKEN");
  };
  EXPECT_EQ(secret("s3cret\n"), "s3cret");
  EXPECT_EQ(secret("s3cret\r\n"), "s3cret");
  EXPECT_EQ(secret("two\nlines\n\n"), "two\nlines\n");
  EXPECT_EQ(secret(" \xff "), " \xff ");
  EXPECT_EQ(secret(""), "");
}

TEST_F(HostFileTest, SecretThatOthersCanRead_IsRefused) {
  EXPECT_THAT(secret_error(file("s", "hunter2", 0644)), HasSubstr("is readable by every user of this host"));
  EXPECT_THAT(secret_error(file("s", "hunter2", 0602)), HasSubstr("is writable by every user"));
  EXPECT_EQ(secret_error(file("s", "hunter2", 0640)), "none");
  EXPECT_THAT(secret_error(directory_ / "none"), HasSubstr("secrets.TOKEN.file (line 1): open "));
  EXPECT_THAT(secret_error(file("s", std::string("a\0b", 3), 0600)), HasSubstr("contains a NUL byte"));
  EXPECT_THAT(secret_error("relative/path"), HasSubstr("must be an absolute path"));
  EXPECT_THAT(secret_error("/etc/../etc/shadow"), HasSubstr("must be an absolute path"));
}

TEST_F(HostFileTest, ConfigFile_IsReadFromWhereItIsNamed) {
  const std::string path = file("cloche.yml", "instance: from-file\n", 0644);
  EXPECT_EQ(read_config(path, {})->manager.engine.instance, "from-file");
  EXPECT_EQ(read_config("", {{"CLOCHE_CONFIG", path}})->manager.engine.instance, "from-file");
  EXPECT_EQ(read_config(path, {{"CLOCHE_CONFIG", "/none"}})->manager.engine.instance, "from-file");

  const auto missing = read_config("", {{"CLOCHE_CONFIG", "/none/cloche.yml"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("configuration: open /none/cloche.yml"));
}

TEST_F(HostFileTest, ConfigFileWithSecretsThatOthersCanRead_IsRefused) {
  const std::string with_secrets = "secrets: {TOKEN: hunter2}\n";
  const auto refused = read_config(file("cloche.yml", with_secrets, 0644), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("every user of this host can read it"));
  EXPECT_THAT(refused.error().message, testing::Not(HasSubstr("hunter2")));
  EXPECT_EQ(read_config(file("cloche.yml", with_secrets, 0600), {})->manager.secrets.at("TOKEN"), "hunter2");
  EXPECT_TRUE(read_config(file("cloche.yml", "secrets: {TOKEN: {env: T}}\n", 0644), {{"T", "x"}}));
  EXPECT_FALSE(read_config(file("cloche.yml", "", 0666), {}));
}

}  // namespace
}  // namespace cloche::config

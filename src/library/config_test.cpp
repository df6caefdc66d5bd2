#include "cloche/config.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cloche/errors.hpp"

namespace cloche {
namespace {

using testing::HasSubstr;

class LoadConfigTest : public testing::Test {
 public:
  LoadConfigTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cloche-load-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~LoadConfigTest() override { std::filesystem::remove_all(directory_); }

 protected:
  std::string file(const std::string& content) {
    std::ofstream(directory_ / "cloche.yml") << content;
    return directory_ / "cloche.yml";
  }

  std::filesystem::path directory_;
};

TEST_F(LoadConfigTest, File_BecomesOptionsWithTheNamesOfLanguages) {
  const auto options =
      load_config(file("profiles: {python: {}, scripts: {}}\n"
                       "languages: {perl: {profile: scripts, extensions: [.pl], run: [perl]}}\n"));
  ASSERT_EQ(options.profiles.size(), 2U);
  EXPECT_EQ(options.aliases.at("py"), "python");
  EXPECT_EQ(options.aliases.at("perl"), "scripts");
  EXPECT_FALSE(options.aliases.contains("java"));
}

TEST_F(LoadConfigTest, BadFile_IsThrownAsABadArgument) {
  for (const auto* text : {"profile: {}", "languages: {python: {rum: [x]}}"}) {
    try {
      load_config(file(text));
      ADD_FAILURE() << text;
    } catch (const SandboxArgumentError& error) {
      EXPECT_THAT(error.what(), HasSubstr("cloche.yml: unknown key"));
    }
  }
}

TEST_F(LoadConfigTest, MissingFile_IsThrownAsNotFound) {
  EXPECT_THROW(load_config(directory_ / "none.yml"), SandboxNotFoundError);
}

}  // namespace
}  // namespace cloche

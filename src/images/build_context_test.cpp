#include "images/build_context.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace cloche::images {
namespace {

TEST(BuildContext, RecipesFiles_AreInTheArchiveAndNothingElse) {
  const Recipe recipe = find_recipe("cpp").value();
  const std::string bytes = make_build_context(recipe).value();
  const std::unique_ptr<archive, decltype(&archive_read_free)> tar(archive_read_new(), &archive_read_free);
  archive_read_support_format_tar(tar.get());
  ASSERT_EQ(archive_read_open_memory(tar.get(), bytes.data(), bytes.size()), ARCHIVE_OK);
  std::vector<std::string> names;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(tar.get(), &entry) == ARCHIVE_OK) names.emplace_back(archive_entry_pathname(entry));
  EXPECT_THAT(names, testing::UnorderedElementsAre("Dockerfile.cpp", "setup", "packages/common", "packages/cpp"));
}

TEST(BuildContext, MadeTwice_IsTheSame) {
  const Recipe recipe = find_recipe("python").value();
  EXPECT_EQ(make_build_context(recipe).value(), make_build_context(recipe).value());
}

}  // namespace
}  // namespace cloche::images

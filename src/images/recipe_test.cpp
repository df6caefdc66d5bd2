#include "images/recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace cloche::images {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(Recipe, Shipped_AreTenWithTheAutogradersNames) {
  EXPECT_EQ(all_recipes().size(), 10u);
  EXPECT_EQ(find_recipe("python")->tag(), "sandbox-py:latest");
  EXPECT_EQ(find_recipe("java")->tag(), "sandbox-java:latest");
  EXPECT_EQ(find_recipe("node")->tag(), "sandbox-node:latest");
  EXPECT_EQ(find_recipe("cpp")->tag(), "sandbox-cpp:latest");
}

TEST(Recipe, LanguagesName_FindsTheImageItRunsIn) {
  EXPECT_EQ(find_recipe("TypeScript")->name, "node");
  EXPECT_EQ(find_recipe("c")->name, "cpp");
  EXPECT_EQ(find_recipe("C#")->name, "csharp");
}

TEST(Recipe, UnknownName_ListsWhatThereIs) {
  const auto found = find_recipe("cobol");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::not_found);
  EXPECT_THAT(found.error().message, HasSubstr("python"));
}

TEST(Recipe, EachDockerfile_HasABaseAndEndsAsSandbox) {
  for (const Recipe& recipe : all_recipes()) {
    EXPECT_FALSE(recipe.base.empty()) << recipe.name;
    ASSERT_FALSE(recipe.files.empty()) << recipe.name;
    EXPECT_THAT(recipe.files.front().text, HasSubstr("\nUSER sandbox\nWORKDIR /workspace\n")) << recipe.name;
    EXPECT_THAT(recipe.files.front().text, HasSubstr("-t " + recipe.repository + " .")) << recipe.name;
  }
}

TEST(Recipe, AllButCsharp_HavePackages) {
  for (const Recipe& recipe : all_recipes()) {
    EXPECT_EQ(recipe.has_packages, recipe.name != "csharp");
    if (recipe.has_packages) {
      EXPECT_FALSE(recipe.packages.packages.empty()) << recipe.name;
    }
    EXPECT_THAT(recipe.packages.dropped, Contains("/usr/share/doc/*")) << recipe.name;
  }
}

TEST(Inputs, OfEachImageAndMethod_AreDifferent) {
  std::set<std::string> all;
  for (const Recipe& recipe : all_recipes()) {
    for (const Method method : {Method::offline, Method::dockerfile}) all.insert(inputs_of(recipe, method, "amd64"));
  }
  EXPECT_EQ(all.size(), 2 * all_recipes().size());
}

TEST(Inputs, SameRecipe_HasTheSame) {
  const Recipe recipe = find_recipe("go").value();
  EXPECT_EQ(inputs_of(recipe, Method::offline, "amd64"), inputs_of(recipe, Method::offline, "amd64"));
}

TEST(Inputs, AnyChange_MakesOthers) {
  const Recipe recipe = find_recipe("go").value();
  const std::string offline = inputs_of(recipe, Method::offline, "amd64");
  const std::string by_file = inputs_of(recipe, Method::dockerfile, "amd64");
  EXPECT_NE(offline, inputs_of(recipe, Method::offline, "arm64"));
  Recipe other = recipe;
  other.packages.packages.emplace_back("vim");
  EXPECT_NE(offline, inputs_of(other, Method::offline, "amd64"));
  other = recipe;
  other.packages.dropped.emplace_back("/usr/share/vim");
  EXPECT_NE(offline, inputs_of(other, Method::offline, "amd64"));
  other = recipe;
  other.files.front().text += "\n";
  EXPECT_NE(by_file, inputs_of(other, Method::dockerfile, "amd64"));
  EXPECT_EQ(offline, inputs_of(other, Method::offline, "amd64"));
}

TEST(Inputs, WordsJoinedDifferently_AreNotTheSame) {
  Recipe one, two;
  one.packages.packages = {"ab", "c"};
  two.packages.packages = {"a", "bc"};
  EXPECT_NE(inputs_of(one, Method::offline, "amd64"), inputs_of(two, Method::offline, "amd64"));
}

}  // namespace
}  // namespace cloche::images

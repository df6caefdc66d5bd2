// The shipped languages: each is whole, and its steps are those that one would type.
#include <gmock/gmock.h>

#include "language/language.hpp"
#include "language/language_registry.hpp"

namespace cloche {
namespace {

struct Shipped {
  const char* name;
  const char* source;
  const char* file;
  std::vector<std::string> compile;  // its last arguments
  std::vector<std::string> run;      // its first and its last
};

std::ostream& operator<<(std::ostream& out, const Shipped& shipped) { return out << shipped.name; }

class ShippedLanguageTest : public testing::TestWithParam<Shipped> {};

TEST_P(ShippedLanguageTest, Steps_AreThoseOneWouldType) {
  const auto registry = LanguageRegistry::create();
  ASSERT_TRUE(registry) << registry.error().message;
  const Language language = registry->find(GetParam().name).value();
  const auto steps = expand(language, names_of(language, GetParam().source).value()).value();
  EXPECT_EQ(steps.file, GetParam().file);
  ASSERT_EQ(steps.compile.has_value(), !GetParam().compile.empty());
  if (steps.compile) {
    const auto& argv = steps.compile->argv;
    EXPECT_EQ(argv.front(), GetParam().compile.front());
    EXPECT_EQ(argv.back(), GetParam().compile.back());
    EXPECT_TRUE(steps.compile->limits.wall && steps.compile->limits.memory && steps.compile->limits.output);
  }
  EXPECT_EQ(steps.run.argv.front(), GetParam().run.front());
  EXPECT_EQ(steps.run.argv.back(), GetParam().run.back());
  EXPECT_TRUE(steps.run.limits.wall && steps.run.limits.memory);
}

TEST_P(ShippedLanguageTest, Description_IsWhole) {
  const auto registry = LanguageRegistry::create().value();
  const Language language = registry.find(GetParam().name).value();
  EXPECT_FALSE(language.title.empty());
  EXPECT_FALSE(language.image.empty());
  EXPECT_FALSE(language.toolchain.empty());
  for (const Tool& tool : language.toolchain) {
    EXPECT_TRUE(!tool.package.empty() || !language.missing.empty()) << tool.program;
  }
  ASSERT_FALSE(language.extensions.empty());
  EXPECT_TRUE(language.file.ends_with(language.extensions.front()));
  for (const std::string& extension : language.extensions) {
    EXPECT_EQ(registry.find_for_file("x" + extension)->name, language.name);
  }
}

const Shipped shipped[] = {
    {"python", "", "main.py", {}, {"python3", "main.py"}},
    {"javascript", "", "main.js", {}, {"node", "main.js"}},
    {"typescript", "", "main.ts", {"tsc", "main.ts"}, {"node", "main.js"}},
    {"java", "package a; public class Foo {}", "Foo.java", {"javac", "Foo.java"}, {"java", "a.Foo"}},
    {"c", "", "main.c", {"gcc", "-lm"}, {"./main.out", "./main.out"}},
    {"cpp", "", "main.cpp", {"g++", "main.cpp"}, {"./main.out", "./main.out"}},
    {"csharp", "", "main.cs", {"dotnet", "quiet"}, {"dotnet", "main.out/main.dll"}},
    {"go", "", "main.go", {"go", "main.go"}, {"./main.out", "./main.out"}},
    {"rust", "", "main.rs", {"rustc", "main.rs"}, {"./main.out", "./main.out"}},
    {"ruby", "", "main.rb", {}, {"ruby", "main.rb"}},
    {"php", "", "main.php", {}, {"php", "main.php"}},
    {"bash", "", "main.sh", {}, {"bash", "main.sh"}},
};
INSTANTIATE_TEST_SUITE_P(All, ShippedLanguageTest, testing::ValuesIn(shipped),
                         [](const auto& each) { return each.param.name; });

TEST(ShippedLanguages, AreAllInTheTable) {
  const auto registry = LanguageRegistry::create();
  ASSERT_TRUE(registry) << registry.error().message;
  EXPECT_EQ(registry->all().size(), std::size(shipped));
}

}  // namespace
}  // namespace cloche

#include "cli/run_plan.hpp"

#include <gmock/gmock.h>

namespace cloche::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;

Steps plan(std::string_view name, const std::string& file, std::string_view source = "") {
  auto steps = plan_run(find_language(name, file).value(), file, source, {"-x", "a b"});
  EXPECT_TRUE(steps) << steps.error().message;
  return steps.value_or(Steps());
}

TEST(FindLanguage, ByExtension_FindsIt) {
  EXPECT_EQ(find_language("", "a/b.py").value().name, "python");
  EXPECT_EQ(find_language("", "x.sh").value().name, "sh");
  EXPECT_EQ(find_language("", "x.bash").value().name, "bash");
  EXPECT_EQ(find_language("", "x.pl").value().name, "perl");
  EXPECT_EQ(find_language("", "x.cc").value().name, "cpp");
}

TEST(FindLanguage, ByNameWhateverItsCase_FindsIt) {
  EXPECT_EQ(find_language("JavaScript", "x").value().name, "javascript");
  EXPECT_EQ(find_language("C++", "x").value().name, "cpp");
  EXPECT_EQ(find_language("SH", "x").value().name, "sh");
}

TEST(FindLanguage, NameOverExtension_NameWins) { EXPECT_EQ(find_language("bash", "x.py").value().name, "bash"); }

TEST(FindLanguage, Unknown_ListsWhatThereIs) {
  for (const auto& [language, file] : {std::pair{"cobol", "x"}, {"", "x.cob"}}) {
    const auto found = find_language(language, file);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(found.error().message.find("python"), std::string::npos);
    EXPECT_NE(found.error().message.find("perl"), std::string::npos);
  }
}

TEST(PlanRun, File_KeepsItsName) {
  const Steps python = plan("", "solution.py");
  EXPECT_EQ(python.file, "solution.py");
  EXPECT_THAT(python.run.argv, ElementsAre("python3", "solution.py", "-x", "a b"));
  EXPECT_THAT(plan("python", "notes.txt").run.argv, Contains("notes.txt"));
}

TEST(PlanRun, NameThatLooksLikeAnOption_IsNone) {
  const Steps odd = plan("", "-dash.py");
  EXPECT_EQ(odd.file, "-dash.py");
  EXPECT_THAT(odd.run.argv, ElementsAre("python3", "./-dash.py", "-x", "a b"));
}

TEST(PlanRun, CompiledLanguage_HasBothSteps) {
  const Steps c = plan("", "sum.c");
  ASSERT_TRUE(c.compile);
  EXPECT_THAT(c.compile->argv, Contains("sum.c"));
  EXPECT_THAT(c.run.argv, ElementsAre("./sum.out", "-x", "a b"));
  // gcc would take it for something else.
  EXPECT_EQ(plan("c", "sum.txt").file, "main.c");
  const Steps java = plan("", "Sum.java", "public class Sum { public static void main(String[] a) {} }");
  EXPECT_THAT(java.run.argv, Contains("Sum"));
}

}  // namespace
}  // namespace cloche::cli

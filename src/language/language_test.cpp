#include "language/language.hpp"

#include <gmock/gmock.h>

namespace cloche {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Language compiled() {
  Language language;
  language.name = "x";
  language.title = "X";
  language.file = "{class}.x";
  language.class_from = ClassFrom::java;
  language.compile = {"xc", "-o", "./{stem}.out", "{filename}", "{{}}", "a{class}b{stem}c"};
  language.run = {"./{stem}.out"};
  language.arguments = {"{class}", ""};
  language.env = {{"A", "{filename}"}};
  language.compile_limits.wall = 30s;
  language.run_limits.memory = mib(64);
  return language;
}

TEST(Expand, Names_StandInTheirPlaces) {
  const Steps steps = expand(compiled(), {"my prog.v2.x", "Foo", "a.b"}).value();
  EXPECT_EQ(steps.file, "my prog.v2.x");
  ASSERT_TRUE(steps.compile);
  EXPECT_THAT(steps.compile->argv,
              ElementsAre("xc", "-o", "./my prog.v2.out", "my prog.v2.x", "{}", "aa.b.Foobmy prog.v2c"));
  EXPECT_EQ(steps.compile->limits.wall, 30s);
  EXPECT_FALSE(steps.compile->limits.memory);
  EXPECT_THAT(steps.run.argv, ElementsAre("./my prog.v2.out", "a.b.Foo", ""));
  EXPECT_EQ(steps.run.limits.memory, mib(64));
  EXPECT_THAT(steps.run.env, ElementsAre(Pair("A", "{filename}")));
  EXPECT_EQ(steps.zygote, "");
}

TEST(Expand, NothingToCompile_HasOneStep) {
  Language language;
  language.run = {"python3"};
  language.arguments = {"{filename}"};
  language.zygote = ZygoteSpec{};
  const Steps steps = expand(language, {.file = "main.py"}).value();
  EXPECT_FALSE(steps.compile);
  EXPECT_THAT(steps.run.argv, ElementsAre("python3", "main.py"));
  EXPECT_EQ(steps.zygote, "python");
  EXPECT_THAT(steps.zygote_argv, ElementsAre("main.py"));
}

Language with_directory() {
  Language language;
  language.compile = {"cc", "-o", "{dir}/{stem}.out", "{sources}", "-I{dir}"};
  language.run = {"{dir}/{stem}.out"};
  language.arguments = {"{dir}/{filename}", "{dir}"};
  language.zygote = ZygoteSpec{};
  return language;
}

TEST(Expand, SourceInTheWorkDirectory_IsNamedWithoutOne) {
  const Steps steps = expand(with_directory(), {.file = "main.c", .others = {"./a.c", "./b.c"}}).value();
  EXPECT_THAT(steps.compile->argv, ElementsAre("cc", "-o", "main.out", "main.c", "./a.c", "./b.c", "-I."));
  EXPECT_THAT(steps.run.argv, ElementsAre("./main.out", "main.c", "."));
  EXPECT_THAT(steps.zygote_argv, ElementsAre("main.c"));
}

TEST(Expand, SourceElsewhere_IsNamedWithItsDirectory) {
  const Steps steps = expand(with_directory(), {.file = "main.c"}, "/tmp/.run-1").value();
  EXPECT_THAT(steps.compile->argv,
              ElementsAre("cc", "-o", "/tmp/.run-1/main.out", "/tmp/.run-1/main.c", "-I/tmp/.run-1"));
  EXPECT_THAT(steps.run.argv, ElementsAre("/tmp/.run-1/main.out", "/tmp/.run-1/main.c", "/tmp/.run-1"));
  EXPECT_THAT(steps.zygote_argv, ElementsAre("/tmp/.run-1/main.c"));
}

TEST(NamesDirectory, IsTrueForCommandsThatSayDirOrSources) {
  EXPECT_TRUE(names_directory(with_directory()));
  Language language;
  language.run = {"x", "{filename}", "{{dir}}"};
  EXPECT_FALSE(names_directory(language));
  language.compile = {"cc", "{sources}"};
  EXPECT_TRUE(names_directory(language));
  language.compile.clear();
  language.arguments = {"-I{dir}"};
  EXPECT_TRUE(names_directory(language));
}

// No shell ever sees them, and no name becomes two arguments or an option.
TEST(Expand, NameThatTriesToInject_StaysOneArgument) {
  for (const std::string name :
       {"a; rm -rf x.py", "a b\\.py", "$(id).py", "a'\"`.py", "{stem}.py", "{{class}}.py", "a -o b.py"}) {
    Language language;
    language.run = {"run", "{filename}", "{stem}"};
    const auto steps = expand(language, {.file = name});
    if (name.front() == '$' || name.front() == '{') {
      EXPECT_FALSE(steps) << name;
      continue;
    }
    ASSERT_TRUE(steps) << steps.error().message;
    EXPECT_THAT(steps->run.argv, ElementsAre("run", name, name.substr(0, name.size() - 3)));
  }
}

TEST(Expand, ValueWithAPlaceholder_IsNotFilledAgain) {
  Language language;
  language.run = {"run", "{filename}"};
  EXPECT_THAT(expand(language, {.file = "x{class}{filename}.py"})->run.argv,
              ElementsAre("run", "x{class}{filename}.py"));
}

TEST(Expand, BadFileName_IsRefused) {
  for (const std::string& name :
       {""s, "."s, ".."s, ".hidden.py"s, "-c.py"s, "--version"s, "@options.c"s, "+x.sh"s, "a/b.py"s, "/etc/passwd"s,
        "../x.py"s, "a\0b.py"s, "a\nb.py"s, "a\x7f.py"s, "~root.py"s, " a.py"s, "=x.py"s, std::string(256, 'a')}) {
    const auto steps = expand(compiled(), {.file = name});
    ASSERT_FALSE(steps) << name;
    EXPECT_EQ(steps.error().code, ErrorCode::invalid_argument);
  }
  for (const std::string& name : {"a"s, "_x.py"s, "7.py"s, "ä.py"s, "a+b=c@d-e.py"s, std::string(255, 'a')}) {
    EXPECT_TRUE(expand(compiled(), {.file = name})) << name;
  }
}

TEST(Expand, BadClass_IsRefused) {
  const struct {
    const char *name, *package;
  } cases[] = {{"", ""},    {"1A", ""},   {"-jar", ""}, {"A B", ""},   {"A;B", ""},
               {"a/b", ""}, {"A.B", ""},  {"A", "-cp"}, {"A", "a..b"}, {"A", ".a"},
               {"A", "a."}, {"A", "a b"}, {"A", "a/b"}, {"A\n", ""},   {"@A", ""}};
  for (const auto& test : cases) {
    EXPECT_FALSE(expand(compiled(), {"a.x", test.name, test.package})) << test.name << " " << test.package;
  }
  EXPECT_FALSE(expand(compiled(), {"a.x", "A\0B"s, ""}));
  EXPECT_FALSE(expand(compiled(), {"a.x", std::string(201, 'A'), ""}));
}

TEST(Expand, BadTemplate_IsRefused) {
  const struct {
    const char *pattern, *error;
  } cases[] = {
      {"{file}",
       "unknown placeholder {file} in `{file}`; known placeholders: {class}, {dir}, {filename}, {stem}, and {sources}"},
      {"{}", "unknown placeholder {}"},
      {"a{b", "single brace in `a{b`; double it"},
      {"a}b", "single brace in `a}b`"},
      {"{{stem}", "single brace"},
      {"{Filename}", "unknown placeholder {Filename}"},
  };
  for (const auto& test : cases) {
    EXPECT_THAT(validate_template(test.pattern, TemplateOf::command).error().message, HasSubstr(test.error));
  }
  EXPECT_TRUE(validate_template("{{stem}}{stem}", TemplateOf::command));
  EXPECT_TRUE(validate_template("{class}.x", TemplateOf::file));
  EXPECT_FALSE(validate_template("{stem}.x", TemplateOf::file));
}

TEST(NamesOf, Source_GivesTheClassItsName) {
  const auto names = names_of(compiled(), "package p.q; public class Foo {}").value();
  EXPECT_EQ(names.file, "Foo.x");
  EXPECT_EQ(names.class_name, "Foo");
  EXPECT_EQ(names.package, "p.q");
  Language plain = compiled();
  plain.class_from = ClassFrom::nothing;
  EXPECT_EQ(names_of(plain, "public class Foo {}")->file, "Main.x");
}

TEST(NamesOf, NameThatCannotBe_IsLeftToTheCompiler) {
  for (const std::string& source : {"public class " + std::string(1000, 'A') + " {}", "package 1.2; public class A {}"s,
                                    "package a..b; public class A {}"s, "public class A\xff {}"s, "package"s}) {
    const auto names = names_of(compiled(), source).value();
    EXPECT_EQ(names.file, "Main.x") << source;
    EXPECT_TRUE(expand(compiled(), names)) << source;
  }
}

TEST(WithPrefix, ByteOrderMark_StaysInFront) {
  Language language;
  EXPECT_EQ(with_prefix(language, "\xef\xbb\xbfx"), "\xef\xbb\xbfx");
  language.prefix = "#p\n";
  EXPECT_EQ(with_prefix(language, "x\r\n"), "#p\nx\r\n");
  EXPECT_EQ(with_prefix(language, "\xef\xbb\xbfx"), "\xef\xbb\xbf#p\nx");
  EXPECT_EQ(with_prefix(language, ""), "#p\n");
}

TEST(MissingTool, Message_SaysWhatToDo) {
  Language language = compiled();
  EXPECT_EQ(missing_tool(language, {"xc", "x-lang"}),
            "X requires `xc`, which is not in this sandbox; install the Debian package x-lang");
  EXPECT_THAT(missing_tool(language, {"xc", ""}), HasSubstr("use an image"));
  language.missing = "buy it";
  EXPECT_THAT(missing_tool(language, {"xc", ""}), HasSubstr("; buy it"));
}

}  // namespace
}  // namespace cloche

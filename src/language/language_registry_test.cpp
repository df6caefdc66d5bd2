#include "language/language_registry.hpp"

#include <gmock/gmock.h>

#include "config/config.hpp"
#include "language/language.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;
using testing::StartsWith;

Result<LanguageRegistry> registry_of(const std::string& text) {
  CLOCHE_TRY(const config::Config config, config::parse_config(text, "cloche.yml", {}));
  return LanguageRegistry::create(config.languages);
}

std::string error_of(const std::string& text) {
  const auto registry = registry_of(text);
  if (registry) return "none";
  EXPECT_EQ(registry.error().code, ErrorCode::invalid_argument);
  return registry.error().message;
}

TEST(LanguageRegistry, NameOrAliasInAnyCase_IsFound) {
  const auto registry = LanguageRegistry::create().value();
  for (const auto* name : {"python", "Python", "PYTHON3", "py"}) EXPECT_EQ(registry.find(name)->name, "python") << name;
  for (const auto* name : {"CSharp", "C#", "cs"}) EXPECT_EQ(registry.find(name)->name, "csharp") << name;
  for (const auto* name : {"C++", "cpp", "Cxx"}) EXPECT_EQ(registry.find(name)->name, "cpp") << name;
  EXPECT_EQ(registry.find("C")->name, "c");
  EXPECT_EQ(registry.find("node")->name, "javascript");
}

TEST(LanguageRegistry, UnknownName_IsRefusedInEitherWording) {
  const auto registry = LanguageRegistry::create().value();
  const std::string all = "bash, c, cpp, csharp, go, java, javascript, php, python, ruby, rust, typescript";
  EXPECT_EQ(registry.find("cobol").error().message, "Unsupported language: cobol (supported: " + all + ")");
  EXPECT_EQ(registry.find("cobol", UnknownLanguage::not_supported).error().message,
            "The programming language 'cobol' is not currently supported. Supported languages: " + all);
  EXPECT_EQ(registry.find("cobol").error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(registry.find("").error().message, StartsWith("Unsupported language:  ("));
  EXPECT_THAT(registry.find("a\n\x1b[2J" + std::string(10'000, 'x')).error().message,
              StartsWith("Unsupported language: a\\x0a\\x1b[2Jx"));
}

TEST(LanguageRegistry, FileName_TellsTheLanguage) {
  const auto registry = LanguageRegistry::create().value();
  const struct {
    const char *file, *language;
  } cases[] = {{"a.py", "python"}, {"x.test.js", "javascript"}, {"a.mjs", "javascript"}, {"a.c", "c"},
               {"a.cc", "cpp"},    {"/x/y/Foo.java", "java"},   {"a.sh", "bash"},        {"a.ts", "typescript"},
               {"a.cs", "csharp"}};
  for (const auto& test : cases) EXPECT_EQ(registry.find_for_file(test.file)->name, test.language);
  for (const auto* file : {"", "py", ".py", "a.PY2", "Makefile", "a.py.bak"}) {
    EXPECT_FALSE(registry.find_for_file(file)) << file;
  }
}

TEST(LanguageRegistry, ConfiguredLanguage_IsAdded) {
  const auto registry = registry_of(R"(
languages:
  Lua:
    title: Lua 5
    aliases: [LUA5.4]
    profile: scripts
    extensions: [.lua]
    run: [lua5.4, "{filename}"]
    run_limits: {wall: 2s, cpu: 1.5, memory: 32m, pids: 16, file_size: 1m, output: 1m}
    toolchain: [{program: lua5.4, package: lua5.4}]
)")
                            .value();
  const Language lua = registry.find("lua5.4").value();
  EXPECT_EQ(lua.name, "lua");
  EXPECT_EQ(lua.title, "Lua 5");
  EXPECT_EQ(lua.profile, "scripts");
  EXPECT_EQ(lua.file, "main.lua");
  EXPECT_EQ(lua.run_limits.wall, 2s);
  EXPECT_EQ(lua.run_limits.cpu, 1500ms);
  EXPECT_EQ(lua.run_limits.memory, mib(32));
  EXPECT_EQ(lua.run_limits.pids, 16U);
  EXPECT_EQ(lua.run_limits.file_size, mib(1));
  EXPECT_EQ(lua.run_limits.output, mib(1));
  EXPECT_FALSE(lua.compile_limits.wall);
  EXPECT_EQ(registry.find_for_file("x.lua")->name, "lua");
  EXPECT_EQ(registry.all().size(), LanguageRegistry::create()->all().size() + 1);
}

TEST(LanguageRegistry, ConfiguredKey_StandsOverTheShippedOne) {
  const auto registry = registry_of(R"(
languages:
  python:
    run: [pypy3]
    env: {PYTHONHASHSEED: "0"}
    run_limits: {wall: 3s}
    toolchain: [{program: pypy3, package: pypy3}]
)")
                            .value();
  const Language python = registry.find("py").value();
  EXPECT_THAT(expand(python, {.file = "main.py"})->run.argv, ElementsAre("pypy3", "main.py"));
  EXPECT_THAT(python.env, IsSupersetOf({Pair("PYTHONHASHSEED", "0"), Pair("PYTHONUNBUFFERED", "1")}));
  EXPECT_EQ(python.run_limits.wall, 3s);
  EXPECT_EQ(python.run_limits.memory, mib(128));
  ASSERT_EQ(python.toolchain.size(), 1U);
  EXPECT_EQ(python.toolchain[0].program, "pypy3");
}

TEST(LanguageRegistry, ConfiguredLimits_AreKeptApartFromShippedOnes) {
  const auto registry = registry_of("languages: {c: {run_limits: {memory: 128m}}}").value();
  const Language c = *registry.find("c");
  EXPECT_EQ(c.run_limits_set.memory, mib(128)) << "said, although it is what Cloche has by itself";
  EXPECT_EQ(c.run_limits_set.wall, std::nullopt);
  EXPECT_EQ(c.run_limits.wall, 10s);
  EXPECT_EQ(c.compile_limits_set.memory, std::nullopt);
  EXPECT_EQ(c.compile_limits.memory, mib(256));
  EXPECT_EQ(registry.find("cpp")->run_limits_set.memory, std::nullopt);
}

TEST(LanguageRegistry, BadLanguage_IsRefusedWithFileLineAndKey) {
  const struct {
    std::string text, error;
  } cases[] = {
      {"languages: [python]", "cloche.yml: languages (line 1): must be a map of keys to values, not a list"},
      {"languages:\n  python: {rum: x}",
       "cloche.yml: unknown key `rum` (line 2) in languages.python; did you mean `run`?"},
      {"languages: {zig: {extensions: [.zig]}}",
       "languages.zig (line 1): requires `run`, the command that runs a program"},
      {"languages: {zig: {run: [zig]}}", "languages.zig (line 1): requires `file`, or `extensions`"},
      {"languages: {z++: {run: [z], file: a.z}}", "languages[`z++`] (line 1): requires `profile`"},
      {"languages: {js: {run: [deno]}}", "languages.js (line 1): `js` is an alias of `javascript`; use that name"},
      {"languages: {'a b': {run: [x], file: x}}", "languages[`a b`] (line 1): a language name must be letters"},
      {"languages: {z: {run: [x], file: x, aliases: [py]}}", "`py` is a name or alias of both `python` and `z`"},
      {"languages: {z: {run: [x], file: x, aliases: [java]}}", "`java` is a name or alias of both `java` and `z`"},
      {"languages: {z: {run: [x], file: x, aliases: ['a b']}}",
       "languages.z.aliases (line 1): `a b` is not a valid language name"},
      {"languages: {z: {run: [x], file: ../x}}", "languages.z.file (line 1): invalid source file name: `../x`"},
      {"languages: {z: {run: [x], file: -x}}", "languages.z.file (line 1): invalid source file name: `-x`"},
      {"languages: {z: {run: [x], file: '{stem}.x'}}", "languages.z.file (line 1): unknown placeholder {stem}"},
      {"languages: {z: {run: ['{file}'], file: x}}", "languages.z.run (line 1): unknown placeholder {file}"},
      {"languages: {z: {run: [x], arguments: ['{'], file: x}}", "languages.z.arguments (line 1): single brace"},
      {"languages: {z: {run: 'x -y', file: x}}", "languages.z.run (line 1): must be a list of strings"},
      {"languages: {z: {run: [''], file: x}}", "languages.z.run (line 1): program is empty"},
      {"languages: {z: {run: [x], file: x, extensions: [py]}}",
       "languages.z.extensions (line 1): `py` is not an extension"},
      {"languages: {z: {run: [x], file: x, extensions: [./a]}}", "languages.z.extensions (line 1): `./a` is not"},
      {"languages: {z: {run: [x], file: x, profile: A}}",
       "languages.z.profile (line 1): must be the name of a profile"},
      {"languages: {z: {run: [x], file: x, env: {'A=': b}}}",
       "languages.z.env (line 1): `A=` is not a valid environment variable name"},
      {"languages: {z: {run: [x], file: x, class_from: c}}",
       "languages.z.class_from (line 1): must be one of nothing, java"},
      {"languages: {z: {run: [x], file: x, run_limits: {memory: 1k}}}",
       "languages.z.run_limits (line 1): limit memory is 1 KiB"},
      {"languages: {z: {run: [x], file: x, run_limits: {wall: 0}}}",
       "languages.z.run_limits.wall (line 1): must be a duration"},
      {"languages: {z: {run: [x], file: x, toolchain: [{package: x}]}}",
       "languages.z.toolchain[0] (line 1): program is required"},
      {"languages: {z: {run: [x], file: x, zygote: {imports: ['a b']}}}",
       "languages.z.zygote.imports (line 1): `a b` is not"},
  };
  for (const auto& test : cases) EXPECT_THAT(error_of(test.text), HasSubstr(test.error)) << test.text;
}

TEST(LanguageRegistry, Profiles_AreFoundForTheNamesOfLanguages) {
  const auto registry = LanguageRegistry::create().value();
  const auto config = config::parse_config("profiles: {cpp: {}, node: {}, python: {}}", "cloche.yml", {}).value();
  const auto aliases = registry.aliases_for(config.manager.profiles);
  EXPECT_THAT(aliases, IsSupersetOf({Pair("c++", "cpp"), Pair("c", "cpp"), Pair("js", "node"),
                                     Pair("javascript", "node"), Pair("typescript", "node"), Pair("py", "python")}));
  EXPECT_FALSE(aliases.contains("cpp"));
  EXPECT_FALSE(aliases.contains("node"));
  EXPECT_FALSE(aliases.contains("java"));

  const auto grader = config::parse_config("general: {}", "sandbox_config.yml", {}).value();
  const auto grader_aliases = registry.aliases_for(grader.manager.profiles);
  EXPECT_EQ(grader_aliases.at("gcc"), "c");
  EXPECT_EQ(grader_aliases.at("c++"), "cpp");
  EXPECT_EQ(grader_aliases.at("javascript"), "node");
  EXPECT_FALSE(grader_aliases.contains("ruby"));
}

}  // namespace
}  // namespace cloche

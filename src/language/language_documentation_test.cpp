// docs/configuration.md describes languages correctly.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "config/config.hpp"
#include "language/language.hpp"
#include "language/language_registry.hpp"

namespace cloche {
namespace {

std::string documentation() {
  std::ifstream file(CLOCHE_DOCS "/configuration.md");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const auto begin = text.find("\n## Languages\n");
  return begin == text.npos ? "" : text.substr(begin, text.find("\n## ", begin + 1) - begin);
}

TEST(LanguageDocumentation, Example_AddsALanguage) {
  const std::string text = documentation();
  const auto begin = text.find("```yaml\n");
  ASSERT_NE(begin, text.npos);
  const std::string example = text.substr(begin + 8, text.find("\n```", begin) + 1 - (begin + 8));
  const auto config = config::parse_config(example, "cloche.yml", {});
  ASSERT_TRUE(config) << config.error().message;
  const auto registry = LanguageRegistry::create(config->languages);
  ASSERT_TRUE(registry) << registry.error().message;
  const Language perl = registry->find("Perl").value();
  EXPECT_EQ(expand(perl, names_of(perl, "print 42;").value())->run.argv, (std::vector<std::string>{"perl", "main.pl"}));
  EXPECT_EQ(LanguageRegistry::profile_for(perl, config->manager.profiles), "scripts");
}

TEST(LanguageDocumentation, EveryLanguageAndKey_IsInIt) {
  const std::string text = documentation();
  const auto registry = LanguageRegistry::create().value();
  for (const auto& [name, language] : registry.all()) EXPECT_NE(text.find("`" + name + "`"), text.npos) << name;
  for (const std::string wrong : {"languages: {c: {zzzzzzzzzz: 1}}", "languages: {c: {run_limits: {zzzzzzzzzz: 1}}}",
                                  "languages: {c: {toolchain: [{program: x, zzzzzzzzzz: 1}]}}"}) {
    const auto config = config::parse_config(wrong, "c", {}).value();
    const auto refused = LanguageRegistry::create(config.languages);
    ASSERT_FALSE(refused);
    const std::string intro = "known keys: ";
    const auto at = refused.error().message.find(intro);
    ASSERT_NE(at, std::string::npos) << refused.error().message;
    std::istringstream known(refused.error().message.substr(at + intro.size()));
    for (std::string key; std::getline(known >> std::ws, key, ',');) {
      EXPECT_NE(text.find("`" + key + "`"), text.npos) << key << ", which " << wrong << " tells of";
    }
  }
}

}  // namespace
}  // namespace cloche

#include "cli/run_plan.hpp"

#include <algorithm>
#include <cctype>

#include "core/text.hpp"
#include "language/language_registry.hpp"

namespace cloche::cli {

namespace {

// Languages for users of a terminal that graders do not need. Every image has a plain `sh`, but not bash.
std::vector<Language> plain_languages() {
  Language sh;
  sh.name = "sh";
  sh.title = "Shell";
  sh.file = "main.sh";
  sh.extensions = {".sh"};
  sh.run = {"sh"};
  sh.arguments = {"{filename}"};
  sh.toolchain = {{"sh", "dash"}};
  Language perl;
  perl.name = "perl";
  perl.title = "Perl";
  perl.file = "main.pl";
  perl.extensions = {".pl"};
  perl.run = {"perl"};
  perl.arguments = {"{filename}"};
  perl.toolchain = {{"perl", "perl"}};
  return {sh, perl};
}

// The language that most people expect first.
std::string known_languages(const LanguageRegistry& registry) {
  std::string names = "python";
  for (const auto& [name, language] : registry.all()) {
    if (name != "python") names += ", " + name;
  }
  for (const Language& plain : plain_languages()) names += ", " + plain.name;
  return names;
}

bool has_extension_of(const Language& language, std::string_view file) {
  return std::ranges::any_of(language.extensions, [&](const std::string& ext) { return file.ends_with(ext); });
}

}  // namespace

Result<Language> find_language(std::string_view language, std::string_view file) {
  for (const Language& plain : plain_languages()) {
    if (language.empty() ? has_extension_of(plain, file) : same_word(language, plain.name)) return plain;
  }
  CLOCHE_TRY(const LanguageRegistry registry, LanguageRegistry::create());
  auto found = language.empty() ? registry.find_for_file(file) : registry.find(language);
  if (found) return found;
  if (language.empty()) {
    return fail(ErrorCode::invalid_argument,
                "cannot tell the language of " + std::string(file) +
                    " from its name; set --language to one of: " + known_languages(registry));
  }
  return fail(ErrorCode::invalid_argument,
              "unknown language '" + std::string(language) + "'; known languages: " + known_languages(registry));
}

Result<Steps> plan_run(const Language& language, const std::string& file, std::string_view source,
                       const std::vector<std::string>& arguments) {
  CLOCHE_TRY(SourceNames names, names_of(language, source));
  // A compiler takes a file for what its extension says.
  const bool keeps_name = language.compile.empty() || has_extension_of(language, file);
  const std::string name = keeps_name ? file : names.file;
  const bool is_plain = validate_file_name(name).has_value();
  if (is_plain) names.file = name;
  CLOCHE_TRY(Steps steps, expand(language, names));
  if (!is_plain) {
    // With a leading directory it cannot be taken for an option.
    const std::string safe = "./" + name;
    if (steps.compile) std::ranges::replace(steps.compile->argv, names.file, safe);
    std::ranges::replace(steps.run.argv, names.file, safe);
    steps.file = name;
  }
  steps.run.argv.insert(steps.run.argv.end(), arguments.begin(), arguments.end());
  return steps;
}

}  // namespace cloche::cli

#include "language/language_registry.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "config/text.hpp"
#include "core/text.hpp"
#include "language/language.hpp"
#include "language/language_section.hpp"
#include "language/languages_text.hpp"

namespace cloche {

namespace {

using Languages = std::map<std::string, Language>;

// The shipped language that has this name as an alias, so that `js:` is not taken for a new one.
const Language* owner_of(const Languages& languages, const std::string& alias) {
  for (const auto& [name, language] : languages) {
    if (std::ranges::find(language.aliases, alias) != language.aliases.end()) return &language;
  }
  return nullptr;
}

// Where the properties of a language come from: Cloche itself, or a configuration, whose limits take precedence over
// those of profiles.
enum class Source { shipped, configuration };

void read_over(config::Section& section, Language& language, Source source) {
  if (source == Source::shipped) return read_language(section, language);
  const StepLimits compile = std::exchange(language.compile_limits, {});
  const StepLimits run = std::exchange(language.run_limits, {});
  read_language(section, language);
  language.compile_limits_set = language.compile_limits;
  language.run_limits_set = language.run_limits;
  language.compile_limits = over(language.compile_limits_set, compile);
  language.run_limits = over(language.run_limits_set, run);
}

void read_languages(config::Section& section, Languages& languages, Source source) {
  const Languages before = languages;
  for (const std::string& key : section.keys()) {
    const std::string name = lower(key);
    if (!is_language_name(name)) {
      section.refuse(key, "a language name must be letters, digits and _ + # . -, at most 32");
    } else if (const Language* owner = before.contains(name) ? nullptr : owner_of(before, name)) {
      section.refuse(key, "`" + name + "` is an alias of `" + owner->name + "`; use that name");
    }
    section.section(key, [&](config::Section& below) {
      Language& language = languages[name];
      language.name = name;
      read_over(below, language, source);
    });
  }
}

bool every_name(const std::string&) { return true; }

std::unexpected<Error> unsupported(std::string_view name, const std::string& known) {
  return fail(ErrorCode::invalid_argument,
              "Unsupported language: " + config::printable(name) + " (supported: " + known + ")");
}

Status two_owners(const std::string& alias, const std::string& one, const std::string& other) {
  return fail(ErrorCode::invalid_argument,
              "languages: `" + alias + "` is a name or alias of both `" + one + "` and `" + other + "`");
}

Status read_part(const config::Part& part, Languages& languages, Source source) {
  config::ConfigErrors errors(part.file);
  config::Section section(errors, part.node, part.path, part.line);
  read_languages(section, languages, source);
  return errors.status();
}

}  // namespace

Result<LanguageRegistry> LanguageRegistry::create(const std::optional<config::Part>& changes) {
  LanguageRegistry registry;
  CLOCHE_TRY(config::YamlNode shipped, config::parse_yaml(languages_text, "languages.yml"));
  CLOCHE_CHECK(read_part({"languages.yml", "", std::move(shipped), 1}, registry.languages_, Source::shipped));
  for (const auto& [name, language] : registry.languages_) registry.shipped_.insert(name);
  if (changes) CLOCHE_CHECK(read_part(*changes, registry.languages_, Source::configuration));
  auto indexed = registry.index();
  if (!indexed) return fail(std::move(indexed).error().at(changes ? changes->file : "languages.yml"));
  return registry;
}

Status LanguageRegistry::index() {
  for (const auto& [name, language] : languages_) names_.emplace(name, name);
  for (const auto& [name, language] : languages_) {
    for (const std::string& alias : language.aliases) {
      const auto [place, is_new] = names_.emplace(alias, name);
      if (!is_new && place->second != name) return two_owners(alias, place->second, name);
    }
  }
  return {};
}

std::string LanguageRegistry::names(const std::function<bool(const std::string&)>& is_there) const {
  std::string all;
  for (const auto& [name, language] : languages_) {
    if (is_there(name)) all += (all.empty() ? "" : ", ") + name;
  }
  return all;
}

Result<Language> LanguageRegistry::find(std::string_view name, UnknownLanguage wording) const {
  const auto found = names_.find(lower(name));
  if (found != names_.end()) return languages_.at(found->second);
  const std::string said = config::printable(name);
  const std::string known = names(every_name);
  if (wording == UnknownLanguage::not_supported) {
    return fail(ErrorCode::invalid_argument,
                "The programming language '" + said + "' is not currently supported. Supported languages: " + known);
  }
  return unsupported(name, known);
}

Result<Language> LanguageRegistry::find_for(const auth::AccessTable& access, std::string_view tenant,
                                            std::string_view name) const {
  const auto is_there = [&](const std::string& language) {
    return access.allows(auth::Resource::language, language, tenant);
  };
  const auto found = names_.find(lower(name));
  if (found != names_.end() && is_there(found->second)) return languages_.at(found->second);
  return unsupported(name, names(is_there));
}

Result<Language> LanguageRegistry::find_for_file(std::string_view file_name) const {
  const Language* best = nullptr;
  std::size_t longest = 0;
  for (const auto& [name, language] : languages_) {
    for (const std::string& extension : language.extensions) {
      if (file_name.size() > extension.size() && file_name.ends_with(extension) && extension.size() > longest) {
        best = &language;
        longest = extension.size();
      }
    }
  }
  if (best != nullptr) return *best;
  return fail(ErrorCode::invalid_argument, "cannot tell the language of " + config::shown(file_name) +
                                               " from its name; known languages: " + names(every_name));
}

std::optional<std::string> LanguageRegistry::profile_for(const Language& language,
                                                         const std::vector<Profile>& profiles) {
  auto all = profiles_for(language, profiles);
  if (all.empty()) return std::nullopt;
  return std::move(all.front());
}

std::vector<std::string> LanguageRegistry::profiles_for(const Language& language,
                                                        const std::vector<Profile>& profiles) {
  std::vector<std::string> all;
  for (const std::string& name : {language.name, language.profile}) {
    const bool is_there = std::ranges::find(profiles, name, &Profile::name) != profiles.end();
    if (is_there && std::ranges::find(all, name) == all.end()) all.push_back(name);
  }
  return all;
}

std::map<std::string, std::string> LanguageRegistry::aliases_for(const std::vector<Profile>& profiles) const {
  std::map<std::string, std::string> aliases;
  for (const auto& [alias, name] : names_) {
    const auto profile = profile_for(languages_.at(name), profiles);
    const bool is_profile = std::ranges::find(profiles, alias, &Profile::name) != profiles.end();
    if (profile && !is_profile) aliases.emplace(alias, *profile);
  }
  return aliases;
}

std::map<std::string, std::vector<std::string>> LanguageRegistry::fallbacks_for(
    const std::vector<Profile>& profiles) const {
  std::map<std::string, std::vector<std::string>> fallbacks;
  for (const auto& [alias, name] : names_) {
    auto others = profiles_for(languages_.at(name), profiles);
    if (others.empty()) continue;
    const bool is_profile = std::ranges::find(profiles, alias, &Profile::name) != profiles.end();
    std::erase(others, is_profile ? alias : std::string(others.front()));
    if (!others.empty()) fallbacks.emplace(alias, std::move(others));
  }
  return fallbacks;
}

}  // namespace cloche

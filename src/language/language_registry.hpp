// All languages: the shipped ones, with those of a configuration over them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "auth/access_table.hpp"
#include "cloche/language.hpp"
#include "config/section.hpp"
#include "core/result.hpp"

namespace cloche {

// The wording of the error for an unknown language: two kinds of clients expect different messages.
enum class UnknownLanguage {
  unsupported,    // Unsupported language: x
  not_supported,  // The programming language 'x' is not currently supported.
};

class LanguageRegistry {
 public:
  // `changes` is the content of `languages:` in a configuration. A language with the name of a built-in one changes it,
  // key by key; others are added. Errors contain file, line and key.
  static Result<LanguageRegistry> create(const std::optional<config::Part>& changes = {});

  const std::map<std::string, Language>& all() const { return languages_; }

  // By name or alias, case-insensitive. The error lists the known languages.
  Result<Language> find(std::string_view name, UnknownLanguage wording = UnknownLanguage::unsupported) const;

  // The same, limited to the languages of the tenant: others are reported as unknown and not listed.
  Result<Language> find_for(const auth::AccessTable& access, std::string_view tenant, std::string_view name) const;
  // Whether it is built in, changed by a configuration or not.
  bool is_shipped(const std::string& name) const { return shipped_.contains(name); }

  // By the extension of a file name; the longest match wins.
  Result<Language> find_for_file(std::string_view file_name) const;

  // Where a language runs: in the profile of its own name if there is one, else in the one it names; none if there is
  // neither.
  static std::optional<std::string> profile_for(const Language& language, const std::vector<Profile>& profiles);

  // The profiles that there are for a language, the one it prefers first.
  static std::vector<std::string> profiles_for(const Language& language, const std::vector<Profile>& profiles);

  // Every name and alias of a language, lower case, to the profile it runs in; names that are profiles are left out.
  std::map<std::string, std::string> aliases_for(const std::vector<Profile>& profiles) const;
  // Maps names and aliases to their fallback if their profile does not exist; see pool::Tenancy.
  std::map<std::string, std::vector<std::string>> fallbacks_for(const std::vector<Profile>& profiles) const;

 private:
  Status index();
  std::string names(const std::function<bool(const std::string&)>& is_there) const;

  std::map<std::string, Language> languages_;
  std::set<std::string> shipped_;
  std::map<std::string, std::string> names_;  // and aliases, to names
};

}  // namespace cloche

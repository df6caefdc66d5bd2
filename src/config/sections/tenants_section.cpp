#include "config/sections/tenants_section.hpp"

#include "auth/names.hpp"
#include "config/text.hpp"

namespace cloche::config {

namespace {

constexpr std::string_view tenants_key = "tenants";

bool is_all(std::string_view word) { return word == "all"; }

auth::AccessList read_list(Section& section) {
  std::vector<std::string> names;
  section.texts(tenants_key, names);
  auth::AccessList::Tenants tenants;
  for (std::string& name : names) {
    if (is_all(name)) {
      section.refuse(tenants_key, "`all` must not be in a list: write `tenants: all`");
    } else if (!auth::is_valid_name(name)) {
      section.refuse(tenants_key, shown(name) + " is not a valid tenant name");
    } else if (!tenants.insert(std::move(name)).second) {
      section.refuse(tenants_key, "a tenant is listed twice");
    }
  }
  return auth::AccessList(std::move(tenants));
}

}  // namespace

std::optional<auth::AccessList> read_tenants(Section& section) {
  if (section.kind(tenants_key) == YamlNode::Kind::list) return read_list(section);
  std::string word;
  section.text(tenants_key, word, "a list of tenants, or `all`", is_all);
  if (is_all(word)) return auth::AccessList::all();
  return std::nullopt;
}

}  // namespace cloche::config

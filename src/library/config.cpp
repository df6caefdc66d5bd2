#include "cloche/config.hpp"

#include "config/config.hpp"
#include "language/language_registry.hpp"
#include "library/throwing.hpp"

namespace cloche {

ManagerOptions load_config(const std::string& path) {
  auto config = value_or_throw(config::read_config(path, config::process_environment()));
  const auto languages = value_or_throw(LanguageRegistry::create(config.languages));
  config.manager.aliases = languages.aliases_for(config.manager.profiles);
  return std::move(config.manager);
}

}  // namespace cloche

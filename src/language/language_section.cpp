#include "language/language_section.hpp"

#include <algorithm>
#include <cctype>

#include "config/sections/profile_section.hpp"
#include "config/text.hpp"
#include "core/text.hpp"
#include "language/language.hpp"
#include "sandbox/limits.hpp"

namespace cloche {

namespace {

using config::Section;
using namespace std::chrono_literals;

// Sets the value only if the key exists; `read` is called in any case, so that the key is known.
template <class T, class Read>
void read_optional(Section& section, const char* key, std::optional<T>& value, Read read) {
  T given{};
  read(key, given);
  if (section.has(key)) value = given;
}

void read_step_limits(Section& section, StepLimits& limits) {
  const auto duration = [&](const char* key, std::chrono::milliseconds& value) {
    section.duration(key, value, {1ms, 24h});
  };
  const auto size = [&](const char* key, Bytes& value) { section.size(key, value); };
  const auto whole = [&](const char* key, std::uint32_t& value) { section.whole(key, value, {}); };
  read_optional(section, "wall", limits.wall, duration);
  read_optional(section, "cpu", limits.cpu, duration);
  read_optional(section, "memory", limits.memory, size);
  read_optional(section, "pids", limits.pids, whole);
  read_optional(section, "file_size", limits.file_size, size);
  read_optional(section, "output", limits.output, size);

  LimitOverrides overrides;
  overrides.memory = limits.memory;
  overrides.pids = limits.pids;
  overrides.file_size = limits.file_size;
  section.check(validate(overrides.over({})));
}

void read_command(Section& section, const char* key, std::vector<std::string>& command) {
  section.texts(key, command);
  for (const std::string& argument : command) {
    if (auto valid = validate_template(argument, TemplateOf::command); !valid) {
      section.refuse(key, valid.error().message);
    }
  }
  if (!command.empty() && command.front().empty()) section.refuse(key, "program is empty");
}

void read_tool(Section& section, std::vector<Tool>& toolchain) {
  Tool tool;
  section.text("program", tool.program);
  section.text("package", tool.package);
  if (tool.program.empty()) section.refuse("program is required");
  toolchain.push_back(std::move(tool));
}

bool is_extension(std::string_view text) {
  return text.size() >= 2 && text.size() <= 16 && text.front() == '.' &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '+'; });
}

void read_names(Section& section, Language& language) {
  section.text("title", language.title);
  section.texts("aliases", language.aliases);
  for (std::string& alias : language.aliases) {
    alias = lower(alias);
    if (!is_language_name(alias)) section.refuse("aliases", config::shown(alias) + " is not a valid language name");
  }
  section.text("profile", language.profile, "the name of a profile", config::is_profile_name);
  section.text("image", language.image);
}

void read_source(Section& section, Language& language) {
  section.texts("extensions", language.extensions);
  for (const std::string& extension : language.extensions) {
    if (!is_extension(extension)) {
      section.refuse("extensions", config::shown(extension) + " is not an extension such as .py");
    }
  }
  section.text("file", language.file);
  section.text("prefix", language.prefix);
  section.choice("class_from", language.class_from, {{"nothing", ClassFrom::nothing}, {"java", ClassFrom::java}});
}

// Defaults of a new language, and required properties.
void complete(Section& section, Language& language) {
  if (language.title.empty()) language.title = language.name;
  if (language.profile.empty() && config::is_profile_name(language.name)) language.profile = language.name;
  if (language.file.empty() && !language.extensions.empty()) language.file = "main" + language.extensions.front();
  if (language.profile.empty())
    section.refuse("requires `profile`, because the language name is not a valid profile name");
  if (language.run.empty()) section.refuse("requires `run`, the command that runs a program");
  if (language.file.empty()) return section.refuse("requires `file`, or `extensions` to name the main source file");
  auto names = validate_template(language.file, TemplateOf::file);
  if (names) names = validate_file_name(names_of(language, "")->file);
  if (!names) section.refuse("file", names.error().message);
}

}  // namespace

bool is_language_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 && std::ranges::all_of(text, [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) ||
           std::string_view("_+#.-").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

void read_language(Section& section, Language& language) {
  read_names(section, language);
  read_source(section, language);
  read_command(section, "compile", language.compile);
  read_command(section, "run", language.run);
  read_command(section, "arguments", language.arguments);
  config::read_variables(section, "env", language.env);
  section.text("module_path", language.module_path, "the name of a variable", config::is_variable_name);
  section.section("compile_limits", [&](Section& limits) { read_step_limits(limits, language.compile_limits); });
  section.section("run_limits", [&](Section& limits) { read_step_limits(limits, language.run_limits); });
  section.section("zygote", [&](Section& zygote) { language.zygote = config::read_zygote(zygote); });
  if (section.has("toolchain")) language.toolchain.clear();
  section.list("toolchain", [&](Section& tool) { read_tool(tool, language.toolchain); });
  section.text("missing", language.missing);
  complete(section, language);
}

}  // namespace cloche

#include "config/sections/service_sections.hpp"

#include "config/sections/limits_section.hpp"
#include "config/sections/profile_section.hpp"
#include "pattern/path_filter.hpp"

namespace cloche::config {

using namespace std::chrono_literals;

namespace {

void read_artifacts(Section& section, ChangeRules& rules) {
  section.choice("ignore", rules.usual, {{"default", ChangeRules::Usual::ignored}, {"none", ChangeRules::Usual::told}});
  const auto read_patterns = [&](std::string_view key, std::vector<std::string>& patterns) {
    section.texts(key, patterns);
    if (auto compiled = PathFilter::compile(patterns, key); !compiled) {
      section.refuse(key, compiled.error().message);
    }
  };
  read_patterns("include", rules.include);
  read_patterns("exclude", rules.exclude);
}

}  // namespace

void read_sessions(Section& section, Bytes most_disk, SessionSettings& settings) {
  section.text("profile", settings.profile, "a profile name", is_profile_name);
  std::chrono::milliseconds idle = settings.idle_timeout;
  section.duration("idle_timeout", idle, {1s});
  settings.idle_timeout = std::chrono::ceil<std::chrono::seconds>(idle);
  std::chrono::milliseconds paused = settings.paused_timeout;
  section.duration("paused_timeout", paused, {1s});
  settings.paused_timeout = std::chrono::ceil<std::chrono::seconds>(paused);
  section.whole("most", settings.most, {0, most_sessions});
  section.duration("terminal_timeout", settings.terminal_timeout, {1s});
  section.duration("terminal_idle_timeout", settings.terminal_idle_timeout, {1s});
  Bytes memory;
  section.size("memory", memory);
  if (section.has("memory")) settings.memory = memory;
  using Workspace = std::optional<WorkspaceKind>;
  section.choice<Workspace>("workspace", settings.workspace,
                            {{"auto", std::nullopt}, {"memory", WorkspaceKind::memory}, {"disk", WorkspaceKind::disk}});
  settings.disk_size = read_disk_size(section, most_disk);
  section.section("max_limits", [&](Section& limits) { read_max_limits(limits, settings.max_limits); });
  section.section("artifacts", [&](Section& artifacts) { read_artifacts(artifacts, settings.artifacts); });
}

void read_snapshots(Section& section, SnapshotSettings& settings) { section.size("max_size", settings.max_size); }

void read_log(Section& section, LogSettings& settings) {
  section.choice<std::string>(
      "level", settings.level,
      {{"trace", "trace"}, {"debug", "debug"}, {"info", "info"}, {"warn", "warn"}, {"error", "error"}, {"off", "off"}});
  section.choice("format", settings.form,
                 {{"auto", LogForm::automatic}, {"text", LogForm::text}, {"json", LogForm::json}});
}

}  // namespace cloche::config

#include "cli/volume_flags.hpp"

#include "core/utf8.hpp"
#include "library/throwing.hpp"
#include "sandbox/volume_targets.hpp"

namespace cloche::cli {

Result<boost::json::object> parse_volume(const std::string& text) {
  const auto invalid = [&] {
    return fail(ErrorCode::invalid_argument, "invalid volume '" + to_utf8(text) +
                                                 "'; expected NAME, NAME:PATH or NAME:PATH:ro, with an absolute path");
  };
  if (!is_utf8(text)) return invalid();
  std::string rest = text;
  boost::json::object volume;
  const bool is_read_only = rest.ends_with(":ro");
  volume["access"] = is_read_only ? "read_only" : "read_write";
  if (is_read_only || rest.ends_with(":rw")) rest.resize(rest.size() - 3);
  const auto colon = rest.find(':');
  volume["name"] = rest.substr(0, colon);
  if (colon == 0 || rest.empty()) return invalid();
  const std::string usual = std::string(volumes_directory) + "/" + rest;
  const std::string path = colon == rest.npos ? usual : rest.substr(colon + 1);
  if (!path.starts_with('/')) return invalid();
  volume["target"] = path;
  return volume;
}

void VolumeFlags::add_to(CLI::App& command) {
  command
      .add_option("--volume", texts,
                  "Create the session with this volume: NAME, NAME:PATH or NAME:PATH:ro (default path: /volumes/NAME); "
                  "may be repeated")
      ->type_name("VOLUME")
      ->allow_extra_args(false);
}

boost::json::array VolumeFlags::volumes() const {
  boost::json::array all;
  for (const std::string& text : texts) all.push_back(value_or_throw(parse_volume(text)));
  return all;
}

}  // namespace cloche::cli

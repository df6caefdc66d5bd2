// The volumes of a session, as the command line says them.
#pragma once

#include <CLI/App.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace cloche::cli {

// `NAME[:PATH][:ro]`, as the body of a session has it.
Result<boost::json::object> parse_volume(const std::string& text);

struct VolumeFlags {
  std::vector<std::string> texts;

  // --volume
  void add_to(CLI::App& command);
  // Throws for one that cannot be read.
  boost::json::array volumes() const;
};

}  // namespace cloche::cli

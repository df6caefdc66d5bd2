// An outcome as JSON, for --json.
#pragma once

#include <boost/json/object.hpp>

#include "cloche/outcome.hpp"

namespace cloche::cli {

boost::json::object to_json(const Outcome& outcome);

// One sentence for people: `killed: more than 128 MiB of memory`. Empty for a program that just exited.
std::string describe(const Outcome& outcome);

}  // namespace cloche::cli

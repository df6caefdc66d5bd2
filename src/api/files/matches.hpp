// Answers of /grep and /glob: what the agent found, as JSON with paths below the workspace.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "sandbox/files.hpp"

namespace cloche::api {

// Whether the asked path is a directory, whose matches are below it, or the one file that was searched.
enum class Searched { directory, file };

// Lines around a match are returned with it, even if they match themselves, so a line may be returned more than once.
// The text of all lines is limited; if it is too much, the response ends early and `truncated` is true.
boost::json::object matches_to_json(const GrepResult& found, std::string_view path, Searched searched,
                                    std::uint32_t context);

boost::json::object entries_to_json(const EntryList& found, std::string_view path, Searched searched);

std::string_view to_string(FileType type);

}  // namespace cloche::api

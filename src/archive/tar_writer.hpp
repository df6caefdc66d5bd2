// Writes the headers of a tar archive: ustar, with a pax header before an entry that needs one. No I/O here.
#pragma once

#include <string>

#include "archive/tar_format.hpp"

namespace cloche::tar {

// All that stands before an entry's content. The content has to be padded to whole blocks.
std::string header(const Entry& entry);

// The archive's end mark.
std::string end_mark();

}  // namespace cloche::tar

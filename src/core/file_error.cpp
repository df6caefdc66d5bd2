#include "core/file_error.hpp"

#include <cerrno>

#include "core/text.hpp"
#include "core/utf8.hpp"

namespace cloche {

namespace {

constexpr std::size_t most_shown = 240;

Error worded(ErrorCode code, std::string_view where, std::string_view words) {
  std::string message = shown(where);
  if (!message.empty()) message += ": ";
  return Error{code, message.append(words)};
}

}  // namespace

std::string shown(std::string_view name) {
  std::string out;
  // The end of a path says more than its beginning.
  if (name.size() > most_shown) {
    out = "...";
    name.remove_prefix(name.size() - most_shown);
  }
  while (!name.empty()) {
    const Character character = first_character(name);
    if (character.code < 0x20 || character.code == 0x7f || character.code >= invalid_byte) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(name.front()));
    } else {
      out += name.substr(0, character.length);
    }
    name.remove_prefix(character.length);
  }
  return out;
}

Error file_error(int number, std::string_view where) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
      return Error{ErrorCode::limit_reached, "no space left in " + (where.empty() ? "the file system" : shown(where))};
    case EFBIG: return worded(ErrorCode::limit_reached, where, "larger than the file size limit");
    case ENXIO: return worded(ErrorCode::invalid_argument, where, "a socket or a device, not a file");
    case EISDIR: return worded(ErrorCode::invalid_argument, where, "is a directory");
    case ENOTDIR: return worded(ErrorCode::not_found, where, "not a directory");
    case ELOOP:
      return worded(ErrorCode::invalid_argument, where, "too many symbolic links, or one that cannot be followed");
    case EXDEV: return worded(ErrorCode::invalid_argument, where, "on another file system");
    case EBUSY: return worded(ErrorCode::permission_denied, where, "in use, or a mount point");
    case EOVERFLOW: return worded(ErrorCode::limit_reached, where, "too many names to hold in memory");
    case ECANCELED: return worded(ErrorCode::cancelled, where, "cancelled");
    default: {
      Error error = errno_error("", number);
      error.message.erase(0, 2);  // the separator after an empty step
      return where.empty() ? error : std::move(error).at(shown(where));
    }
  }
}

}  // namespace cloche

// stat: what one path is.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "agent/files/operations/attributes.hpp"
#include "agent/files/operations/operations.hpp"
#include "agent/files/tree/entries.hpp"
#include "agent/files/tree/paths.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

Result<wire::FileEntry> stat_of(const Base& base, const CheckedPath& path, const wire::FileRequest& request) {
  // A link that a slash follows is always followed.
  if (!request.follow && !path.wants_directory && !path.components.empty()) {
    CLOCHE_TRY(const Place place, base.place(path));
    auto entry = describe(place.parent.get(), place.name.c_str(), request.path);
    if (!entry) return fail_file(entry.error());
    if (request.details) add_details(base, place.parent.get(), place.name.c_str(), path.text(), *entry);
    return std::move(*entry);
  }
  CLOCHE_TRY(const UniqueFd file, base.open(path, O_PATH));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return fail_file(errno);
  wire::FileEntry entry = entry_of(status, request.path);
  if (request.details) entry.attributes = read_attributes(file.get());
  return entry;
}

}  // namespace

Status stat_file(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(wire::FileEntry entry, stat_of(base, path, request));
  wire::FileReply reply{.done = true};
  reply.entries.push_back(std::move(entry));
  return io.reply(reply);
}

}  // namespace cloche::agent

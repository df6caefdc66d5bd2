// tar_in: unpacks an archive below a directory, all of it or nothing.
//
// The archive is first unpacked to a hidden directory inside the destination. Its names are moved to their places only
// when it is complete and nothing conflicts.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "agent/files/operations/operations.hpp"
#include "agent/files/operations/pending_file.hpp"
#include "agent/files/operations/unpacker.hpp"
#include "agent/files/streams.hpp"
#include "agent/files/tree/merge_tree.hpp"
#include "agent/files/tree/parents.hpp"
#include "agent/files/tree/remove_tree.hpp"
#include "archive/tar_reader.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

constexpr std::uint64_t default_entries = 100'000;

// A hidden directory in the destination, removed with all its content whatever happens.
class Staging {
 public:
  static Result<Staging> make(int parent) {
    std::string name = temporary_name();
    if (::mkdirat(parent, name.c_str(), 0700) != 0) return fail_file(errno, "the destination");
    return Staging(parent, std::move(name));
  }
  Staging(Staging&& other) noexcept : parent_(other.parent_), name_(std::exchange(other.name_, {})) {}
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    if (!name_.empty()) remove_tree(parent_, name_, WhenCancelled::go_on);
  }

  Result<TreeCursor> enter() const {
    UniqueFd fd(::openat(parent_, name_.c_str(), open_reading | O_NOFOLLOW));
    if (!fd) return fail_file(errno, name_);
    auto cursor = TreeCursor::at(std::move(fd));
    if (!cursor) return fail_file(cursor.error(), name_);
    return std::move(*cursor);
  }

 private:
  Staging(int parent, std::string name) : parent_(parent), name_(std::move(name)) {}
  int parent_;
  std::string name_;
};

// Feeds all of the content through the reader to the unpacker.
Status unpack(int in, Unpacker& unpacker) {
  tar::Reader reader;
  ContentReader content(in);
  for (;;) {
    CLOCHE_TRY(const std::string_view chunk, content.next());
    if (chunk.empty()) break;
    reader.feed(chunk);
    for (auto event = tar::Reader::Event::end; event != tar::Reader::Event::more;) {
      CLOCHE_TRY(event, reader.next());
      if (event == tar::Reader::Event::entry) CLOCHE_CHECK(unpacker.add(reader.entry()));
      if (event == tar::Reader::Event::data) CLOCHE_CHECK(unpacker.data(reader.data()));
    }
  }
  CLOCHE_CHECK(reader.finish());
  return unpacker.finish();
}

}  // namespace

Status unpack_tar(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  MadeDirectories made;
  if (request.parents) {
    CLOCHE_TRY(made, make_directories(base, path.components));
  }
  CLOCHE_TRY(const UniqueFd destination, base.open(path, open_reading | O_DIRECTORY));
  wire::FileReply reply{.done = true};
  {
    CLOCHE_TRY(const Staging staging, Staging::make(destination.get()));
    CLOCHE_TRY(TreeCursor cursor, staging.enter());
    const UniqueFd staged(::fcntl(cursor.fd(), F_DUPFD_CLOEXEC, 0));
    Unpacker unpacker(std::move(cursor), destination.get(),
                      {.bytes = request.max_bytes,
                       .entries = request.max_entries == 0 ? default_entries : request.max_entries,
                       .no_mode = request.keep_modes ? UnpackLimits::NoMode::keeps : UnpackLimits::NoMode::is_zero});
    CLOCHE_CHECK(unpack(io.in, unpacker));
    const auto read_only = request.force ? ReadOnlyFiles::replace : ReadOnlyFiles::keep;
    CLOCHE_CHECK(merge_tree(staged.get(), destination.get(), Merge::check, read_only));
    auto merged = merge_tree(staged.get(), destination.get(), Merge::move, read_only);
    if (!merged) return fail(std::move(merged).error().at("part of the archive may already have been unpacked"));
    reply.bytes = unpacker.bytes();
    reply.files = unpacker.entries();
  }
  made.keep();
  return io.reply(reply);
}

}  // namespace cloche::agent

#include "backend/oci/image/layer_reader.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <cerrno>

#include "crypto/sha256.hpp"

namespace cloche::oci {

namespace {

struct ArchiveFree {
  void operator()(archive* a) const { archive_read_free(a); }
};
using ArchivePtr = std::unique_ptr<archive, ArchiveFree>;

std::string text_or_empty(const char* text) { return text == nullptr ? std::string() : std::string(text); }

}  // namespace

// Two readers in a row: the first only unpacks, the second understands tar. Between them all bytes are counted and
// summed up, which a single one would not let us do.
struct LayerReader::State {
  UniqueFd file;
  std::string name;
  Bytes most;
  CancelToken token;
  Sha256 sum;
  std::uint64_t unpacked = 0;
  Status trouble;  // of the first reader, reported by the second
  ArchivePtr packed;
  ArchivePtr tar;

  State(UniqueFd f, std::string n, Bytes m, CancelToken w)
      : file(std::move(f)), name(std::move(n)), most(m), token(std::move(w)) {}

  std::unexpected<Error> bad(archive* reader, std::string_view step) const {
    if (!trouble) return fail(trouble.error());
    return fail(ErrorCode::invalid_argument,
                std::string(step) + " " + name + ": " + text_or_empty(archive_error_string(reader)));
  }

  // The next unpacked bytes; none at the end, nothing on trouble.
  std::optional<std::string_view> pull() {
    trouble = token.check("unpack " + name);
    if (!trouble) return std::nullopt;
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int code = archive_read_data_block(packed.get(), &block, &size, &offset);
    if (code == ARCHIVE_EOF) return std::string_view();
    if (code != ARCHIVE_OK) {
      trouble = fail(ErrorCode::invalid_argument,
                     "unpack " + name + ": " + text_or_empty(archive_error_string(packed.get())));
      return std::nullopt;
    }
    unpacked += size;
    if (unpacked > most.count) {
      trouble = fail(ErrorCode::limit_reached, name + " is larger than " + to_string(most) + " after unpacking");
      return std::nullopt;
    }
    const std::string_view bytes(static_cast<const char*>(block), size);
    sum.update(bytes);
    return bytes;
  }

  static la_ssize_t on_read(archive* reader, void* self, const void** buffer) {
    const auto bytes = static_cast<State*>(self)->pull();
    if (!bytes) {
      archive_set_error(reader, EIO, "cannot be unpacked");
      return -1;
    }
    *buffer = bytes->data();
    return static_cast<la_ssize_t>(bytes->size());
  }
};

LayerReader::LayerReader() = default;
LayerReader::~LayerReader() = default;

Result<std::unique_ptr<LayerReader>> LayerReader::open(UniqueFd file, std::string name, Bytes most, CancelToken token) {
  std::unique_ptr<LayerReader> reader(new LayerReader);
  reader->state_ = std::make_unique<State>(std::move(file), std::move(name), most, std::move(token));
  State& state = *reader->state_;
  state.packed.reset(archive_read_new());
  // One by one: "all" would let an archive start programs of the host that unpack it.
  archive_read_support_filter_gzip(state.packed.get());
  archive_read_support_filter_zstd(state.packed.get());
  archive_read_support_filter_xz(state.packed.get());
  archive_read_support_filter_bzip2(state.packed.get());
  archive_read_support_format_raw(state.packed.get());
  archive_read_support_format_empty(state.packed.get());
  archive_entry* ignored = nullptr;
  if (archive_read_open_fd(state.packed.get(), state.file.get(), 1 << 17) != ARCHIVE_OK)
    return state.bad(state.packed.get(), "open");
  const int code = archive_read_next_header(state.packed.get(), &ignored);
  if (code != ARCHIVE_OK && code != ARCHIVE_EOF) return state.bad(state.packed.get(), "open");
  if (code == ARCHIVE_EOF) return fail(ErrorCode::invalid_argument, state.name + " is empty and not an archive");

  state.tar.reset(archive_read_new());
  archive_read_support_format_tar(state.tar.get());
  archive_read_support_format_gnutar(state.tar.get());
  if (archive_read_open(state.tar.get(), &state, nullptr, State::on_read, nullptr) != ARCHIVE_OK) {
    return state.bad(state.tar.get(), "open");
  }
  return reader;
}

Result<std::optional<LayerEntry>> LayerReader::next() {
  archive_entry* found = nullptr;
  const int code = archive_read_next_header(state_->tar.get(), &found);
  if (code == ARCHIVE_EOF) return std::nullopt;
  // A warning is about names in another character set; they are used as they are.
  if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return state_->bad(state_->tar.get(), "read");
  LayerEntry entry;
  entry.name = text_or_empty(archive_entry_pathname(found));
  entry.mode = archive_entry_perm(found);
  entry.time = archive_entry_mtime(found);
  entry.size = static_cast<std::uint64_t>(std::max<la_int64_t>(archive_entry_size(found), 0));
  if (const char* target = archive_entry_hardlink(found)) {
    entry.kind = LayerEntry::Kind::hard_link;
    entry.target = target;
  } else if (archive_entry_filetype(found) == AE_IFDIR) {
    entry.kind = LayerEntry::Kind::directory;
  } else if (archive_entry_filetype(found) == AE_IFREG) {
    entry.kind = LayerEntry::Kind::file;
  } else if (archive_entry_filetype(found) == AE_IFLNK) {
    entry.kind = LayerEntry::Kind::link;
    entry.target = text_or_empty(archive_entry_symlink(found));
  }
  return entry;
}

Status LayerReader::write_to(int fd) {
  while (true) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int code = archive_read_data_block(state_->tar.get(), &block, &size, &offset);
    if (code == ARCHIVE_EOF) return {};
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return state_->bad(state_->tar.get(), "read");
    const char* bytes = static_cast<const char*>(block);
    while (size > 0) {
      const ssize_t n = ::pwrite(fd, bytes, size, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail_errno("write what " + state_->name + " contains");
      bytes += n;
      size -= static_cast<std::size_t>(n);
      offset += n;
    }
  }
}

Result<std::string> LayerReader::digest() {
  while (true) {
    const auto bytes = state_->pull();
    if (!bytes) return fail(state_->trouble.error());
    if (bytes->empty()) return state_->sum.hex();
  }
}

Result<std::string> clean_archive_name(std::string_view name) {
  const auto bad = [&](const char* why) {
    return fail(ErrorCode::invalid_argument, "the archive has an entry with an unsafe name (" + std::string(why) +
                                                 "): '" + std::string(name.substr(0, 200)) + "'");
  };
  if (name.size() > 4000) return bad("too long");
  if (name.find('\0') != name.npos) return bad("NUL");
  std::string clean;
  while (!name.empty()) {
    const auto slash = name.find('/');
    const auto part = name.substr(0, slash);
    name.remove_prefix(slash == name.npos ? name.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      return fail(ErrorCode::invalid_argument,
                  "the archive has an entry with an unsafe name: '..' points outside of it");
    }
    if (part.size() > 255) return bad("too long");
    clean += (clean.empty() ? "" : "/") + std::string(part);
  }
  return clean;
}

}  // namespace cloche::oci

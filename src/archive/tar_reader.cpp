#include "archive/tar_reader.hpp"

#include <algorithm>

#include "core/file_error.hpp"

namespace cloche::tar {

namespace {

// The limit of one pax header or long name. Paths and everything else that is read are far shorter.
constexpr std::uint64_t longest_extension = std::uint64_t{1024} * 1024;

bool is_zero(std::string_view block) { return block.find_first_not_of('\0') == std::string_view::npos; }

std::string header_path(std::string_view block) {
  std::string path;
  // GNU's own magic ("ustar  ") uses the prefix field for other things.
  if (bytes_of(block, magic_field).starts_with(std::string_view("ustar\0", 6))) path = text_of(block, prefix_field);
  if (!path.empty()) path += '/';
  return path.append(text_of(block, name_field));
}

}  // namespace

Result<Reader::Event> Reader::next() {
  for (;;) {
    switch (state_) {
      case State::header: {
        if (!take_block()) return Event::more;
        CLOCHE_TRY(const Event event, on_header());
        block_.clear();
        if (event != Event::more) return event;
        break;
      }
      case State::extension: {
        const auto part = input_.substr(0, remaining_);
        extension_.append(part);
        input_.remove_prefix(part.size());
        remaining_ -= part.size();
        if (remaining_ != 0) return Event::more;
        CLOCHE_CHECK(end_extension());
        break;
      }
      case State::content: {
        if (remaining_ == 0) {
          skip_padding(entry_.size);
          break;
        }
        if (input_.empty()) return Event::more;
        data_ = input_.substr(0, remaining_);
        input_.remove_prefix(data_.size());
        remaining_ -= data_.size();
        return Event::data;
      }
      case State::padding: {
        const auto part = std::min<std::uint64_t>(remaining_, input_.size());
        input_.remove_prefix(part);
        remaining_ -= part;
        if (remaining_ != 0) return Event::more;
        state_ = State::header;
        break;
      }
      case State::done: {
        if (input_.empty()) return Event::more;
        input_ = {};
        return Event::end;
      }
    }
  }
}

Status Reader::finish() const {
  // One zero block is enough of an end: nothing of an entry is missing.
  const bool between = state_ == State::header && block_.empty() && zero_block_seen_;
  if (state_ == State::done || between) return {};
  if (!anything_seen_) return fail(ErrorCode::invalid_argument, "the archive is empty and has no end mark");
  if (state_ == State::content)
    return refuse(ErrorCode::invalid_argument, "the archive ends in the middle of an entry");
  return fail(ErrorCode::invalid_argument, "the archive is truncated: it has no end mark");
}

bool Reader::take_block() {
  anything_seen_ = anything_seen_ || !input_.empty();
  const auto part = input_.substr(0, block_size - block_.size());
  block_.append(part);
  input_.remove_prefix(part.size());
  return block_.size() == block_size;
}

Result<Reader::Event> Reader::on_header() {
  if (is_zero(block_)) {
    if (zero_block_seen_) {
      state_ = State::done;
      return Event::end;
    }
    zero_block_seen_ = true;
    return Event::more;
  }
  if (zero_block_seen_) return fail(ErrorCode::invalid_argument, "malformed archive: an entry after a zero block");
  name_ = header_path(block_);
  if (!checksum_holds(block_))
    return fail(ErrorCode::invalid_argument, "not a tar archive, or it is damaged: wrong checksum");
  const char type = block_[type_field.offset];
  if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
    const auto size = number_of(block_, size_field);
    if (!size) return refuse(ErrorCode::invalid_argument, "malformed size");
    CLOCHE_CHECK(start_extension(type, *size));
    return Event::more;
  }
  CLOCHE_CHECK(start_entry(type));
  extensions_ = {};
  state_ = State::content;
  remaining_ = entry_.size;
  return Event::entry;
}

Status Reader::start_extension(char type, std::uint64_t size) {
  if (size > longest_extension)
    return refuse(ErrorCode::limit_reached, "header of " + std::to_string(size) + " bytes is too long");
  state_ = State::extension;
  extension_type_ = type;
  extension_size_ = size;
  extension_.clear();
  remaining_ = size;
  return {};
}

Status Reader::end_extension() {
  switch (extension_type_) {
    case 'x': CLOCHE_CHECK(extensions_.add_pax(extension_)); break;
    case 'L': extensions_.add_gnu_path(extension_); break;
    case 'K': extensions_.add_gnu_link(extension_); break;
    default: break;  // global headers say nothing that is needed
  }
  extension_.clear();
  skip_padding(extension_size_);
  return {};
}

Status Reader::start_entry(char type) {
  const auto& ext = extensions_;
  name_ = ext.path ? *ext.path : ext.gnu_path ? *ext.gnu_path : name_;
  const auto size = ext.size ? ext.size : number_of(block_, size_field);
  const auto mode = number_of(block_, mode_field);
  if (!size || !mode) return refuse(ErrorCode::invalid_argument, "malformed header");
  const auto path = clean_path(name_);
  if (!path) return refuse(ErrorCode::invalid_argument, "absolute names and names with `..` are not allowed");
  entry_ = {.path = *path,
            .link = ext.link       ? *ext.link
                    : ext.gnu_link ? *ext.gnu_link
                                   : std::string(text_of(block_, link_field)),
            .size = *size,
            .mode = static_cast<std::uint32_t>(*mode & 0777),
            // A time before the epoch, which only GNU's form of negative numbers has here, is not worth a refusal.
            .mtime = ext.mtime.value_or(static_cast<std::int64_t>(number_of(block_, mtime_field).value_or(0))),
            .mtime_ns = ext.mtime_ns};
  return set_type(type, name_.ends_with('/'));
}

Status Reader::set_type(char type, bool slash_at_end) {
  switch (type) {
    case '\0':
    case '0':
    case '7':
      // The oldest archives have no type for directories but the slash.
      entry_.type = slash_at_end ? EntryType::directory : EntryType::file;
      break;
    case '1':
      entry_.type = EntryType::hardlink;
      entry_.size = 0;  // some writers repeat the file's size, none its content
      break;
    case '2': entry_.type = EntryType::symlink; break;
    case '5': entry_.type = EntryType::directory; break;
    case '3':
    case '4': return refuse(ErrorCode::unsupported, "devices are not supported");
    case '6': return refuse(ErrorCode::unsupported, "FIFOs are not supported");
    case 'S': return refuse(ErrorCode::unsupported, "sparse files in an archive are not supported");
    default:
      return refuse(ErrorCode::unsupported,
                    std::string("entries of type `") + shown({&type, 1}) + "` are not supported");
  }
  if (entry_.type != EntryType::file && entry_.size != 0)
    return refuse(ErrorCode::invalid_argument, "only files have content");
  if (entry_.type != EntryType::directory && entry_.path.empty())
    return refuse(ErrorCode::invalid_argument, "file without a name");
  if (entry_.type == EntryType::symlink && (entry_.link.empty() || entry_.link.find('\0') != std::string::npos)) {
    return refuse(ErrorCode::invalid_argument, "symbolic link without a valid target");
  }
  if (entry_.type == EntryType::hardlink) {
    auto target = clean_path(entry_.link);
    if (!target || target->empty())
      return refuse(ErrorCode::invalid_argument, "hard link to a name outside the archive");
    entry_.link = std::move(*target);
  }
  return {};
}

std::unexpected<Error> Reader::refuse(ErrorCode code, const std::string& why) const {
  return fail(code, "archive entry `" + shown(name_) + "`: " + why);
}

void Reader::skip_padding(std::uint64_t size) {
  state_ = State::padding;
  remaining_ = padding_after(size);
}

}  // namespace cloche::tar

#include "images/build_context.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <memory>

namespace cloche::images {

namespace {

la_ssize_t append(archive*, void* context, const void* data, std::size_t size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(data), size);
  return static_cast<la_ssize_t>(size);
}

}  // namespace

Result<std::string> make_build_context(const Recipe& recipe) {
  std::string bytes;
  const std::unique_ptr<archive, decltype(&archive_write_free)> tar(archive_write_new(), &archive_write_free);
  const auto failed = [&](const std::string& step) {
    return fail(ErrorCode::internal, "pack " + step + ": " + archive_error_string(tar.get()));
  };
  archive_write_set_format_gnutar(tar.get());
  archive_write_set_bytes_per_block(tar.get(), 0);
  if (archive_write_open(tar.get(), &bytes, nullptr, &append, nullptr) != ARCHIVE_OK) return failed(recipe.name);
  for (const ImageFile& file : recipe.files) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), file.path.c_str());
    archive_entry_set_mode(entry.get(), S_IFREG | 0644);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(file.text.size()));
    // Always the same time, so that the engine's cache knows the same files again.
    archive_entry_set_mtime(entry.get(), 0, 0);
    const bool written =
        archive_write_header(tar.get(), entry.get()) == ARCHIVE_OK &&
        archive_write_data(tar.get(), file.text.data(), file.text.size()) == static_cast<la_ssize_t>(file.text.size());
    if (!written) return failed(file.path);
  }
  if (archive_write_close(tar.get()) != ARCHIVE_OK) return failed(recipe.name);
  return bytes;
}

}  // namespace cloche::images

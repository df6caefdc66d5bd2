#include "backend/oci/image/image_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "backend/oci/draft.hpp"
#include "backend/oci/files.hpp"
#include "backend/oci/image/image_manifest.hpp"
#include "backend/oci/image/layer_reader.hpp"
#include "backend/oci/image/layer_writer.hpp"
#include "core/lock_file.hpp"
#include "core/unique_fd.hpp"
#include "crypto/sha256.hpp"
#include "sandbox/spec.hpp"

namespace cloche::oci {

namespace {

constexpr Bytes most_archive = {std::uint64_t{64} << 30};

Result<UniqueFd> open_directory(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  return fd;
}

Status unpack_archive(const std::string& image, const std::string& into, const CancelToken& token) {
  UniqueFd file(::open(image.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("open " + image);
  CLOCHE_TRY(const auto reader, LayerReader::open(std::move(file), image, most_archive, token));
  CLOCHE_TRY(LayerWriter writer, LayerWriter::open(into));
  return writer.apply(*reader);
}

Status apply_layer(int source, const ImageLayer& layer, LayerWriter& writer, const CancelToken& token) {
  if (!layer.digest.empty()) {
    CLOCHE_TRY(const UniqueFd whole, open_in_image(source, layer.path));
    CLOCHE_TRY(const std::string digest, sha256_hex_of_file("/proc/self/fd/" + std::to_string(whole.get())));
    if (digest != layer.digest) {
      return fail(ErrorCode::invalid_argument, "image: layer " + layer.path + " does not match its digest");
    }
  }
  CLOCHE_TRY(UniqueFd file, open_in_image(source, layer.path));
  CLOCHE_TRY(const auto reader, LayerReader::open(std::move(file), layer.path, most_archive, token));
  CLOCHE_CHECK(writer.apply(*reader));
  CLOCHE_TRY(const std::string unpacked, reader->digest());
  if (unpacked != layer.diff_id) {
    return fail(ErrorCode::invalid_argument,
                "image: layer " + layer.path + " does not match the image's digest after unpacking");
  }
  return {};
}

// Two sources are the same as long as nothing about the file changed.
std::string name_of_source(const std::string& image, const struct stat& about) {
  const std::string text = image + '\0' + std::to_string(about.st_dev) + ' ' + std::to_string(about.st_ino) + ' ' +
                           std::to_string(about.st_size) + ' ' + std::to_string(about.st_mtim.tv_sec) + ' ' +
                           std::to_string(about.st_mtim.tv_nsec) + ' ' + std::to_string(about.st_ctim.tv_sec) + ' ' +
                           std::to_string(about.st_ctim.tv_nsec);
  return sha256_hex(text).substr(0, 32);
}

}  // namespace

ImageStore::ImageStore(std::string directory) : directory_(std::move(directory)) {}

Result<std::string> ImageStore::root_of(const std::string& image, const CancelToken& token) const {
  if (!is_clean_absolute_path(image)) {
    return fail(ErrorCode::invalid_argument,
                "image '" + image +
                    "': this backend requires the absolute path of a root file system directory, of an OCI image "
                    "layout or of a `docker save` archive");
  }
  struct stat about;
  if (::stat(image.c_str(), &about) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return fail(ErrorCode::not_found, "no image at " + image);
    return fail_errno("image " + image);
  }
  if (S_ISDIR(about.st_mode)) {
    if (!path_exists(image + "/oci-layout")) {
      // A link may be swapped at any moment; all mounts of one sandbox must come from the same place.
      std::error_code error;
      auto resolved = std::filesystem::canonical(image, error);
      if (error) return fail(errno_error("image " + image, error.value()));
      return resolved.string();
    }
    return unpack_once(image, Packing::layout, token);
  }
  if (S_ISREG(about.st_mode)) return unpack_once(image, Packing::archive, token);
  return fail(ErrorCode::invalid_argument, "image " + image + " is neither a directory nor a file");
}

Result<std::string> ImageStore::known_root(const std::string& source) const {
  CLOCHE_TRY(const std::string key, read_file(directory_ + "/sources/" + source));
  const std::string root = directory_ + "/" + key + "/rootfs";
  if (!path_exists(root)) return fail(ErrorCode::not_found, "no such root: " + root);
  return root;
}

Result<std::string> ImageStore::unpack_once(const std::string& image, Packing packing, const CancelToken& token) const {
  struct stat about;
  // For a layout, the index changes when the image changes.
  const std::string significant = packing == Packing::archive ? image : image + "/index.json";
  if (::stat(significant.c_str(), &about) != 0) return fail_errno("image " + significant);
  const std::string source = name_of_source(image, about);
  if (auto known = known_root(source)) return known;

  CLOCHE_CHECK(make_directories(directory_, 0711));
  CLOCHE_CHECK(make_directory(directory_ + "/sources", 0700));
  CLOCHE_CHECK(make_directory(directory_ + "/locks", 0700));
  // One caller at a time unpacks a source; others wait and then find it done. This also works across processes.
  CLOCHE_TRY(const UniqueFd locked,
             lock_file(directory_ + "/locks/" + source, "wait for an image that is being unpacked", token));
  if (auto known = known_root(source)) return known;

  CLOCHE_TRY(const Draft draft, Draft::make(directory_, 0711));
  auto key = unpack(image, packing, draft.path(), token);
  if (!key) return fail(std::move(key).error().at("unpack " + image));
  CLOCHE_CHECK(write_file_atomically(directory_ + "/sources/" + source, *key, 0600));
  return directory_ + "/" + *key + "/rootfs";
}

Result<std::string> ImageStore::unpack(const std::string& image, Packing packing, const std::string& draft,
                                       const CancelToken& token) const {
  std::string from = image;
  if (packing == Packing::archive) {
    from = draft + "/archive";
    CLOCHE_CHECK(make_directory(from, 0700));
    CLOCHE_CHECK(unpack_archive(image, from, token));
  }
  CLOCHE_TRY(const UniqueFd source, open_directory(from));
  const bool is_docker = packing == Packing::archive && path_exists(from + "/manifest.json");
  if (!is_docker && !path_exists(from + "/index.json")) {
    return fail(ErrorCode::invalid_argument,
                "it contains neither manifest.json nor index.json: not an image written by `docker save` or an OCI "
                "tool wrote (an archive of plain files must be unpacked to a directory first)");
  }
  CLOCHE_TRY(const ImageDescription description,
             is_docker ? describe_docker_archive(source.get()) : describe_oci_layout(source.get()));
  const std::string place = directory_ + "/" + description.key;
  if (path_exists(place)) return description.key;

  const std::string made = draft + "/image";
  CLOCHE_CHECK(make_directory(made, 0711));
  CLOCHE_CHECK(make_directory(made + "/rootfs", 0755));
  CLOCHE_TRY(LayerWriter writer, LayerWriter::open(made + "/rootfs"));
  for (const ImageLayer& layer : description.layers) CLOCHE_CHECK(apply_layer(source.get(), layer, writer, token));
  if (::rename(made.c_str(), place.c_str()) != 0 && errno != EEXIST && errno != ENOTEMPTY)
    return fail_errno("rename to " + place);
  return description.key;
}

}  // namespace cloche::oci

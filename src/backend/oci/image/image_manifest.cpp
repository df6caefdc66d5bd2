#include "backend/oci/image/image_manifest.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/parse.hpp>

#include "backend/oci/files.hpp"
#include "crypto/sha256.hpp"
#include "json/members.hpp"

namespace cloche::oci {

namespace {

namespace json = boost::json;

constexpr Bytes most_json = mib(16);
constexpr std::string_view index_types[] = {"application/vnd.oci.image.index.v1+json",
                                            "application/vnd.docker.distribution.manifest.list.v2+json"};
#if defined(__x86_64__)
constexpr std::string_view machine = "amd64";
#elif defined(__aarch64__)
constexpr std::string_view machine = "arm64";
#else
#error "the name of this architecture in images is not known"
#endif

std::unexpected<Error> bad(const std::string& what) { return fail(ErrorCode::invalid_argument, "image: " + what); }

Result<std::string> read_in_image(int directory, const std::string& path) {
  CLOCHE_TRY(const UniqueFd fd, open_in_image(directory, path));
  return read_file("/proc/self/fd/" + std::to_string(fd.get()), most_json);
}

Result<std::string> hex_of(std::string_view digest) {
  constexpr std::string_view kind = "sha256:";
  const auto hex = digest.starts_with(kind) ? digest.substr(kind.size()) : std::string_view();
  const bool good = hex.size() == 64 &&
                    std::ranges::all_of(hex, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!good) return bad("'" + std::string(digest.substr(0, 100)) + "' is not a SHA-256 digest");
  return std::string(hex);
}

Result<json::value> parse_json(const std::string& text, const std::string& name) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error) return bad(name + " is not JSON");
  return value;
}

Result<std::string> read_blob(int directory, std::string_view digest) {
  CLOCHE_TRY(const std::string hex, hex_of(digest));
  CLOCHE_TRY(std::string content, read_in_image(directory, "blobs/sha256/" + hex));
  if (sha256_hex(content) != hex) return bad("blob " + hex + " does not match its digest");
  return content;
}

std::string_view text_at(const json::object& object, std::string_view name) {
  return text_member(object, name).value_or("");
}

// Descriptors that name another machine, or none ("unknown": signatures and the like), are not for us.
bool is_for_us(const json::object& descriptor) {
  const json::object* platform = object_member(descriptor, "platform");
  if (platform == nullptr) return true;
  return text_at(*platform, "os") == "linux" && text_at(*platform, "architecture") == machine;
}

// The digest of the one manifest for this machine below an index.
Result<std::string> choose_manifest(int directory, const std::string& index_text, int depth) {
  if (depth > 3) return bad("its indexes are nested too deeply");
  CLOCHE_TRY(const json::value index, parse_json(index_text, "the index"));
  const json::array* manifests = index.is_object() ? array_member(index.get_object(), "manifests") : nullptr;
  if (manifests == nullptr) return bad("the index has no manifests");
  std::vector<const json::object*> ours;
  for (const json::value& each : *manifests) {
    if (each.is_object() && is_for_us(each.get_object())) ours.push_back(&each.get_object());
  }
  const auto digest = [](const json::object* descriptor) { return std::string(text_at(*descriptor, "digest")); };
  if (ours.empty()) return bad("it has no image for linux/" + std::string(machine));
  if (std::ranges::any_of(ours, [&](const json::object* one) { return digest(one) != digest(ours.front()); })) {
    return bad("the layout contains several images; it must contain one");
  }
  const std::string_view type = text_at(*ours.front(), "mediaType");
  if (std::ranges::find(index_types, type) == std::ranges::end(index_types)) return digest(ours.front());
  CLOCHE_TRY(const std::string nested, read_blob(directory, digest(ours.front())));
  return choose_manifest(directory, nested, depth + 1);
}

// Joins the layers' files with the digests of their unpacked content, which the configuration lists.
Result<ImageDescription> with_config(const std::string& config_text, std::vector<ImageLayer> layers) {
  CLOCHE_TRY(const json::value config, parse_json(config_text, "the configuration"));
  const json::object* rootfs = config.is_object() ? object_member(config.get_object(), "rootfs") : nullptr;
  const json::array* ids = rootfs == nullptr ? nullptr : array_member(*rootfs, "diff_ids");
  if (ids == nullptr || ids->size() != layers.size())
    return bad("the configuration does not list the same layers as the manifest");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!(*ids)[i].is_string()) return bad("the configuration lists a layer that is not a digest");
    CLOCHE_TRY(layers[i].diff_id, hex_of((*ids)[i].get_string()));
  }
  return ImageDescription{sha256_hex(config_text), std::move(layers)};
}

}  // namespace

Result<UniqueFd> open_in_image(int directory, const std::string& path) {
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
  if (!fd) return fail_errno("image: open " + path);
  struct stat about;
  if (::fstat(fd.get(), &about) != 0) return fail_errno("image: stat " + path);
  if (!S_ISREG(about.st_mode)) return bad(path + " is not a file");
  return fd;
}

Result<ImageDescription> describe_oci_layout(int directory) {
  CLOCHE_TRY(const std::string index, read_in_image(directory, "index.json"));
  CLOCHE_TRY(const std::string digest, choose_manifest(directory, index, 0));
  CLOCHE_TRY(const std::string manifest_text, read_blob(directory, digest));
  CLOCHE_TRY(const json::value manifest, parse_json(manifest_text, "the manifest"));
  const json::object* fields = manifest.if_object();
  const json::object* config = fields == nullptr ? nullptr : object_member(*fields, "config");
  const json::array* list = fields == nullptr ? nullptr : array_member(*fields, "layers");
  if (config == nullptr || list == nullptr) return bad("the manifest has no configuration or no layers");
  CLOCHE_TRY(const std::string config_text, read_blob(directory, text_at(*config, "digest")));
  std::vector<ImageLayer> layers;
  for (const json::value& each : *list) {
    if (!each.is_object()) return bad("the manifest lists an invalid layer");
    CLOCHE_TRY(const std::string hex, hex_of(text_at(each.get_object(), "digest")));
    layers.push_back({"blobs/sha256/" + hex, hex, {}});
  }
  return with_config(config_text, std::move(layers));
}

Result<ImageDescription> describe_docker_archive(int directory) {
  CLOCHE_TRY(const std::string text, read_in_image(directory, "manifest.json"));
  CLOCHE_TRY(const json::value manifest, parse_json(text, "manifest.json"));
  const json::array* images = manifest.if_array();
  if (images == nullptr || images->empty() || !images->front().is_object()) return bad("manifest.json lists no image");
  if (images->size() > 1) return bad("the archive contains several images; save only one");
  const json::object& image = images->front().get_object();
  const json::array* list = array_member(image, "Layers");
  if (list == nullptr) return bad("manifest.json lists no layers");
  std::vector<ImageLayer> layers;
  for (const json::value& each : *list) {
    if (!each.is_string()) return bad("manifest.json lists an invalid layer");
    layers.push_back({std::string(each.get_string()), {}, {}});
  }
  CLOCHE_TRY(const std::string config, read_in_image(directory, std::string(text_at(image, "Config"))));
  return with_config(config, std::move(layers));
}

}  // namespace cloche::oci

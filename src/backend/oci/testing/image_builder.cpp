#include "backend/oci/testing/image_builder.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "backend/oci/files.hpp"
#include "crypto/sha256.hpp"

namespace cloche::oci {

namespace {

namespace json = boost::json;

la_ssize_t append(archive*, void* into, const void* bytes, std::size_t size) {
  static_cast<std::string*>(into)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

void put(const std::string& path, const std::string& content) { ASSERT_TRUE(write_file(path, content, 0644)) << path; }

}  // namespace

TarBuilder& TarBuilder::file(const std::string& name, const std::string& content, int mode) {
  entries_.push_back({'f', name, content, mode});
  return *this;
}

TarBuilder& TarBuilder::directory(const std::string& name, int mode) {
  entries_.push_back({'d', name, {}, mode});
  return *this;
}

TarBuilder& TarBuilder::link(const std::string& name, const std::string& target) {
  entries_.push_back({'l', name, target, 0777});
  return *this;
}

TarBuilder& TarBuilder::hard_link(const std::string& name, const std::string& target) {
  entries_.push_back({'h', name, target, 0644});
  return *this;
}

TarBuilder& TarBuilder::device(const std::string& name) {
  entries_.push_back({'c', name, {}, 0666});
  return *this;
}

std::string TarBuilder::bytes() const {
  std::string result;
  archive* out = archive_write_new();
  archive_write_set_format_gnutar(out);
  archive_write_open(out, &result, nullptr, append, nullptr);
  for (const Entry& entry : entries_) {
    archive_entry* header = archive_entry_new();
    archive_entry_set_pathname(header, entry.name.c_str());
    archive_entry_set_perm(header, static_cast<mode_t>(entry.mode));
    archive_entry_set_filetype(header, entry.kind == 'd'   ? AE_IFDIR
                                       : entry.kind == 'l' ? AE_IFLNK
                                       : entry.kind == 'c' ? AE_IFCHR
                                                           : AE_IFREG);
    if (entry.kind == 'f') archive_entry_set_size(header, static_cast<la_int64_t>(entry.content.size()));
    if (entry.kind == 'l') archive_entry_set_symlink(header, entry.content.c_str());
    if (entry.kind == 'h') archive_entry_set_hardlink(header, entry.content.c_str());
    EXPECT_EQ(archive_write_header(out, header), ARCHIVE_OK) << archive_error_string(out);
    if (entry.kind == 'f') archive_write_data(out, entry.content.data(), entry.content.size());
    archive_entry_free(header);
  }
  archive_write_close(out);
  archive_write_free(out);
  return result;
}

std::string gzip(const std::string& bytes) {
  std::string result;
  archive* out = archive_write_new();
  archive_write_add_filter_gzip(out);
  archive_write_set_format_raw(out);
  archive_write_open(out, &result, nullptr, append, nullptr);
  archive_entry* header = archive_entry_new();
  archive_entry_set_filetype(header, AE_IFREG);
  archive_write_header(out, header);
  archive_write_data(out, bytes.data(), bytes.size());
  archive_entry_free(header);
  archive_write_close(out);
  archive_write_free(out);
  return result;
}

TarBuilder& ImageBuilder::layer() { return layers_.emplace_back(); }

ImageBuilder& ImageBuilder::lie_about_layers() {
  lies_ = true;
  return *this;
}

std::string ImageBuilder::config() const {
  json::array ids;
  for (const TarBuilder& layer : layers_) ids.emplace_back("sha256:" + sha256_hex(lies_ ? "a lie" : layer.bytes()));
  return json::serialize(
      json::object{{"os", "linux"}, {"rootfs", json::object{{"type", "layers"}, {"diff_ids", std::move(ids)}}}});
}

void ImageBuilder::write_docker_archive(const std::string& path) const {
  TarBuilder archive;
  json::array names;
  for (const TarBuilder& layer : layers_) {
    const std::string name = std::to_string(names.size()) + "/layer.tar";
    archive.file(name, layer.bytes());
    names.emplace_back(name);
  }
  archive.file("config.json", config());
  json::object image = {{"Config", "config.json"}, {"RepoTags", json::array()}, {"Layers", std::move(names)}};
  json::array manifest;
  manifest.push_back(std::move(image));
  archive.file("manifest.json", json::serialize(manifest));
  put(path, archive.bytes());
}

void ImageBuilder::write_oci_layout(const std::string& directory) const {
  const std::string blobs = directory + "/blobs/sha256";
  ASSERT_TRUE(make_directories(blobs, 0755));
  const auto blob = [&](const std::string& content) {
    const std::string digest = sha256_hex(content);
    put(blobs + "/" + digest, content);
    return json::object{{"digest", "sha256:" + digest}, {"size", content.size()}};
  };
  json::array layers;
  for (const TarBuilder& layer : layers_) layers.push_back(blob(gzip(layer.bytes())));
  json::object manifest = {{"schemaVersion", 2}, {"config", blob(config())}, {"layers", std::move(layers)}};
  json::array manifests;
  manifests.push_back(blob(json::serialize(manifest)));
  put(directory + "/index.json",
      json::serialize(json::object{{"schemaVersion", 2}, {"manifests", std::move(manifests)}}));
  put(directory + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
}

}  // namespace cloche::oci

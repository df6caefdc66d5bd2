// Builds images for tests: layers entry by entry, hostile ones too, written as `docker save` or an OCI tool would.
#pragma once

#include <deque>
#include <string>
#include <vector>

namespace cloche::oci {

// A tar archive, in memory. Entries are written as they are given.
class TarBuilder {
 public:
  TarBuilder& file(const std::string& name, const std::string& content, int mode = 0644);
  TarBuilder& directory(const std::string& name, int mode = 0755);
  TarBuilder& link(const std::string& name, const std::string& target);
  TarBuilder& hard_link(const std::string& name, const std::string& target);
  TarBuilder& device(const std::string& name);

  std::string bytes() const;

 private:
  struct Entry {
    char kind;
    std::string name;
    std::string content;
    int mode;
  };
  std::vector<Entry> entries_;
};

std::string gzip(const std::string& bytes);

class ImageBuilder {
 public:
  // The next layer, on top of those before.
  TarBuilder& layer();
  // The digests in the image will not be those of its content.
  ImageBuilder& lie_about_layers();

  void write_docker_archive(const std::string& path) const;
  void write_oci_layout(const std::string& directory) const;

 private:
  std::string config() const;

  std::deque<TarBuilder> layers_;
  bool lies_ = false;
};

}  // namespace cloche::oci

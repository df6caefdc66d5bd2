#include "backend/docker/image/image_reference.hpp"

#include <algorithm>
#include <cctype>

namespace cloche::docker {

namespace {

bool is_made_of(std::string_view text, std::string_view punctuation) {
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) || punctuation.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_repository(std::string_view text) {
  if (!is_made_of(text, "._/:-") || !std::isalnum(static_cast<unsigned char>(text.front())) || text.ends_with('/'))
    return false;
  return text.find("//") == text.npos && text.find("..") == text.npos;
}

}  // namespace

Result<ImageReference> parse_image_reference(std::string_view text) {
  ImageReference reference{std::string(text), "latest"};
  const auto at = text.find('@');
  const auto colon = text.rfind(':');
  if (at != text.npos) {
    reference = {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
    // name:tag@digest: the digest decides.
    const auto tag = reference.repository.rfind(':');
    if (tag != std::string::npos && reference.repository.find('/', tag) == std::string::npos)
      reference.repository.resize(tag);
  } else if (colon != text.npos && text.find('/', colon) == text.npos) {
    // A colon before a slash is a registry's port.
    reference = {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
  }
  if (text.size() <= 512 && is_repository(reference.repository) && is_made_of(reference.tag, "._-:")) return reference;
  return fail(ErrorCode::invalid_argument, text.empty()
                                               ? "the docker backend requires an image, such as python:3.12-slim"
                                               : "invalid image name: '" + std::string(text.substr(0, 200)) + "'");
}

}  // namespace cloche::docker

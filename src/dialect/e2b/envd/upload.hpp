// Upload: the body of POST /files, decoded, as the source of files.
#pragma once

#include <optional>
#include <string>

#include "dialect/e2b/envd/multipart.hpp"
#include "http/gunzip.hpp"
#include "http/server/exchange.hpp"

namespace cloche::dialect::e2b {

// The body without its coding: none, or gzip.
class UploadBody {
 public:
  enum class Coding { identity, gzip };

  UploadBody(http::Exchange& exchange, Coding coding);
  // The next piece; empty at the end. `invalid_argument` for a body that is not what its coding says.
  Task<Result<std::string>> next();

 private:
  http::Exchange& exchange_;
  std::optional<http::Gunzip> gunzip_;
};

// `unsupported` for other codings.
Result<UploadBody::Coding> coding_of(std::string_view content_encoding);

// The parts of a body that is multipart/form-data, one after the other.
class UploadParts {
 public:
  UploadParts(UploadBody& body, std::string_view boundary) : body_(body), reader_(boundary) {}

  // The next part, whether the last one was read or not; nullopt after the last one.
  Task<Result<std::optional<MultipartReader::PartBegins>>> next();
  // The next piece of the part; empty at its end.
  Task<Result<std::string>> data();

 private:
  Task<Result<MultipartReader::Event>> event();

  UploadBody& body_;
  MultipartReader reader_;
};

}  // namespace cloche::dialect::e2b

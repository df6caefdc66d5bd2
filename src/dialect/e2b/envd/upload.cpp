#include "dialect/e2b/envd/upload.hpp"

#include "core/text.hpp"

namespace cloche::dialect::e2b {

Result<UploadBody::Coding> coding_of(std::string_view content_encoding) {
  if (content_encoding.empty() || same_word(content_encoding, "identity")) return UploadBody::Coding::identity;
  if (same_word(content_encoding, "gzip")) return UploadBody::Coding::gzip;
  return fail(ErrorCode::unsupported, "unsupported Content-Encoding: " + std::string(content_encoding));
}

UploadBody::UploadBody(http::Exchange& exchange, Coding coding) : exchange_(exchange) {
  if (coding == Coding::gzip) gunzip_.emplace();
}

Task<Result<std::string>> UploadBody::next() {
  if (!gunzip_) co_return co_await exchange_.read_some();
  for (;;) {
    auto decoded = gunzip_->next();
    if (!decoded || !decoded->empty()) co_return decoded;
    auto piece = co_await exchange_.read_some();
    if (!piece) co_return piece;
    if (piece->empty()) {
      if (gunzip_->is_complete()) co_return std::string();
      co_return fail(ErrorCode::invalid_argument, "the body is not valid gzip: it ends too early");
    }
    gunzip_->feed(std::move(*piece));
  }
}

Task<Result<MultipartReader::Event>> UploadParts::event() {
  for (;;) {
    auto event = reader_.next();
    if (!event || !std::holds_alternative<MultipartReader::NeedsMore>(*event)) co_return event;
    auto piece = co_await body_.next();
    if (!piece) co_return fail(std::move(piece).error());
    if (piece->empty())
      co_return fail(ErrorCode::invalid_argument, "the body is not valid multipart/form-data: it ends too early");
    reader_.feed(*piece);
  }
}

Task<Result<std::optional<MultipartReader::PartBegins>>> UploadParts::next() {
  for (;;) {
    auto next = co_await event();
    if (!next) co_return fail(std::move(next).error());
    if (auto* part = std::get_if<MultipartReader::PartBegins>(&*next)) co_return std::optional(std::move(*part));
    if (std::holds_alternative<MultipartReader::AllRead>(*next)) co_return std::nullopt;
  }
}

Task<Result<std::string>> UploadParts::data() {
  auto next = co_await event();
  if (!next) co_return fail(std::move(next).error());
  if (auto* data = std::get_if<MultipartReader::PartData>(&*next)) co_return std::move(data->bytes);
  co_return std::string();
}

}  // namespace cloche::dialect::e2b

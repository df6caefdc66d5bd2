// Bodies of uploads: the parts are the same in pieces of any size, and no more is kept than was fed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "dialect/e2b/envd/multipart.hpp"

namespace {

using namespace cloche::dialect::e2b;

std::vector<std::string> parts_of(std::string_view body, std::size_t piece) {
  MultipartReader reader("b", {.parts = 16, .head = 256});
  std::vector<std::string> all;
  for (;;) {
    auto event = reader.next();
    if (!event) return {"error"};
    if (auto* part = std::get_if<MultipartReader::PartBegins>(&*event)) {
      all.push_back(part->name + "|" + part->file_name.value_or("-") + "|");
    } else if (auto* data = std::get_if<MultipartReader::PartData>(&*event)) {
      if (all.empty() || data->bytes.empty()) abort();
      all.back() += data->bytes;
    } else if (std::holds_alternative<MultipartReader::AllRead>(*event)) {
      return all;
    } else if (std::holds_alternative<MultipartReader::NeedsMore>(*event)) {
      if (body.empty()) return {"incomplete"};
      reader.feed(body.substr(0, piece));
      body.remove_prefix(std::min(piece, body.size()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto whole = parts_of(body, size + 1);
  const auto bytewise = parts_of(body, 1);
  // Where a head is too long depends on how much of it has come.
  const std::vector<std::string> error{"error"};
  if (whole != bytewise && whole != error && bytewise != error) abort();
  (void)boundary_of(body);
  return 0;
}

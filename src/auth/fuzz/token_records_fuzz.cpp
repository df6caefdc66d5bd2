// Any bytes as a token file: no crash, and what is taken is written and read back as the same tokens.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "auth/names.hpp"
#include "auth/tokens/token.hpp"
#include "auth/tokens/token_records.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche;
  using namespace cloche::auth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto token = parse_token(text); token && token->text() != text) std::abort();
  const auto records = parse_token_records(text);
  if (!records) return 0;
  for (const TokenRecord& record : *records) {
    if (!is_valid_name(record.tenant) || !is_token_id(record.id) || !check_note(record.note)) std::abort();
  }
  const auto again = parse_token_records(write_token_records(*records));
  if (!again || *again != *records) std::abort();
  return 0;
}

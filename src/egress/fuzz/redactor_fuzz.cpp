// Any bytes, in pieces of any size, as a response: the secret is in none of its forms in the result, everything else is
// as it was, and the pieces make no difference.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "egress/secrets/redactor.hpp"
#include "egress/secrets/secret_encodings.hpp"

namespace {

using cloche::egress::Redactor;

// With characters that encodings change, and a beginning that repeats itself.
const std::string fuzzed_secret = "a/a/a+\"b";

const std::vector<std::string>& forms() {
  static const std::vector<std::string> all = cloche::egress::encodings_of(fuzzed_secret);
  return all;
}

std::string expected(std::string text) {
  const std::string before = text;
  for (const std::string& form : forms()) {
    for (auto at = before.find(form); at != std::string::npos; at = before.find(form, at + 1)) {
      std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), form.size(), Redactor::mark);
    }
  }
  return text;
}

// Each byte from 0xe0 on becomes a form of the secret, so that the fuzzer finds some.
std::string with_forms(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0xe0) {
      text += forms()[byte % forms().size()];
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto finder = std::make_shared<const cloche::egress::PatternFinder>(forms());
  if (size == 0) return 0;
  const std::size_t step = 1 + data[0] % 16;
  const std::string text = with_forms({reinterpret_cast<const char*>(data + 1), size - 1});
  Redactor redactor({finder});
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += step) out += redactor.feed(std::string_view(text).substr(at, step));
  out += redactor.finish();
  if (out != expected(text)) std::abort();
  return 0;
}

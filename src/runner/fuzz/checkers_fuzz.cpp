// Any two texts: no crash, a text is always right against itself, a stricter checker never lets more through, and
// reasons are bounded.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runner/judge/checkers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche;
  using namespace cloche::runner;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto middle = all.find('|');
  const std::string_view expected = all.substr(0, middle);
  const std::string_view got = middle == std::string_view::npos ? std::string_view() : all.substr(middle + 1);
  const Comparison exact = compare_exactly(expected, got);
  const Comparison trimmed = compare_trimmed(expected, got);
  const Comparison tokens = compare_tokens(expected, got);
  const Comparison numbers = compare_numbers(expected, got, Tolerance());
  if (exact.right && !trimmed.right) std::abort();
  if (trimmed.right && !tokens.right) std::abort();
  if (tokens.right && !numbers.right) std::abort();
  for (const Comparison& one : {exact, trimmed, tokens, numbers}) {
    if (one.right != one.reason.empty() || one.reason.size() > 400) std::abort();
  }
  if (!compare_numbers(got, got, Tolerance()).right) std::abort();
  return 0;
}

// Any query and header of a program: after the secret was put on, it is there once, and nothing else has its name.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "egress/secrets/put_secret.hpp"
#include "http/server/request/target.hpp"

namespace {

using namespace cloche::egress;

const std::string fuzzed_secret = "s&e=c;r+e%t#";

void try_query(const std::string& query) {
  RequestParts parts{.path = "/", .query = query, .fields = {}};
  const SecretUse use{.secret = "s", .where = SecretUse::Where::query, .name = "key"};
  if (!put_secret_on(parts, use, fuzzed_secret)) return;
  const auto parsed = cloche::http::parse_query(parts.query);
  if (!parsed || parsed->count("key") != 1 || parsed->find("key") != fuzzed_secret) std::abort();
  // As servers read it that separate by semicolons, too.
  std::string separated = parts.query;
  std::ranges::replace(separated, ';', '&');
  const auto again = cloche::http::parse_query(separated);
  if (!again || again->count("key") != 1) std::abort();
}

void try_header(const std::string& name) {
  RequestParts parts{.path = "/", .query = {}, .fields = {{name, "mine"}, {"Other", "kept"}}};
  const SecretUse use{.secret = "s", .where = SecretUse::Where::header, .name = "X-Api-Key"};
  if (!put_secret_on(parts, use, fuzzed_secret)) std::abort();
  if (cloche::http::field_value(parts.fields, "X-Api-Key") != fuzzed_secret) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_query(text);
  try_header(text);
  return 0;
}

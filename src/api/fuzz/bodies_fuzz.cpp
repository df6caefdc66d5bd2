// Arbitrary request bodies: they must be either read or rejected.
#include <cstddef>
#include <cstdint>

#include "api/files/bodies.hpp"
#include "api/leases/bodies.hpp"
#include "api/leases/execute_body.hpp"
#include "api/runs/bodies.hpp"
#include "api/sessions/bodies.hpp"
#include "json/json_reader.hpp"
#include "json/strict_json.hpp"
#include "json/write_json.hpp"

namespace {

using namespace cloche;

// With its shape, in pieces of a size that depends on the text.
Result<boost::json::value> read_by(const Shape& shape, std::string_view text) {
  JsonRules rules;
  rules.depth = 16;
  rules.values = 500;
  rules.shape = &shape;
  JsonReader reader(rules);
  const std::size_t piece = text.empty() ? 1 : 1 + static_cast<unsigned char>(text.back()) % 7;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    if (auto fed = reader.feed(text.substr(at, piece)); !fed) return fail(std::move(fed).error());
  }
  return reader.finish();
}

// Where a shape lets a text pass, it is the same value as without one; and what is written is read back as itself.
void check_readers_agree(std::string_view text, const Result<boost::json::value>& whole) {
  for (const Shape* shape : {&api::run_body_shape, &api::write_body_shape, &api::copy_body_shape, &shapes::anything}) {
    const auto shaped = read_by(*shape, text);
    if (shaped && !(whole && *whole == *shaped)) __builtin_trap();
  }
  if (!whole) return;
  const auto again = parse_strict_json(write_json(*whole), 16);
  if (!again) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto body = parse_strict_json(text, 16);
  check_readers_agree(text, body);
  if (!body) return 0;
  (void)api::read_execute_body(*body);
  (void)api::read_bash_body(*body);
  (void)api::read_signal_body(*body);
  (void)api::read_wait_body(*body);
  (void)api::read_text_body(*body);
  (void)api::read_binary_body(*body);
  (void)api::read_write_body(*body);
  (void)api::read_grep_body(*body);
  (void)api::read_glob_body(*body);
  (void)api::read_stat_body(*body);
  (void)api::read_delete_body(*body);
  (void)api::read_move_body(*body);
  (void)api::read_mkdir_body(*body);
  (void)api::read_edit_body(*body);
  (void)api::read_copy_body(*body);
  (void)api::read_new_session(*body);
  (void)api::read_submission(*body);
  (void)api::read_submission_files(*body);
  (void)api::read_assets(*body, "resolved_assets");
  (void)api::read_command(*body);
  (void)api::read_batch(*body);
  (void)api::read_app_request(*body);
  return 0;
}

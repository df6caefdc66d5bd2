// Bodies of requests, as anybody may send them: whatever they are, they are read or refused.
#include <cstddef>
#include <cstdint>

#include "api/files/bodies.hpp"
#include "api/leases/bodies.hpp"
#include "api/leases/execute_body.hpp"
#include "api/runs/bodies.hpp"
#include "api/sessions/bodies.hpp"
#include "json/strict_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche;
  const auto body = parse_strict_json({reinterpret_cast<const char*>(data), size}, 16);
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

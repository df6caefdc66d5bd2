// Everything that the control plane and the way to sandboxes read of a request. The first byte chooses what is read.
#include <boost/json/parse.hpp>
#include <cstdint>
#include <string_view>

#include "dialect/e2b/attributes.hpp"
#include "dialect/e2b/control/bodies.hpp"
#include "dialect/e2b/control/listing.hpp"
#include "dialect/e2b/control/log_query.hpp"
#include "dialect/e2b/routing.hpp"

namespace {

using namespace cloche::dialect::e2b;

constexpr TimeoutRule rule{.most = std::chrono::hours(24)};

void read_bodies(std::string_view text) {
  boost::system::error_code none;
  const boost::json::value body = boost::json::parse(boost::json::string_view(text.data(), text.size()), none);
  if (none) return;
  const auto wanted = read_new_sandbox(body, ApiVersion::v1, rule);
  if (wanted && wanted->timeout > rule.most) __builtin_trap();
  (void)read_timeout(body, rule, std::nullopt);
  (void)read_duration(body);
  (void)read_network_update(body);
  (void)read_fork(body, rule);
  (void)read_snapshot_name(body);
}

void read_queries(std::string_view text) {
  const auto query = cloche::http::parse_query(text);
  if (!query) return;
  const auto list = read_list_query(*query);
  if (list && list->after && parse_cursor(to_text(*list->after)) != list->after) __builtin_trap();
  (void)read_log_query(*query);
}

// A line each: host, id, port, target.
void route(std::string_view text) {
  std::string lines[4];
  for (std::string& line : lines) {
    const auto end = std::min(text.find('\n'), text.size());
    line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto target = cloche::http::parse_target(lines[3]);
  if (!target) return;
  const cloche::http::Fields fields{{"Host", lines[0]}, {"E2b-Sandbox-Id", lines[1]}, {"E2b-Sandbox-Port", lines[2]}};
  const Routed routed = route_of("GET", *target, fields, "sbx.test");
  const bool is_sandbox = routed.to == Destination::sandbox;
  if (is_sandbox && (routed.sandbox.empty() || routed.port == 0)) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: read_bodies(text); break;
    case 1: read_queries(text); break;
    case 2: route(text); break;
    default: (void)parse_time_text(text);
  }
  return 0;
}

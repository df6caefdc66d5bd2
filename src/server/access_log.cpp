#include "server/access_log.hpp"

#include "core/log.hpp"

namespace cloche::server {

namespace {

// The limit of a path, which a client can make arbitrarily long.
constexpr std::size_t most_of_path = 300;

}  // namespace

void log_access(const http::AccessRecord& record) {
  const std::string peer = record.peer.describe();
  std::vector<log::Field> fields;
  fields.push_back({"request_id", record.request_id});
  fields.push_back({"method", record.method});
  fields.push_back({"path", record.path.substr(0, most_of_path)});
  fields.push_back({"status", std::int64_t{record.status}});
  fields.push_back({"ms", std::chrono::duration<double, std::milli>(record.duration).count()});
  fields.push_back({"bytes_in", static_cast<std::int64_t>(record.bytes_in)});
  fields.push_back({"bytes_out", static_cast<std::int64_t>(record.bytes_out)});
  fields.push_back({"peer", std::string_view(peer)});
  // The route, the tenant and the token.
  for (const auto& [name, value] : record.labels) fields.push_back({name, std::string_view(value)});
  log::event(spdlog::level::info, "request", fields);
}

}  // namespace cloche::server

// The access log: one event per request, with its caller and result. Never a query, a header or a body.
#pragma once

#include "http/server/server.hpp"

namespace cloche::server {

void log_access(const http::AccessRecord& record);

}  // namespace cloche::server

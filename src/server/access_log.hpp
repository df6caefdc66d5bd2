// The access log: one event a request, with who sent it and what became of it. Never a query, a header or a body.
#pragma once

#include "http/server/server.hpp"

namespace cloche::server {

void log_access(const http::AccessRecord& record);

}  // namespace cloche::server

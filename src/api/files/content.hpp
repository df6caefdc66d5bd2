// A file's bytes as an HTTP answer: streamed, whole or a range, with its type and a validator.
#pragma once

#include "http/server/exchange.hpp"
#include "session/session.hpp"

namespace cloche::api {

// Header fields for content from a sandbox that a browser may show: it must not act as a page of this service.
void add_untrusted_content_fields(http::Fields& fields);

// 200, 206, 304 or 416 by the request's Range and If-None-Match. The validator is a weak one: a file may change within
// a tick of its clock. An error that comes up after the answer has begun cuts it short.
Task<Status> send_file(http::Exchange& exchange, session::Session& session, std::string path);
// The same with the rights of another user. The name is that of the file, for its type.
Task<Status> send_file(http::Exchange& exchange, Files files, FilePath place, std::string name);

// 200 with a part of it, Range left aside; nothing where the file ends before.
Task<Status> send_part(http::Exchange& exchange, session::Session& session, std::string path, FileRange part);

}  // namespace cloche::api

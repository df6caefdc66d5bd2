// Runs as JSON.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "http/server/answer/server_event.hpp"
#include "session/runs/run.hpp"
#include "session/session.hpp"

namespace cloche::api {

// Whether what was printed is part of it.
enum class Printed { included, left_out };

// A run that ended with a result: the response of /execute and /bash.
boost::json::object result_json(const session::Run& run, const session::SessionKey& key, Printed printed);
// Any run: its state and, after its end, its result or error.
boost::json::object state_json(const session::Run& run, const session::SessionKey& key);
boost::json::object summary_json(const session::Run& run);

// About how large these are.
std::size_t printed_size(const session::Run& run);

// Text as it is, with U+FFFD in the place of what is not UTF-8; and then the bytes as base64 beside it.
void put_bytes(boost::json::object& into, std::string_view name, std::string_view bytes);

http::ServerEvent to_server_event(const session::Run& run, const session::SessionKey& key,
                                  const session::RunEvent& event);
// The first of a stream: which run it is.
http::ServerEvent first_event(const session::Run& run, const session::SessionKey& key, std::uint64_t position);

}  // namespace cloche::api

// SOCKS5 of programs. Private to this folder.
#pragma once

#include <memory>
#include <string>

#include "egress/broker/state.hpp"

namespace cloche::egress {

// `first`: what the program has already sent, at least one byte.
Task<> serve_socks(Live& live, std::unique_ptr<http::Stream> program, std::string first);

}  // namespace cloche::egress

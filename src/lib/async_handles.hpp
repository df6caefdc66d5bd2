// How the engine hands out sandboxes.
#pragma once

#include <memory>

#include "lib/async_engine.hpp"

namespace cloche::async {

Sandbox wrap(std::shared_ptr<Engine::Impl> engine, std::unique_ptr<LiveSandbox> sandbox);

}  // namespace cloche::async

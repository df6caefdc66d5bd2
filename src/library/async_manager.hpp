// The implementation of async::Manager; code runners keep it alive.
#pragma once

#include <memory>

#include "cloche/async_manager.hpp"
#include "library/async_handles.hpp"
#include "pool/manager.hpp"

namespace cloche::async {

struct Manager::Impl {
  Impl(boost::asio::any_io_executor executor, ManagerOptions options);

  // The pool that leased it; null if it is not ours.
  static const void* lender_of(const std::shared_ptr<Sandbox>& sandbox) {
    return sandbox && sandbox->impl() != nullptr && sandbox->impl()->lease ? sandbox->impl()->lender : nullptr;
  }

  std::shared_ptr<Engine::Impl> engine;
  std::unique_ptr<pool::Manager> pools;
};

}  // namespace cloche::async

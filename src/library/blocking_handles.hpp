// The implementation of the sandboxes for blocking code.
#pragma once

#include <memory>

#include "cloche/async.hpp"
#include "cloche/sandbox.hpp"
#include "library/loop_thread.hpp"

namespace cloche {

struct Sandbox::Impl {
  std::shared_ptr<void> owner;  // has the loop
  LoopThread* loop = nullptr;
  std::unique_ptr<async::Sandbox> sandbox;
  bool is_lent = false;

  template <class Call>
  auto wait_for(Call call) {
    return loop->wait_for([this, call = std::move(call)]() { return call(*sandbox); });
  }
  // Only for a leased one. True if it was still leased.
  bool give_back();
  bool destroy_lent();
};

}  // namespace cloche

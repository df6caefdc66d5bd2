// Watch: whether a blocking piece of work should go on. It asks between its steps.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "core/deadline.hpp"
#include "core/result.hpp"

namespace cloche::oci {

class Watch {
 public:
  explicit Watch(Deadline deadline) : deadline_(deadline), abandoned_(std::make_shared<std::atomic<bool>>(false)) {}

  Deadline deadline() const { return deadline_; }
  // The same, with less time.
  Watch until(Deadline deadline) const {
    Watch sooner = *this;
    sooner.deadline_ = deadline_.sooner(deadline);
    return sooner;
  }
  // From any thread: nobody waits for the work any more.
  void abandon() const { abandoned_->store(true); }

  Status check(std::string_view step) const {
    if (abandoned_->load()) return fail(ErrorCode::cancelled, std::string(step) + ": cancelled");
    if (deadline_.passed()) return fail(ErrorCode::timeout, std::string(step) + ": deadline exceeded");
    return {};
  }

 private:
  Deadline deadline_;
  std::shared_ptr<std::atomic<bool>> abandoned_;
};

}  // namespace cloche::oci

// CancelToken: whether blocking work should continue. The work checks it between its steps.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "core/deadline.hpp"
#include "core/result.hpp"

namespace cloche {

class CancelToken {
 public:
  explicit CancelToken(Deadline deadline)
      : deadline_(deadline), cancelled_(std::make_shared<std::atomic<bool>>(false)) {}

  Deadline deadline() const { return deadline_; }
  // The same, with less time.
  CancelToken until(Deadline deadline) const {
    CancelToken sooner = *this;
    sooner.deadline_ = deadline_.sooner(deadline);
    return sooner;
  }
  // From any thread: the result is no longer needed.
  void cancel() const { cancelled_->store(true); }

  Status check(std::string_view step) const {
    if (cancelled_->load()) return fail(ErrorCode::cancelled, std::string(step) + ": cancelled");
    if (deadline_.passed()) return fail(ErrorCode::timeout, std::string(step) + ": deadline exceeded");
    return {};
  }

 private:
  Deadline deadline_;
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

}  // namespace cloche

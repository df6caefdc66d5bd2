// WatchedFile: what a file says, read again when the file has changed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "auth/guarded_file.hpp"
#include "core/clock.hpp"

namespace cloche::auth {

// Looks at the file at most once a second. A file that is gone, damaged or open to others is an error until it is good
// again: what it said before is not used any more, because the change may have taken a right away. Of one thread.
template <class T>
class WatchedFile {
 public:
  using Parse = std::function<Result<T>(const GuardedFile&)>;

  static constexpr std::chrono::seconds interval{1};

  WatchedFile(std::string path, FileRule rule, Parse parse, SteadyClock clock)
      : path_(std::move(path)), rule_(rule), parse_(std::move(parse)), clock_(std::move(clock)) {}

  Result<std::shared_ptr<const T>> get() {
    const SteadyTime now = clock_();
    if (looked_ && now - *looked_ < interval) return current_;
    looked_ = now;
    const auto stamp = stamp_of(path_, rule_.links);
    if (current_ && stamp && *stamp == stamp_) return current_;
    current_ = load();
    return current_;
  }

 private:
  Result<std::shared_ptr<const T>> load() {
    CLOCHE_TRY(const GuardedFile file, read_guarded(path_, rule_));
    auto parsed = parse_(file);
    if (!parsed) return fail(std::move(parsed).error().at(path_));
    // Of the bytes that were read, not of the file that has the name by now.
    stamp_ = file.stamp;
    return std::make_shared<const T>(*std::move(parsed));
  }

  std::string path_;
  FileRule rule_;
  Parse parse_;
  SteadyClock clock_;
  std::optional<SteadyTime> looked_;
  FileStamp stamp_;
  Result<std::shared_ptr<const T>> current_ = fail(ErrorCode::not_found, "not read yet");
};

}  // namespace cloche::auth

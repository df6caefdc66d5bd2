// Progress: one line at the bottom of a terminal that is drawn again and again, and is gone in the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::cli {

struct Amount {
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total;  // for an unknown total
};

// `name  [####----]  50 %  1.0 MiB of 2.0 MiB  512.0 KiB/s`, within so many columns.
std::string progress_text(std::string_view name, Amount bytes, std::chrono::duration<double> elapsed,
                          std::size_t columns);
// `name  [####----]  2 of 5  12s  what is going on`.
std::string step_text(std::string_view name, Amount steps, std::chrono::seconds elapsed, std::string_view doing,
                      std::size_t columns);

// Does nothing if the descriptor is not a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(int fd);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  bool is_shown() const { return shows_; }
  std::size_t columns() const;
  // Not more often than a person can see.
  bool is_due() const;
  void show(const std::string& line);
  // Before anything else is printed there.
  void clear();

 private:
  int fd_;
  bool shows_;
  bool drawn_ = false;
  std::optional<std::chrono::steady_clock::time_point> last_;
};

}  // namespace cloche::cli

#include "cli/text/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cli/text/clean.hpp"
#include "cli/text/units.hpp"

namespace cloche::cli {

namespace {

constexpr std::size_t bar_cells = 20;
constexpr std::chrono::milliseconds between_two{100};

std::string bar(const Amount& amount) {
  if (!amount.total) return {};
  // If there is nothing to do, everything is done.
  const std::uint64_t total = *amount.total;
  const double share = total == 0 ? 1.0 : std::min(1.0, static_cast<double>(amount.done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * bar_cells);
  return "  [" + std::string(filled, '#') + std::string(bar_cells - filled, '-') + "]";
}

}  // namespace

std::string progress_text(std::string_view name, Amount bytes, std::chrono::duration<double> elapsed,
                          std::size_t columns) {
  std::string line = printable(name) + bar(bytes);
  if (bytes.total && *bytes.total > 0)
    line += fmt::format("  {:3} %", std::min(bytes.done, *bytes.total) * 100 / *bytes.total);
  line += "  " + size_text(bytes.done);
  if (bytes.total) line += " of " + size_text(*bytes.total);
  if (elapsed.count() >= 0.5) {
    line += "  " + size_text(static_cast<std::uint64_t>(static_cast<double>(bytes.done) / elapsed.count())) + "/s";
  }
  return cut_to_width(line, columns);
}

std::string step_text(std::string_view name, Amount steps, std::chrono::seconds elapsed, std::string_view doing,
                      std::size_t columns) {
  std::string line = printable(name) + bar(steps);
  if (steps.total) line += fmt::format("  {} of {}", std::min(steps.done + 1, *steps.total), *steps.total);
  line += "  " + span_text(elapsed) + "  " + printable(doing);
  return cut_to_width(line, columns);
}

ProgressLine::ProgressLine(int fd) : fd_(fd) {
  const char* term = std::getenv("TERM");
  shows_ = ::isatty(fd) != 0 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

std::size_t ProgressLine::columns() const {
  winsize size = {};
  if (::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  // The last column would make some terminals go to the next line.
  return std::max<std::size_t>(size.ws_col, 2) - 1;
}

bool ProgressLine::is_due() const {
  return shows_ && (!last_ || std::chrono::steady_clock::now() - *last_ >= between_two);
}

void ProgressLine::show(const std::string& line) {
  if (!shows_) return;
  last_ = std::chrono::steady_clock::now();
  drawn_ = true;
  const std::string drawing = "\r\033[K" + line;
  [[maybe_unused]] const auto written = ::write(fd_, drawing.data(), drawing.size());
}

void ProgressLine::clear() {
  if (!drawn_) return;
  drawn_ = false;
  constexpr std::string_view nothing = "\r\033[K";
  [[maybe_unused]] const auto written = ::write(fd_, nothing.data(), nothing.size());
}

}  // namespace cloche::cli

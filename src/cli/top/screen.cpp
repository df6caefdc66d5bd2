#include "cli/top/screen.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace cloche::cli {

namespace {

// The other screen, without a cursor; and back.
constexpr std::string_view enter = "\033[?1049h\033[?25l\033[2J";
constexpr std::string_view leave = "\033[?25h\033[?1049l";

// A terminal that takes nothing for a second is not waited for.
void put(std::string_view text) {
  while (!text.empty()) {
    pollfd ready{STDOUT_FILENO, POLLOUT, 0};
    if (::poll(&ready, 1, 1000) <= 0) return;
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

Screen::Screen() : raw_(STDIN_FILENO, RawTerminal::Output::as_usual) { put(enter); }

Screen::~Screen() { put(leave); }

WindowSize Screen::size() const { return window_size(STDOUT_FILENO); }

void Screen::show(const std::vector<std::string>& lines) {
  std::string frame = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // The rest of each line is cleared.
    frame.append(lines[i]).append("\033[K");
    if (i + 1 < lines.size()) frame += "\r\n";
  }
  put(frame + "\033[J");
}

}  // namespace cloche::cli

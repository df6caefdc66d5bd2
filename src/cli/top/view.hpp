// The lines that `cloche top` shows. No I/O.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/figures.hpp"
#include "cli/terminal.hpp"

namespace cloche::cli {

struct Snapshot {
  std::string place;    // of the service
  std::string failure;  // why there is nothing new; the figures are those of before
  std::vector<PoolFigures> pools;
  std::vector<SessionFigures> sessions;
};

enum class SortBy { name, state, age, idle, calls };

struct View {
  SortBy sort = SortBy::name;
  bool reversed = false;
  std::size_t first = 0;  // session shown on top
};

enum class Key { none, quit, up, down, page_up, page_down, home, end, next_sort, previous_sort, reverse };

// The keys in what was typed; arrows and the like are several bytes. What is left at the end is the beginning of one.
std::vector<Key> take_keys(std::string& typed);

// Handles a key; `rows` is the number of sessions that fit.
View after(View view, Key key, std::size_t sessions, std::size_t rows);

std::string_view to_string(SortBy sort);
std::vector<SessionFigures> sorted(std::vector<SessionFigures> sessions, const View& view);

// How many sessions fit on the screen.
std::size_t session_rows(const Snapshot& snapshot, WindowSize size);
// Exactly as many lines as the screen has, none wider than it is.
std::vector<std::string> draw(const Snapshot& snapshot, const View& view, WindowSize size, std::chrono::sys_seconds now,
                              const Paint& paint);
// All of it, once, without a screen.
std::string plain_text(const Snapshot& snapshot, const View& view, std::chrono::sys_seconds now, const Paint& paint);

}  // namespace cloche::cli

#include "cli/top/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/text/clean.hpp"

namespace cloche::cli {

namespace {

constexpr SortBy orders[] = {SortBy::name, SortBy::state, SortBy::age, SortBy::idle, SortBy::calls};

SortBy stepped(SortBy sort, int by) {
  constexpr auto count = static_cast<int>(std::size(orders));
  const auto at = static_cast<int>(std::ranges::find(orders, sort) - std::begin(orders));
  return orders[(at + by + count) % count];
}

std::string summary(const Snapshot& snapshot) {
  const auto live = std::ranges::count(snapshot.sessions, "live", &SessionFigures::state);
  std::int64_t idle = 0;
  std::int64_t active = 0;
  for (const PoolFigures& pool : snapshot.pools) {
    idle += pool.idle;
    active += pool.active;
  }
  return fmt::format("cloche {}   pools {}   sandboxes {} warm, {} in use   sessions {} live of {}", snapshot.place,
                     snapshot.pools.size(), idle, active, live, snapshot.sessions.size());
}

// Lines above the first session: summary, blank, pools with their titles, blank, titles.
std::size_t lines_above(const Snapshot& snapshot) { return 2 + snapshot.pools.size() + 1 + 1 + 1; }

struct Sequence {
  std::string_view bytes;
  Key key;
};
constexpr Sequence sequences[] = {
    {"\033[A", Key::up},
    {"\033OA", Key::up},
    {"\033[B", Key::down},
    {"\033OB", Key::down},
    {"\033[C", Key::next_sort},
    {"\033OC", Key::next_sort},
    {"\033[D", Key::previous_sort},
    {"\033OD", Key::previous_sort},
    {"\033[5~", Key::page_up},
    {"\033[6~", Key::page_down},
    {"\033[H", Key::home},
    {"\033[1~", Key::home},
    {"\033OH", Key::home},
    {"\033[F", Key::end},
    {"\033[4~", Key::end},
    {"\033OF", Key::end},
};

Key key_of(char c) {
  switch (c) {
    case 'q':
    case 'Q':
    case '\003': return Key::quit;
    case 'k': return Key::up;
    case 'j': return Key::down;
    case 's': return Key::next_sort;
    case 'r': return Key::reverse;
    default: return Key::none;
  }
}

}  // namespace

std::vector<Key> take_keys(std::string& typed) {
  std::vector<Key> keys;
  std::string_view rest = typed;
  while (!rest.empty()) {
    if (rest.front() != '\033') {
      keys.push_back(key_of(rest.front()));
      rest.remove_prefix(1);
      continue;
    }
    const auto found =
        std::ranges::find_if(sequences, [&](const Sequence& each) { return rest.starts_with(each.bytes); });
    if (found != std::end(sequences)) {
      keys.push_back(found->key);
      rest.remove_prefix(found->bytes.size());
      continue;
    }
    const bool may_go_on =
        std::ranges::any_of(sequences, [&](const Sequence& each) { return each.bytes.starts_with(rest); });
    if (may_go_on) break;
    rest.remove_prefix(1);
  }
  typed = std::string(rest);
  return keys;
}

View after(View view, Key key, std::size_t sessions, std::size_t rows) {
  const std::size_t last = sessions > rows ? sessions - rows : 0;
  const std::size_t page = std::max<std::size_t>(rows, 1);
  switch (key) {
    case Key::up: view.first -= std::min<std::size_t>(view.first, 1); break;
    case Key::down: ++view.first; break;
    case Key::page_up: view.first -= std::min(view.first, page); break;
    case Key::page_down: view.first += page; break;
    case Key::home: view.first = 0; break;
    case Key::end: view.first = last; break;
    case Key::next_sort: view.sort = stepped(view.sort, 1); break;
    case Key::previous_sort: view.sort = stepped(view.sort, -1); break;
    case Key::reverse: view.reversed = !view.reversed; break;
    case Key::none:
    case Key::quit: break;
  }
  view.first = std::min(view.first, last);
  return view;
}

std::string_view to_string(SortBy sort) {
  switch (sort) {
    case SortBy::name: return "name";
    case SortBy::state: return "state";
    case SortBy::age: return "age";
    case SortBy::idle: return "idle";
    case SortBy::calls: return "calls";
  }
  return "name";
}

std::vector<SessionFigures> sorted(std::vector<SessionFigures> sessions, const View& view) {
  const auto key = [&](const SessionFigures& each) {
    switch (view.sort) {
      case SortBy::name: break;
      case SortBy::state: return each.state;
      case SortBy::age: return each.created;  // moments in text sort as they are
      case SortBy::idle: return each.last_used;
      case SortBy::calls: return fmt::format("{:020}", 99'999'999 - each.calls);
    }
    return std::string();
  };
  std::ranges::stable_sort(sessions, [&](const SessionFigures& a, const SessionFigures& b) {
    return std::tuple(key(a), a.tenant, a.session) < std::tuple(key(b), b.tenant, b.session);
  });
  if (view.reversed) std::ranges::reverse(sessions);
  return sessions;
}

std::size_t session_rows(const Snapshot& snapshot, WindowSize size) {
  const std::size_t taken = lines_above(snapshot) + 1;
  return size.rows > taken ? size.rows - taken : 0;
}

std::vector<std::string> draw(const Snapshot& snapshot, const View& view, WindowSize size, std::chrono::sys_seconds now,
                              const Paint& paint) {
  std::vector<std::string> lines;
  lines.push_back(paint(Colour::bold, cut_to_width(printable(summary(snapshot)), size.columns)));
  lines.emplace_back();
  for (std::string& line : pool_table(snapshot.pools).lines(paint, size.columns)) lines.push_back(std::move(line));
  lines.emplace_back();
  // All are in the table, so that its columns stay where they are while it is scrolled.
  std::vector<std::string> rows = session_table(sorted(snapshot.sessions, view), now).lines(paint, size.columns);
  lines.push_back(std::move(rows.front()));
  for (std::size_t i = 1 + view.first; i < rows.size() && i <= view.first + session_rows(snapshot, size); ++i) {
    lines.push_back(std::move(rows[i]));
  }
  const std::size_t above_foot = size.rows > 0 ? size.rows - 1 : 0;
  lines.resize(above_foot);
  const std::string foot = fmt::format("q quit   up/down scroll   left/right sort: {}{}   r reverse",
                                       to_string(view.sort), view.reversed ? ", reversed" : "");
  if (size.rows > 0) {
    lines.push_back(snapshot.failure.empty()
                        ? paint(Colour::dim, cut_to_width(foot, size.columns))
                        : paint(Colour::bad, cut_to_width(printable(snapshot.failure), size.columns)));
  }
  return lines;
}

std::string plain_text(const Snapshot& snapshot, const View& view, std::chrono::sys_seconds now, const Paint& paint) {
  return printable(summary(snapshot)) + "\n\n" + pool_table(snapshot.pools).text(paint) + "\n" +
         session_table(sorted(snapshot.sessions, view), now).text(paint);
}

}  // namespace cloche::cli

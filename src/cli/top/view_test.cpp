// The output of `cloche top`.
#include "cli/top/view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "cli/text/clean.hpp"

namespace cloche::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Paint plain(Paint::Use::none);
const std::chrono::sys_seconds now = std::chrono::sys_days(std::chrono::year(2031) / 5 / 17);

Snapshot snapshot_with(int sessions) {
  Snapshot snapshot;
  snapshot.place = "http://127.0.0.1:8080";
  snapshot.pools = read_pools(boost::json::parse(
      R"({"python":{"idle":2,"active":1,"total":3,"pool_size":3,"scale_limit":10,"utilization":33.3},"bad":7})"));
  for (int i = 0; i < sessions; ++i) {
    SessionFigures session;
    session.tenant = "default";
    session.session = "s" + std::to_string(i);
    session.state = i % 2 == 0 ? "live" : "lost";
    session.created = "2031-05-16T23:59:0" + std::to_string(9 - i % 10) + "Z";
    session.last_used = session.created;
    session.calls = i;
    snapshot.sessions.push_back(session);
  }
  return snapshot;
}

TEST(TopView, AnyScreen_IsFilledAndNotOverflowed) {
  for (const WindowSize size : {WindowSize{24, 80}, {1, 1}, {5, 20}, {0, 0}, {100, 300}}) {
    for (const int sessions : {0, 3, 200}) {
      const auto lines = draw(snapshot_with(sessions), View(), size, now, plain);
      EXPECT_EQ(lines.size(), size.rows);
      for (const std::string& line : lines) EXPECT_LE(display_width(line), size.columns) << line;
    }
  }
}

TEST(TopView, FiguresAndFailure_AreShown) {
  Snapshot snapshot = snapshot_with(2);
  auto lines = draw(snapshot, View(), {24, 120}, now, plain);
  EXPECT_THAT(lines[0], HasSubstr("pools 1   sandboxes 2 warm, 1 in use   sessions 1 live of 2"));
  EXPECT_THAT(lines[3], HasSubstr("python"));
  EXPECT_THAT(lines[3], HasSubstr("33.3 %"));
  EXPECT_THAT(lines[6], HasSubstr("s0"));
  EXPECT_THAT(lines.back(), HasSubstr("q quit"));
  snapshot.failure = "nobody answers\033[2J";
  lines = draw(snapshot, View(), {24, 120}, now, plain);
  EXPECT_EQ(lines.back(), "nobody answers?[2J");
}

TEST(TopView, Keys_AreReadThoughTheyComeInPieces) {
  std::string typed = "j\033[A\033";
  EXPECT_THAT(take_keys(typed), ElementsAre(Key::down, Key::up));
  EXPECT_EQ(typed, "\033");
  typed += "[6~q\003";
  EXPECT_THAT(take_keys(typed), ElementsAre(Key::page_down, Key::quit, Key::quit));
  typed = "\033x";
  EXPECT_THAT(take_keys(typed), ElementsAre(Key::none));
  EXPECT_THAT(typed, IsEmpty());
}

TEST(TopView, Scrolling_StaysWithinTheSessions) {
  View view;
  view = after(view, Key::up, 100, 10);
  EXPECT_EQ(view.first, 0u);
  view = after(view, Key::page_down, 100, 10);
  EXPECT_EQ(view.first, 10u);
  view = after(view, Key::end, 100, 10);
  EXPECT_EQ(view.first, 90u);
  view = after(view, Key::down, 100, 10);
  EXPECT_EQ(view.first, 90u);
  EXPECT_EQ(after(view, Key::none, 5, 10).first, 0u) << "most sessions are gone";
}

TEST(TopView, Sorting_GoesRoundAndCanBeReversed) {
  const auto order = [](const View& view) {
    std::string names;
    for (const SessionFigures& each : sorted(snapshot_with(4).sessions, view)) names += each.session;
    return names;
  };
  View view;
  EXPECT_EQ(order(view), "s0s1s2s3");
  view = after(view, Key::next_sort, 4, 10);
  EXPECT_EQ(to_string(view.sort), "state");
  EXPECT_EQ(order(view), "s0s2s1s3");
  view = after(view, Key::next_sort, 4, 10);
  EXPECT_EQ(order(view), "s3s2s1s0") << "the oldest first";
  view = after(view, Key::reverse, 4, 10);
  EXPECT_EQ(order(view), "s0s1s2s3");
  view.reversed = false;
  view.sort = SortBy::calls;
  EXPECT_EQ(order(view), "s3s2s1s0") << "the busiest first";
  EXPECT_EQ(after(View(), Key::previous_sort, 4, 10).sort, SortBy::calls);
}

}  // namespace
}  // namespace cloche::cli

// Watches of directories, and what is told of files on request, on every backend.
#include <algorithm>

#include "conformance/conformance.hpp"

namespace cloche {

namespace {

using Kind = WatchEvent::Kind;

// All events until one about this path.
Task<std::vector<WatchEvent>> events_until(FileWatch& watch, std::string last) {
  std::vector<WatchEvent> all;
  for (;;) {
    auto events = co_await watch.next(Deadline::after(60s));
    EXPECT_TRUE(events) << events.error().message;
    if (!events) co_return all;
    for (WatchEvent& event : *events) {
      const bool is_last = event.path == last;
      all.push_back(std::move(event));
      if (is_last) co_return all;
    }
  }
}

bool has(const std::vector<WatchEvent>& events, Kind kind, std::string_view path) {
  return std::ranges::any_of(events, [&](const WatchEvent& e) { return e.kind == kind && e.path == path; });
}

Task<std::unique_ptr<FileWatch>> watch_work_directory(LiveSandbox& sandbox, Recursion recursion) {
  FilePath place(sandbox.spec().work_dir);
  const WatchOptions options{.recursion = recursion};
  auto watch = co_await sandbox.files().watch(std::move(place), options, Deadline::after(60s));
  EXPECT_TRUE(watch) << watch.error().message;
  co_return watch ? std::move(*watch) : nullptr;
}

}  // namespace

CONFORMANCE(Watch_TellsWhatProgramsDo) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto watch = co_await watch_work_directory(sandbox, Recursion::none);
    if (!watch) co_return;
    co_await run_shell(sandbox, "echo a > f; chmod 600 f; mv f g; rm g; touch zz-last");
    const auto events = co_await events_until(*watch, "zz-last");
    EXPECT_TRUE(has(events, Kind::created, "f"));
    EXPECT_TRUE(has(events, Kind::written, "f"));
    EXPECT_TRUE(has(events, Kind::mode_changed, "f"));
    EXPECT_TRUE(has(events, Kind::renamed, "f"));
    EXPECT_TRUE(has(events, Kind::created, "g"));
    EXPECT_TRUE(has(events, Kind::removed, "g"));
  });
}

CONFORMANCE(WatchOfATree_TellsWhatIsInNewDirectories) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await run_shell(sandbox, "mkdir -p /tmp/t/u; echo x > /tmp/t/u/moved");
    const auto watch = co_await watch_work_directory(sandbox, Recursion::whole_tree);
    if (!watch) co_return;
    co_await run_shell(sandbox, "mkdir -p a/b; echo x > a/b/f; mv /tmp/t .; echo y > t/u/later; touch zz-last");
    const auto events = co_await events_until(*watch, "zz-last");
    for (const char* name : {"a", "a/b", "a/b/f", "t", "t/u/moved", "t/u/later"})
      EXPECT_TRUE(has(events, Kind::created, name)) << name;
  });
}

CONFORMANCE(Watch_TellsWhatTheServerWrites) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await run_shell(sandbox, "echo old > f");
    const auto watch = co_await watch_work_directory(sandbox, Recursion::none);
    if (!watch) co_return;
    for (const char* name : {"f", "new", "zz-last"}) {
      FilePath place(sandbox.spec().work_dir + "/" + name);
      std::string content = "content";
      const auto written = co_await sandbox.files().write(std::move(place), std::move(content));
      EXPECT_TRUE(written) << written.error().message;
    }
    const auto events = co_await events_until(*watch, "zz-last");
    EXPECT_TRUE(has(events, Kind::written, "f"));
    EXPECT_TRUE(has(events, Kind::created, "new"));
    EXPECT_TRUE(has(events, Kind::written, "new"));
    for (const WatchEvent& event : events) EXPECT_EQ(event.path.find(".cloche"), std::string::npos) << event.path;
  });
}

CONFORMANCE(WatchedDirectoryThatIsRemoved_EndsTheWatch) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await run_shell(sandbox, "mkdir d");
    FilePath place(sandbox.spec().work_dir + "/d");
    const WatchOptions options;
    auto watch = co_await sandbox.files().watch(std::move(place), options, Deadline::after(60s));
    EXPECT_TRUE(watch) << watch.error().message;
    if (!watch) co_return;
    co_await run_shell(sandbox, "rmdir d");
    auto events = co_await (*watch)->next(Deadline::after(60s));
    while (events) events = co_await (*watch)->next(Deadline::after(60s));
    EXPECT_EQ(events.error().code, ErrorCode::not_found) << events.error().message;
  });
}

CONFORMANCE(MoreWatchesThanASandboxCanHave_AreRefused) {
  SandboxSpec wide = spec();
  wide.limits.pids = 128;
  in_sandbox(wide, [](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::unique_ptr<FileWatch>> watches;
    const WatchOptions options;
    Result<std::unique_ptr<FileWatch>> last = nullptr;
    for (int i = 0; i < 40 && last; ++i) {
      FilePath place(sandbox.spec().work_dir);
      last = co_await sandbox.files().watch(std::move(place), options, Deadline::after(60s));
      if (last) watches.push_back(std::move(*last));
    }
    EXPECT_EQ(watches.size(), 32U);
    EXPECT_FALSE(last);
    if (!last) {
      EXPECT_EQ(last.error().code, ErrorCode::limit_reached);
    }
    // Those that end make room.
    watches.clear();
    const auto again = co_await watch_work_directory(sandbox, Recursion::none);
    EXPECT_NE(again, nullptr);
  });
}

CONFORMANCE(ExtendedAttributes_AreWrittenWithTheFileOrUnsupported) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    WriteOptions options;
    options.attributes = {{"user.e2b.note", "value"}};
    FilePath place(sandbox.spec().work_dir + "/f");
    std::string content = "x";
    const auto written = co_await sandbox.files().write(place, std::move(content), std::move(options));
    if (!written) {
      EXPECT_EQ(written.error().code, ErrorCode::unsupported) << written.error().message;
      const auto left = co_await run_shell(sandbox, "ls -A");
      EXPECT_EQ(left.out, "");
      co_return;
    }
    const StatOptions with{.with_attributes = true};
    const auto told = co_await sandbox.files().stat(place, with);
    EXPECT_TRUE(told) << told.error().message;
    if (told) {
      EXPECT_EQ(told->attributes.count("user.e2b.note"), 1U);
    }
  });
}

CONFORMANCE(Links_AreToldWithWhatTheyLeadTo) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await run_shell(sandbox, "mkdir d; echo x > d/f; chmod 640 d/f; ln -s d/f link; ln -s /no/where dangling");
    FilePath place(sandbox.spec().work_dir);
    const ListOptions options{.with_attributes = true};
    const auto list = co_await sandbox.files().list(std::move(place), options);
    EXPECT_TRUE(list) << list.error().message;
    if (!list) co_return;
    for (const FileEntry& entry : list->entries) {
      if (entry.path == "link") {
        EXPECT_EQ(entry.resolved, sandbox.spec().work_dir + "/d/f");
        EXPECT_EQ(entry.target_type, FileType::regular);
        EXPECT_EQ(entry.target_mode, 0640U);
      } else {
        EXPECT_EQ(entry.resolved, "") << entry.path;
      }
    }
  });
}

}  // namespace cloche

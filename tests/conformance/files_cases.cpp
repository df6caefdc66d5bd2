// Files of a living sandbox, over the channel and under the user's rights.
#include "conformance/conformance.hpp"

namespace cloche {

CONFORMANCE(WrittenFile_IsThereWithItsParentsModeAndOwner) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto files = sandbox.files();
    WriteOptions options;
    options.mode = 0750;
    auto written = co_await files.write("/workspace/a/b/run.sh", "#!/bin/sh\necho ran\n", options);
    EXPECT_TRUE(written) << written.error().message;
    const auto ran = co_await run_shell(sandbox, "./a/b/run.sh");
    EXPECT_EQ(ran.out, "ran\n");
    const auto about = co_await files.stat("/workspace/a/b/run.sh");
    EXPECT_EQ(about.value().type, FileType::regular);
    EXPECT_EQ(about.value().size, 19u);
    EXPECT_EQ(about.value().mode, 0750u);
    EXPECT_EQ(about.value().uid, uid_of(sandbox.spec()));
  });
}

CONFORMANCE(LargeBinaryFile_ComesBackByteForByte) {
  auto roomy = spec();
  roomy.limits.memory = mib(384);
  in_sandbox(roomy, [](LiveSandbox& sandbox) -> Task<> {
    std::string bytes;
    for (int i = 0; i < 20'000'000; ++i) bytes += static_cast<char>(i * 31 + i / 1000);
    auto files = sandbox.files();
    auto written = co_await files.write("/workspace/big", bytes);
    EXPECT_TRUE(written) << written.error().message;
    const auto back = co_await files.read("/workspace/big", FileRange{}, mib(64));
    EXPECT_TRUE(back.value().bytes == bytes);
    const FileRange middle{1'000'000, 10};
    const auto part = co_await files.read("/workspace/big", middle, mib(1));
    EXPECT_EQ(part.value().bytes, bytes.substr(1'000'000, 10));
    EXPECT_EQ(part.value().total_size, bytes.size());
    const auto cut = co_await files.read("/workspace/big", FileRange{}, Bytes{100});
    EXPECT_TRUE(cut.value().cut);
    EXPECT_EQ(cut.value().bytes.size(), 100u);
  });
}

CONFORMANCE(FileThatDoesNotFit_IsRefusedAndLeavesNothing) {
  if (fake_has_no("limit on the work directory")) return;
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto files = sandbox.files();
    auto written = co_await files.write("/workspace/too-big", std::string(80 << 20, 'x'));
    EXPECT_FALSE(written);
    if (!written) {
      EXPECT_EQ(written.error().code, ErrorCode::limit_reached) << written.error().message;
    }
    const auto list = co_await files.list("/workspace");
    EXPECT_TRUE(list.value().entries.empty());
  });
}

CONFORMANCE(PathsThatLeadOut_AreRefused) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "ln -s /etc out; ln -s / root; mkfifo pipe; echo in > in");
    auto files = sandbox.files();
    const auto inside = co_await files.read(FilePath::beneath("/workspace", "in"), FileRange{}, mib(1));
    EXPECT_EQ(inside.value().bytes, "in\n");
    const std::string tricks[] = {"out/passwd", "../etc/passwd",       "root/etc/passwd", "/etc/passwd",
                                  "",           std::string("a\0b", 3)};
    for (const auto& trick : tricks) {
      const auto read = co_await files.read(FilePath::beneath("/workspace", trick), FileRange{}, mib(1));
      EXPECT_FALSE(read) << trick;
      auto written = co_await files.write(FilePath::beneath("/workspace", trick), "x");
      EXPECT_FALSE(written) << trick;
    }
    const auto fifo = co_await files.read("/workspace/pipe", FileRange{}, mib(1), Deadline::after(30s));
    EXPECT_FALSE(fifo) << "a fifo must neither be read nor hang";
    if (!fifo) {
      EXPECT_NE(fifo.error().code, ErrorCode::timeout);
    }
  });
}

CONFORMANCE(FilesOfOthers_AreBeyondTheUsersRights) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto files = sandbox.files();
    auto written = co_await files.write("/usr/planted", "x");
    EXPECT_FALSE(written);
    const auto agent = co_await files.read("/proc/1/mem", FileRange{}, mib(1));
    EXPECT_FALSE(agent);
  });
}

CONFORMANCE(GlobAndGrep_FindWhatIsThere) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox,
                             "mkdir -p src/deep; echo 'int main() {}' > src/a.c; echo 'needle here' > src/deep/b.txt; "
                             "printf 'one\\ntwo needle\\nthree\\n' > c.txt; ln -s /etc loop");
    auto files = sandbox.files();
    const auto globbed = co_await files.glob("/workspace", "**/*.{c,txt}");
    std::vector<std::string> paths;
    for (const auto& entry : globbed.value().entries) paths.push_back(entry.path);
    EXPECT_THAT(paths, testing::UnorderedElementsAre("c.txt", "src/a.c", "src/deep/b.txt"));
    GrepOptions options;
    options.glob = "*.txt";
    options.letter_case = GrepOptions::Case::ignore;
    const auto grepped = co_await files.grep("/workspace", "NEEDLE", std::move(options));
    EXPECT_EQ(grepped.value().matches.size(), 2u);
    if (!grepped.value().matches.empty()) {
      EXPECT_EQ(grepped.value().matches[0].path, "c.txt");
      EXPECT_EQ(grepped.value().matches[0].line, 2u);
      EXPECT_EQ(grepped.value().matches[0].text, "two needle");
    }
    GrepOptions plain;
    const auto bad = co_await files.grep("/workspace", "(unclosed", std::move(plain));
    EXPECT_FALSE(bad);
    if (!bad) {
      EXPECT_EQ(bad.error().code, ErrorCode::invalid_argument);
    }
  });
}

CONFORMANCE(TreePackedAndUnpacked_IsTheSame) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(
        sandbox, "mkdir -p t/sub; echo one > t/one; echo two > t/sub/two; ln -s one t/link; chmod 700 t/sub/two");
    auto files = sandbox.files();
    std::string tar;
    Files::Sink sink = [&tar](std::string bytes) -> Task<Status> {
      tar += bytes;
      co_return Status{};
    };
    auto packed = co_await files.pack("/workspace/t", std::move(sink));
    EXPECT_TRUE(packed) << packed.error().message;
    Files::Source source = from_memory(tar);
    auto unpacked = co_await files.unpack("/workspace/copy", std::move(source));
    EXPECT_TRUE(unpacked) << unpacked.error().message;
    const auto ran =
        co_await run_shell(sandbox, "cat copy/one copy/sub/two; readlink copy/link; test -x copy/sub/two && echo x");
    EXPECT_EQ(ran.out, "one\ntwo\none\nx\n");
    Files::Source broken = from_memory(tar.substr(0, tar.size() / 2));
    auto half = co_await files.unpack("/workspace/half", std::move(broken));
    EXPECT_FALSE(half);
  });
}

CONFORMANCE(MoveAndRemove_DoAsTheySay) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto files = sandbox.files();
    (void)co_await files.write("/workspace/d/x", "x");
    auto moved = co_await files.move("/workspace/d/x", "/workspace/d/y");
    EXPECT_TRUE(moved) << moved.error().message;
    auto full = co_await files.remove("/workspace/d", Recursion::none, Missing::error);
    EXPECT_FALSE(full);
    auto gone = co_await files.remove("/workspace/d", Recursion::whole_tree, Missing::error);
    EXPECT_TRUE(gone) << gone.error().message;
    auto again = co_await files.remove("/workspace/d", Recursion::whole_tree, Missing::error);
    EXPECT_EQ(again.error().code, ErrorCode::not_found);
    auto fine = co_await files.remove("/workspace/d", Recursion::whole_tree, Missing::fine);
    EXPECT_TRUE(fine);
  });
}

CONFORMANCE(Edit_ReplacesExactTextOrNothing) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "printf 'one two two' > f; chmod 750 f; ln -s f link; ln -s /etc/passwd out");
    auto files = sandbox.files();
    const auto edit = [&files](const char* path, EditRequest request) -> Task<Result<EditResult>> {
      FilePath place = FilePath::beneath("/workspace", path);
      auto edited = co_await files.edit(std::move(place), std::move(request), Deadline::after(30s));
      co_return edited;
    };
    EditRequest once{"one", "1"};
    const auto done = co_await edit("link", once);
    EXPECT_TRUE(done) << done.error().message;
    if (done) {
      EXPECT_EQ(done->outcome, EditOutcome::done);
    }
    EditRequest twice{"two", "2"};
    const auto ambiguous = co_await edit("f", twice);
    if (ambiguous) {
      EXPECT_EQ(ambiguous->outcome, EditOutcome::other_count);
    }
    if (ambiguous) {
      EXPECT_EQ(ambiguous->matches, 2U);
    }
    twice.expected = 0;
    (void)co_await edit("f", twice);
    const auto none = co_await edit("f", once);
    if (none) {
      EXPECT_EQ(none->outcome, EditOutcome::no_match);
    }
    const auto outside = co_await edit("out", once);
    EXPECT_FALSE(outside);
    const auto ran = co_await run_shell(sandbox, "cat f; find f -printf ' %m\\n'; ls -A");
    EXPECT_EQ(ran.out, "1 2 2 750\nf\nlink\nout\n");
  });
}

CONFORMANCE(ReadOnlyFile_IsRefusedByEveryWayOfWriting) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "echo kept > f; chmod 444 f; mkdir closed; echo in > closed/f; chmod 555 closed");
    auto files = sandbox.files();
    for (const char* path : {"/workspace/f", "/workspace/closed/f"}) {
      WriteOptions options;
      auto written = co_await files.write(path, "x", options, Deadline::after(30s));
      EXPECT_FALSE(written) << path;
      if (!written) {
        EXPECT_EQ(written.error().code, ErrorCode::permission_denied) << written.error().message;
      }
    }
    WriteOptions append;
    append.existing = WriteOptions::Existing::append;
    auto appended = co_await files.write("/workspace/f", "x", append, Deadline::after(30s));
    EXPECT_FALSE(appended);
    WriteOptions force;
    force.read_only = WriteOptions::ReadOnly::replace;
    auto forced = co_await files.write("/workspace/g", "x", force, Deadline::after(30s));
    EXPECT_TRUE(forced);
    const auto ran = co_await run_shell(sandbox, "cat f closed/f; chmod 755 closed");
    EXPECT_EQ(ran.out, "kept\nin\n");
  });
}

CONFORMANCE(Move_KeepsWhatIsThere_AndCrossesFileSystems) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "mkdir -p d/e; echo deep > d/e/f; chmod 750 d/e/f; echo a > a; echo b > b");
    auto files = sandbox.files();
    MoveOptions keep;
    keep.existing = MoveOptions::Existing::keep;
    auto taken = co_await files.move("/workspace/a", "/workspace/b", keep, Deadline::after(30s));
    EXPECT_FALSE(taken);
    if (!taken) {
      EXPECT_EQ(taken.error().code, ErrorCode::already_exists) << taken.error().message;
    }
    FilePath inside = FilePath::beneath("/workspace", "d");
    FilePath outside = FilePath::anywhere("/tmp/moved");
    auto across = co_await files.move(inside, outside, keep, Deadline::after(30s));
    EXPECT_TRUE(across) << across.error().message;
    FilePath back = FilePath::beneath("/workspace", "back");
    FilePath one = FilePath::anywhere("/tmp/moved/e/f");
    auto returned = co_await files.move(one, back, keep, Deadline::after(30s));
    EXPECT_TRUE(returned) << returned.error().message;
    const auto ran = co_await run_shell(sandbox, "cat back b; find back -printf '%m\\n'; ls -A; cd /tmp/moved; ls -A");
    EXPECT_EQ(ran.out, "deep\nb\n750\na\nb\nback\ne\n");
  });
}

CONFORMANCE(FilesOfTheKernel_AreRefusedToCallers) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "ln -s /proc/self/status /tmp/s; ln -s /proc /tmp/p; echo t > /tmp/t");
    auto files = sandbox.files();
    for (const char* path : {"/proc/self/status", "/proc/1/environ", "/proc/version", "/proc/self/mem", "/tmp/s",
                             "/tmp/p/version", "/tmp/p/self/status"}) {
      FilePath place = FilePath::anywhere(path);
      const auto read = co_await files.read(std::move(place), FileRange{}, mib(1), Deadline::after(30s));
      EXPECT_FALSE(read) << path;
    }
    FilePath plain = FilePath::anywhere("/tmp/t");
    const auto read = co_await files.read(std::move(plain), FileRange{}, mib(1), Deadline::after(30s));
    EXPECT_TRUE(read) << read.error().message;
    FilePath top = FilePath::anywhere("/");
    GrepOptions options;
    options.glob = "status";
    options.most = 10;
    const auto found = co_await files.grep(std::move(top), "^Pid:", options, Deadline::after(60s));
    EXPECT_TRUE(found) << found.error().message;
    if (found) {
      EXPECT_TRUE(found->matches.empty()) << found->matches.front().path;
    }
  });
}

}  // namespace cloche

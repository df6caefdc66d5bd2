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
    EXPECT_EQ(about.value().uid, 1000u);
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

}  // namespace cloche

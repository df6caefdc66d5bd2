// Running programs: arguments, environment, input, output, signals.
#include <csignal>

#include "conformance/conformance.hpp"

namespace cloche {

CONFORMANCE(ProgramThatPrints_OutputAndExitCodeAreItsOwn) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, "echo out; echo err >&2; exit 7");
    EXPECT_EQ(ran.out, "out\n");
    EXPECT_EQ(ran.err, "err\n");
    EXPECT_EQ(ran.outcome.ending, Ending::exited);
    EXPECT_EQ(ran.outcome.exit_code, 7);
    EXPECT_GT(ran.outcome.wall.count(), 0);
    EXPECT_GT(ran.outcome.peak_memory.count, 0u);
  });
}

CONFORMANCE(ArgumentsWithOddBytes_ArriveByteForByte) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const std::string odd = "a b'\"\\$(x)`y`\n\t\xff\xfe*";
    std::vector<std::string> argv{"/bin/sh", "-c", "printf '%s|%s' \"$1\" \"$2\"", "sh", odd, ""};
    const auto ran = co_await run_argv(sandbox, std::move(argv));
    EXPECT_EQ(ran.out, odd + "|");
  });
}

CONFORMANCE(Environment_IsWhatWasGivenAndSensibleDefaults) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("echo $SECRET; echo $HOME; pwd; umask; id -u; id -g");
    spec.env = {{"SECRET", "s3cret=x"}};
    const auto ran = co_await run_program(sandbox, std::move(spec));
    const std::string uid = std::to_string(uid_of(sandbox.spec()));
    EXPECT_EQ(ran.out, "s3cret=x\n/workspace\n/workspace\n0022\n" + uid + "\n1000\n");
  });
}

// Java has no home without it, and some libraries end with an error.
CONFORMANCE(UserOfTheProgram_HasANameInTheSystemsList) {
  if (fake_has_no("users")) return;
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox,
                                         "import getpass, os, pwd\n"
                                         "print(pwd.getpwuid(os.getuid()).pw_name, getpass.getuser())\n");
    EXPECT_EQ(ran.out, "sandbox sandbox\n") << ran.err;
  });
}

CONFORMANCE(InputOfManyBytes_ArrivesWholeAndThenEnds) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec;
    spec.argv = {"cat"};
    spec.stdin_mode = Stdin::bytes;
    spec.keep_output = mib(16);
    for (int i = 0; i < 5'000'000; ++i) spec.input += static_cast<char>(i * 7 + i / 256);
    const std::string expected = spec.input;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_TRUE(ran.out == expected) << ran.out.size() << " bytes came back";
    EXPECT_TRUE(ran.outcome.success());
  });
}

CONFORMANCE(InputNotGiven_IsAtItsEndAtOnce) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, "cat; echo done");
    EXPECT_EQ(ran.out, "done\n");
  });
}

CONFORMANCE(InputHeldOpen_KeepsTheProgramWaitingUntilItIsClosed) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec;
    spec.argv = {"cat"};
    spec.stdin_mode = Stdin::stream;
    auto started = co_await sandbox.start(std::move(spec));
    EXPECT_TRUE(started);
    auto& exec = **started;
    (void)co_await exec.write_stdin("one\n");
    auto piece = co_await exec.next(Deadline::after(60s));
    EXPECT_TRUE(piece && std::holds_alternative<Output>(*piece));
    if (piece && std::holds_alternative<Output>(*piece)) {
      EXPECT_EQ(std::get<Output>(*piece).bytes, "one\n");
    }
    exec.close_stdin();
    const auto end = co_await exec.collect(Deadline::after(60s));
    EXPECT_TRUE(end && end->outcome.success());
  });
}

CONFORMANCE(ProgramThatDoesNotReadItsInput_IsNotWaitedFor) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("exit 3");
    spec.stdin_mode = Stdin::bytes;
    spec.input.assign(4'000'000, 'x');
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.exit_code, 3);
  });
}

CONFORMANCE(OutputOverItsCap_IsCutAndCounted) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2");
    spec.keep_output = Bytes{1'000'000};
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_TRUE(ran.outcome.success());
    EXPECT_EQ(ran.out.size(), 1'000'000u);
    EXPECT_EQ(ran.outcome.out.produced, Bytes{3'000'000});
    EXPECT_EQ(ran.outcome.out.dropped, Bytes{2'000'000});
    EXPECT_EQ(ran.outcome.err.dropped, Bytes{1'000'000});
  });
}

CONFORMANCE(FloodOfOneProgram_DoesNotHoldUpAnother) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec flood = ExecSpec::shell("yes");
    flood.stop_output = {0};
    flood.keep_output = {0};  // keeps all: there is no reader, so it must stop
    auto flooding = co_await sandbox.start(std::move(flood));
    EXPECT_TRUE(flooding);
    const auto ran = co_await run_shell(sandbox, "echo through");
    EXPECT_EQ(ran.out, "through\n");
    (*flooding)->stop();
    const auto end = co_await (*flooding)->collect(Deadline::after(60s));
    EXPECT_EQ(end.value().outcome.ending, Ending::cancelled);
  });
}

CONFORMANCE(SignalFromTheCaller_ReachesTheProgram) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("trap 'echo caught; exit 5' USR1; echo ready; while :; do sleep 0.05; done");
    auto started = co_await sandbox.start(std::move(spec));
    auto& exec = **started;
    (void)co_await exec.next(Deadline::after(60s));
    exec.signal(SIGUSR1);
    const auto end = co_await exec.collect(Deadline::after(60s));
    EXPECT_EQ(end.value().out, "caught\n");
    EXPECT_EQ(end.value().outcome.exit_code, 5);
  });
}

CONFORMANCE(Terminal_IsOneAndCanBeResized) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("tty >/dev/null && echo terminal; stty size; read line; stty size");
    spec.terminal = TerminalSize{40, 100};
    spec.stdin_mode = Stdin::stream;
    auto started = co_await sandbox.start(std::move(spec));
    auto& exec = **started;
    std::string out;
    while (out.find("40 100") == std::string::npos) {
      auto piece = co_await exec.next(Deadline::after(60s));
      if (!piece || !std::holds_alternative<Output>(*piece)) break;
      out += std::get<Output>(*piece).bytes;
    }
    EXPECT_THAT(out, HasSubstr("terminal"));
    exec.resize({50, 132});
    (void)co_await exec.write_stdin("x\n");
    const auto end = co_await exec.collect(Deadline::after(60s));
    EXPECT_THAT(end.value().out, HasSubstr("50 132"));
    EXPECT_TRUE(end.value().outcome.success());
  });
}

CONFORMANCE(TerminalInterruptCharacter_InterruptsTheProgram) {
  if (target().is_gvisor())
    CLOCHE_DOES_NOT_APPLY("gVisor's terminals make no signals of characters; Exec::signal does");
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("echo ready; exec sleep 100");
    spec.terminal = TerminalSize{};
    spec.stdin_mode = Stdin::stream;
    auto started = co_await sandbox.start(std::move(spec));
    auto& exec = **started;
    (void)co_await exec.next(Deadline::after(60s));
    (void)co_await exec.write_stdin("\x03");
    const auto end = co_await exec.collect(Deadline::after(60s));
    EXPECT_EQ(end.value().outcome.ending, Ending::signalled);
    EXPECT_EQ(end.value().outcome.signal, SIGINT);
  });
}

CONFORMANCE(BackgroundExec_IsListedSignalledAndWaitedFor) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("echo begun; trap 'echo ended; exit 9' TERM; while :; do sleep 0.05; done");
    spec.lifetime = Lifetime::background;
    std::uint64_t id = 0;
    {
      auto started = co_await sandbox.start(std::move(spec), Deadline::after(60s));
      EXPECT_TRUE(started);
      id = (*started)->background_id();
    }
    const auto other = co_await run_shell(sandbox, "echo beside");
    EXPECT_EQ(other.out, "beside\n");
    const auto list = co_await sandbox.list_background();
    EXPECT_EQ(list.value().size(), 1u);
    EXPECT_TRUE(list.value().at(0).running);
    auto attached = co_await sandbox.attach(id, LiveSandbox::AfterEnd::collect);
    auto& exec = **attached;
    auto piece = co_await exec.next(Deadline::after(60s));
    EXPECT_EQ(std::get<Output>(piece.value()).bytes, "begun\n");
    exec.signal(SIGTERM);
    const auto end = co_await exec.collect(Deadline::after(60s));
    EXPECT_EQ(end.value().out, "ended\n");
    EXPECT_EQ(end.value().outcome.exit_code, 9);
    const auto after = co_await sandbox.list_background();
    EXPECT_TRUE(after.value().empty());
  });
}

CONFORMANCE(ManyProgramsAtOnce_EachGetsItsOwnOutput) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    const int count = target().is_gvisor() ? 4 : 8;
    std::vector<std::unique_ptr<Exec>> execs;
    for (int i = 0; i < count; ++i) {
      ExecSpec spec = ExecSpec::shell("for n in 1 2 3; do echo " + std::to_string(i) + "; done");
      auto started = co_await sandbox.start(std::move(spec));
      execs.push_back(std::move(started.value()));
    }
    for (int i = 0; i < count; ++i) {
      const auto end = co_await execs[static_cast<std::size_t>(i)]->collect(Deadline::after(60s));
      const std::string line = std::to_string(i) + "\n";
      EXPECT_EQ(end.value().out, line + line + line);
    }
  });
}

CONFORMANCE(PortInTheSandbox_IsReachedOverTheChannel) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec;
    spec.argv = {"python3", "-u", "-c",
                 "import socket\n"
                 "s = socket.create_server(('127.0.0.1', 8000))\n"
                 "print('up')\n"
                 "c, _ = s.accept()\n"
                 "data = b''\n"
                 "while (part := c.recv(65536)): data += part\n"
                 "c.sendall(data[::-1])\n"
                 "c.close()\n"};
    auto started = co_await sandbox.start(std::move(spec));
    auto& exec = **started;
    (void)co_await exec.next(Deadline::after(60s));
    auto connected = co_await sandbox.connect(8000, Deadline::after(30s));
    EXPECT_TRUE(connected) << connected.error().message;
    std::string sent;
    for (int i = 0; i < 700'000; ++i) sent += static_cast<char>(i * 13);
    (void)co_await (*connected)->write(sent, Deadline::after(60s));
    (*connected)->finish();
    std::string received;
    for (;;) {
      auto part = co_await (*connected)->read(Deadline::after(60s));
      EXPECT_TRUE(part) << part.error().message;
      if (!part || part->empty()) break;
      received += *part;
    }
    EXPECT_TRUE(received == std::string(sent.rbegin(), sent.rend()));
    auto refused = co_await sandbox.connect(8001, Deadline::after(30s));
    EXPECT_FALSE(refused);
    if (!refused) {
      EXPECT_EQ(refused.error().code, ErrorCode::not_found);
    }
  });
}

CONFORMANCE(ProgramWithAFileOfItsOwn_FindsItAsItsUsers) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec;
    spec.argv = {"sh", "/tmp/own/deep/script"};
    LiveSandbox::StartExtras extras;
    auto& file = extras.file.emplace();
    file.path = "/tmp/own/deep/script";
    file.content =
        "id -u; cd /tmp/own; for f in . deep deep/script; do test -O $f && echo own; done; test -w deep/script && echo "
        "w";
    auto started = co_await sandbox.start(std::move(spec), std::move(extras), Deadline::after(30s));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    const auto ran = co_await (*started)->collect(Deadline::after(30s));
    EXPECT_TRUE(ran) << ran.error().message;
    if (ran) {
      EXPECT_EQ(ran->out, std::to_string(uid_of(sandbox.spec())) + "\nown\nown\nown\nw\n") << ran->err;
    }
  });
}

CONFORMANCE(ProgramWhoseFileCannotBeWritten_IsRefused_AndNothingIsLeft) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "echo mine > /tmp/there; ln -s /tmp/elsewhere /tmp/link; mkdir /tmp/dir");
    for (const char* path : {"/tmp/there", "/tmp/link", "/tmp/dir", "/tmp/dir/", "/etc/passwd", "/usr/new/file",
                             "relative", "/tmp/../etc/x", "/tmp/there/below", "/proc/self/x"}) {
      ExecSpec spec;
      spec.argv = {"true"};
      LiveSandbox::StartExtras extras;
      auto& file = extras.file.emplace();
      file.path = path;
      file.content = "x";
      auto started = co_await sandbox.start(std::move(spec), std::move(extras), Deadline::after(30s));
      EXPECT_TRUE(started) << started.error().message;
      if (!started) continue;
      const auto ran = co_await (*started)->collect(Deadline::after(30s));
      EXPECT_FALSE(ran) << path;
    }
    const auto left = co_await run_shell(sandbox, "cat /tmp/there; cd /tmp; echo *; cd dir; echo *");
    EXPECT_EQ(left.out, "mine\ndir link there\n*\n") << left.err;
  });
}

CONFORMANCE(ProgramWhoseFileHasNoRoom_IsRefused_AndNothingIsLeft) {
  if (fake_has_no("limit on /tmp")) return;
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "for i in 1 2 3 4 5 6 7 8; do cat /dev/zero > /tmp/full$i; done 2>/dev/null");
    ExecSpec spec;
    spec.argv = {"true"};
    LiveSandbox::StartExtras extras;
    auto& file = extras.file.emplace();
    file.path = "/tmp/own/file";
    file.content = std::string(100'000, 'x');
    auto started = co_await sandbox.start(std::move(spec), std::move(extras), Deadline::after(30s));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    const auto ran = co_await (*started)->collect(Deadline::after(30s));
    EXPECT_FALSE(ran);
    if (!ran) {
      EXPECT_EQ(ran.error().code, ErrorCode::limit_reached) << ran.error().message;
    }
    const auto left = co_await run_shell(sandbox, "test -e /tmp/own && echo left; true");
    EXPECT_EQ(left.out, "");
  });
}

// What people type first. Debian 12's gVisor refuses a flag that coreutils set.
CONFORMANCE(ListingAndStatOfFiles_Work) {
  if (target().is_gvisor() && target().backend == "docker")
    CLOCHE_DOES_NOT_APPLY("on docker nothing is put into an image's /etc");
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(
        sandbox,
        "mkdir d; printf hello > d/file; ls d; ls -l d | tail -n 1 | cut -c 1-10; stat -c %s d/file; ls -d /; ls none");
    EXPECT_EQ(ran.out, "file\n-rw-r--r--\n5\n/\n");
    EXPECT_THAT(ran.err, HasSubstr("none"));
    EXPECT_THAT(ran.err, Not(HasSubstr("Invalid argument")));
  });
}

}  // namespace cloche

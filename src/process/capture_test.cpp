#include "process/capture.hpp"

#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "process/descriptors.hpp"
#include "process/programs.hpp"

namespace cloche::process {
namespace {

using namespace std::chrono_literals;

// A shell whose two outputs are captured.
class Capture : public testing::Test {
 protected:
  Result<CaptureEnd> run(const std::string& script, Bytes most, const CancelToken& token) {
    out_ = make_pipe().value();
    err_ = make_pipe().value();
    Spec spec;
    spec.program = "/bin/sh";
    spec.argv = {"sh", "-c", script};
    spec.environment = {"PATH=" + std::string(system_path)};
    spec.out = out_.write.get();
    spec.err = err_.write.get();
    child_.emplace(Child::start(spec).value());
    out_.write.reset();
    err_.write.reset();
    outputs_ = {Captured{out_.read.get(), most, {}, 0}, Captured{err_.read.get(), most, {}, 0}};
    return capture(*child_, outputs_, token);
  }
  Result<CaptureEnd> run(const std::string& script) { return run(script, mib(1), CancelToken(Deadline::after(60s))); }

  Pipe out_;
  Pipe err_;
  std::optional<Child> child_;
  std::array<Captured, 2> outputs_;
};

TEST_F(Capture, BothOutputs_AreKeptApart) {
  EXPECT_EQ(run("echo out; echo err >&2; exit 3").value(), CaptureEnd::ended);
  EXPECT_EQ(outputs_[0].kept, "out\n");
  EXPECT_EQ(outputs_[1].kept, "err\n");
  EXPECT_EQ(child_->reap().exit_code(), 3);
}

TEST_F(Capture, MoreThanAPipeHolds_IsKeptWhole) {
  EXPECT_EQ(run("head -c 500000 /dev/zero").value(), CaptureEnd::ended);
  EXPECT_EQ(outputs_[0].kept.size(), 500'000U);
}

TEST_F(Capture, OutputLimit_KeepsTheBeginning) {
  EXPECT_EQ(run("yes", kib(64), CancelToken(Deadline::after(60s))).value(), CaptureEnd::output_limit);
  EXPECT_EQ(outputs_[0].kept.size(), kib(64).count);
  EXPECT_GT(outputs_[0].produced, kib(64).count);
  EXPECT_FALSE(child_->ends_by(Deadline::after(0s)));
}

TEST_F(Capture, ExactlyAsMuchAsAllowed_IsNoError) {
  EXPECT_EQ(run("head -c 1024 /dev/zero", kib(1), CancelToken(Deadline::after(60s))).value(), CaptureEnd::ended);
  EXPECT_EQ(outputs_[0].kept.size(), 1024U);
}

TEST_F(Capture, ChildThatHoldsTheOutput_IsNotWaitedFor) {
  EXPECT_EQ(run("sleep 1000 & echo done").value(), CaptureEnd::ended);
  EXPECT_EQ(outputs_[0].kept, "done\n");
}

TEST_F(Capture, ProgramThatClosesItsOutputs_IsStillWaitedFor) {
  EXPECT_EQ(run("exec >&- 2>&-; sleep 0.2; exit 5").value(), CaptureEnd::ended);
  EXPECT_EQ(child_->reap().exit_code(), 5);
}

TEST_F(Capture, Deadline_IsATimeout) {
  const auto end = run("echo before; exec sleep 1000", mib(1), CancelToken(Deadline::after(300ms)));
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::timeout);
}

TEST_F(Capture, Cancellation_IsNoticed) {
  const CancelToken token(Deadline::never());
  std::thread other([&] { token.cancel(); });
  const auto end = run("exec sleep 1000", mib(1), token);
  other.join();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace cloche::process

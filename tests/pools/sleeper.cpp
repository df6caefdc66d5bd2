#include "pools/sleeper.hpp"

namespace cloche {

Task<std::unique_ptr<Exec>> start_sleeper(pool::Lease& lease, std::string zygote) {
  ExecSpec spec = ExecSpec::shell("echo on; sleep 1000");
  if (!zygote.empty()) {
    auto files = lease->files();
    FilePath path("/workspace/main.py");
    std::string source = "import time\nprint('on', flush=True)\ntime.sleep(1000)\n";
    auto written = co_await files.write(std::move(path), std::move(source));
    EXPECT_TRUE(written) << written.error().message;
    spec.argv = {"main.py"};
    spec.zygote = std::move(zygote);
  }
  auto started = co_await lease.start(std::move(spec), Deadline::after(60s));
  if (!started) throw std::runtime_error("not started: " + started.error().message);
  auto said = co_await (*started)->next(Deadline::after(60s));
  EXPECT_TRUE(said && std::holds_alternative<Output>(*said));
  co_return std::move(*started);
}

Task<Error> end_of(Exec& exec) {
  const auto began = Deadline::Clock::now();
  auto ended = co_await exec.collect(Deadline::after(at_once * 2));
  EXPECT_LT(Deadline::Clock::now() - began, at_once) << "the exec hung";
  EXPECT_FALSE(ended);
  co_return ended ? Error() : ended.error();
}

}  // namespace cloche

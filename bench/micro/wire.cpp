// Frames and messages of the channel: every byte between server and agent goes through these.
#include <benchmark/benchmark.h>

#include "wire/exec_messages.hpp"
#include "wire/frame.hpp"

namespace cloche::wire {
namespace {

Frame data_frame(const std::string& payload) {
  Frame frame;
  frame.type = FrameType::data;
  frame.lane = lane::out;
  frame.stream = 7;
  frame.payload = payload;
  return frame;
}

void encode_frame(benchmark::State& state) {
  const std::string payload(static_cast<std::size_t>(state.range(0)), 'x');
  std::string out;
  for (auto _ : state) {
    out.clear();
    append_frame(out, data_frame(payload));
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(encode_frame)->Arg(64)->Arg(4096)->Arg(max_payload);

void decode_frame(benchmark::State& state) {
  const std::string payload(static_cast<std::size_t>(state.range(0)), 'x');
  std::string bytes;
  append_frame(bytes, data_frame(payload));
  FrameDecoder decoder;
  for (auto _ : state) {
    decoder.feed(bytes);
    auto frame = decoder.next();
    if (!frame || !*frame) state.SkipWithError("no frame");
    benchmark::DoNotOptimize(frame);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(decode_frame)->Arg(64)->Arg(4096)->Arg(max_payload);

ExecRequest typical_request() {
  ExecRequest request;
  request.argv = {"/tmp/run/main.py"};
  request.env = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/workspace", "LANG=C.UTF-8", "PYTHONPATH=/workspace"};
  request.cwd = "/workspace";
  request.uid = request.gid = 1000;
  request.wall_ms = 120'000;
  request.keep_bytes = 1 << 20;
  request.rlimits = {{7, 1024, 1024}, {1, 64 << 20, 64 << 20}};
  request.zygote = "python";
  return request;
}

void encode_exec_request(benchmark::State& state) {
  const ExecRequest request = typical_request();
  for (auto _ : state) benchmark::DoNotOptimize(encode(request));
}
BENCHMARK(encode_exec_request);

void decode_exec_request(benchmark::State& state) {
  const std::string bytes = encode(typical_request());
  for (auto _ : state) benchmark::DoNotOptimize(decode<ExecRequest>(bytes));
}
BENCHMARK(decode_exec_request);

}  // namespace
}  // namespace cloche::wire

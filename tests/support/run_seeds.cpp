// Runs a fuzzer's function once for each seed, and once for no bytes: so that every build compiles the fuzzers and
// checks what they have found before. Usage: NAME_seeds [DIRECTORY]
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Custom mutators refer to it; nothing mutates here.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t size, std::size_t) { return size; }

namespace {

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  run("");
  int seeds = 0;
  if (argc > 1) {
    for (const auto& seed : std::filesystem::directory_iterator(argv[1])) {
      std::printf("%s\n", seed.path().filename().c_str());
      std::fflush(stdout);
      std::ifstream file(seed.path(), std::ios::binary);
      run({std::istreambuf_iterator<char>(file), {}});
      ++seeds;
    }
    if (seeds == 0) {
      std::fprintf(stderr, "%s has no seeds\n", argv[1]);
      return 1;
    }
  }
  std::printf("%d seeds\n", seeds);
  return 0;
}

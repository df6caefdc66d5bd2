// A tar archive of one file, made as it is sent: never in memory as a whole.
#pragma once

#include <cstdint>
#include <string>

namespace cloche::bench {

class TarStream {
 public:
  // A file of `size` bytes, a multiple of 512.
  TarStream(const std::string& name, std::uint64_t size);

  // The next piece; empty at the end.
  std::string next();

 private:
  std::string header_;
  std::uint64_t left_;
  enum class Part { header, content, end, done } part_ = Part::header;
};

}  // namespace cloche::bench

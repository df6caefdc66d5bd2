#include "bench/tar_stream.hpp"

#include <algorithm>
#include <cstdio>

namespace cloche::bench {

namespace {

constexpr std::size_t block = 512;
constexpr std::uint64_t piece = 256 * 1024;

void put(std::string& header, std::size_t at, const std::string& text) { header.replace(at, text.size(), text); }

std::string octal(std::uint64_t value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(value));
  return text;
}

// The ustar layout of POSIX.
std::string header_of(const std::string& name, std::uint64_t size) {
  std::string header(block, '\0');
  put(header, 0, name);
  put(header, 100, octal(0644, 7));
  put(header, 108, octal(0, 7));
  put(header, 116, octal(0, 7));
  put(header, 124, octal(size, 11));
  put(header, 136, octal(0, 11));
  put(header, 148, std::string(8, ' '));  // the checksum is counted with blanks in its place
  put(header, 156, "0");
  put(header, 257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(header, 148, octal(sum, 6) + std::string("\0 ", 2));
  return header;
}

}  // namespace

TarStream::TarStream(const std::string& name, std::uint64_t size) : header_(header_of(name, size)), left_(size) {}

std::string TarStream::next() {
  switch (part_) {
    case Part::header: part_ = left_ > 0 ? Part::content : Part::end; return header_;
    case Part::content: {
      const std::uint64_t count = std::min(left_, piece);
      left_ -= count;
      if (left_ == 0) part_ = Part::end;
      return std::string(count, 'x');
    }
    case Part::end: part_ = Part::done; return std::string(2 * block, '\0');
    case Part::done: break;
  }
  return {};
}

}  // namespace cloche::bench

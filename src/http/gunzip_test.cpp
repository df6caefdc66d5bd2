// Bodies with the coding gzip.
#include "http/gunzip.hpp"

#include <gtest/gtest.h>

#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/crc.hpp>

namespace cloche::http {
namespace {

using namespace std::string_literals;
namespace zlib = boost::beast::zlib;

std::string little(std::uint32_t number) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

std::string gzip(const std::string& text, const std::string& head = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"s) {
  std::string out(text.size() + 1024, '\0');
  zlib::deflate_stream deflate;
  zlib::z_params params;
  params.next_in = text.data();
  params.avail_in = text.size();
  params.next_out = out.data();
  params.avail_out = out.size();
  boost::system::error_code error;
  deflate.write(params, zlib::Flush::finish, error);
  out.resize(out.size() - params.avail_out);
  boost::crc_32_type checksum;
  checksum.process_bytes(text.data(), text.size());
  return head + out + little(checksum.checksum()) + little(static_cast<std::uint32_t>(text.size()));
}

struct Decoded {
  std::string text;
  bool complete = false;
  std::size_t largest = 0;
  std::optional<Error> error;
};

Decoded decode(std::string_view bytes, std::size_t piece) {
  Gunzip gunzip;
  Decoded decoded;
  for (;;) {
    auto next = gunzip.next();
    if (!next) {
      decoded.error = next.error();
      return decoded;
    }
    decoded.largest = std::max(decoded.largest, next->size());
    decoded.text += *next;
    if (!next->empty()) continue;
    if (bytes.empty()) break;
    gunzip.feed(std::string(bytes.substr(0, piece)));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  decoded.complete = gunzip.is_complete();
  return decoded;
}

TEST(Gunzip, PiecesOfAnySize_GiveTheText) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919) + "\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{1} << 20}) {
    const Decoded decoded = decode(gzip(text), piece);
    EXPECT_FALSE(decoded.error);
    EXPECT_TRUE(decoded.complete);
    EXPECT_EQ(decoded.text, text);
  }
}

TEST(Gunzip, EmptyText_IsComplete) {
  const Decoded decoded = decode(gzip(""), 100);
  EXPECT_TRUE(decoded.complete);
  EXPECT_EQ(decoded.text, "");
}

TEST(Gunzip, HeadWithNameCommentAndExtraFields_IsSkipped) {
  const std::string head = "\x1f\x8b\x08\x1e\x00\x00\x00\x00\x00\x03\x02\x00xyname\0comment\0cc"s;
  EXPECT_EQ(decode(gzip("text", head), 1).text, "text");
}

TEST(Gunzip, TwoMembers_AreOneText) {
  const Decoded decoded = decode(gzip("one ") + gzip("two"), 3);
  EXPECT_TRUE(decoded.complete);
  EXPECT_EQ(decoded.text, "one two");
}

TEST(Gunzip, VeryWellCompressedText_ComesInBoundedPieces) {
  const std::string text(std::size_t{16} << 20, 'x');
  const Decoded decoded = decode(gzip(text), std::size_t{1} << 20);
  EXPECT_EQ(decoded.text.size(), text.size());
  EXPECT_LE(decoded.largest, std::size_t{64} * 1024);
}

TEST(Gunzip, CutText_IsNotComplete) {
  const std::string whole = gzip("some text that is cut");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Decoded decoded = decode(whole.substr(0, size), 5);
    EXPECT_FALSE(decoded.error) << size;
    EXPECT_FALSE(decoded.complete) << size;
  }
}

TEST(Gunzip, OtherBytes_AreRefused) {
  EXPECT_TRUE(decode("plain text, not gzip at all", 4).error);
  std::string wrong_sum = gzip("text");
  wrong_sum[wrong_sum.size() - 8] ^= 1;
  EXPECT_TRUE(decode(wrong_sum, 100).error);
  std::string corrupt = gzip("text");
  corrupt[10] = '\xff';
  EXPECT_TRUE(decode(corrupt, 100).error);
  EXPECT_TRUE(decode(gzip("text") + "more", 100).error || !decode(gzip("text") + "more", 100).complete);
}

}  // namespace
}  // namespace cloche::http

#include "cli/json_text.hpp"

#include "core/utf8.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace cloche::cli {
namespace {

TEST(ToUtf8, WellFormedText_StaysAsItIs) {
  const std::string text = std::string("plain\n\0 \xc3\xa4 \xe2\x82\xac \xf0\x9f\x8c\xb1", 20);
  EXPECT_EQ(to_utf8(text), text);
}

TEST(ToUtf8, EachBadByte_IsReplaced) {
  const std::string mark = "\xef\xbf\xbd";
  for (const auto& [bytes, text] : {
           std::pair{std::string("a\xff") + "b", "a" + mark + "b"},
           {"\xc3", mark},                        // cut short
           {"\xc0\xaf", mark + mark},             // overlong
           {"\xe0\x80\xaf", mark + mark + mark},  // overlong
           {"\xed\xa0\x80", mark + mark + mark},  // half a surrogate pair
           {"\xf4\x90\x80\x80", mark + mark + mark + mark},
           {"\xe2\x82", mark + mark},
       }) {
    EXPECT_EQ(to_utf8(bytes), text);
  }
}

TEST(PutText, Utf8_HasNoSecondForm) {
  boost::json::object json;
  put_text(json, "stdout", "hello\n");
  EXPECT_EQ(json.at("stdout").as_string(), "hello\n");
  EXPECT_FALSE(json.contains("stdout_base64"));
}

TEST(PutText, OtherBytes_AreThereAsBase64Too) {
  boost::json::object json;
  put_text(json, "stdout", "\xffz");
  EXPECT_EQ(json.at("stdout").as_string(), "\xef\xbf\xbdz");
  EXPECT_EQ(json.at("stdout_base64").as_string(), "/3o=");
}

}  // namespace
}  // namespace cloche::cli

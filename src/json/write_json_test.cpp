#include "json/write_json.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <limits>
#include <random>

namespace cloche {
namespace {

TEST(WriteJson, Numbers_ArePlainDecimals) {
  const std::vector<std::pair<double, std::string>> all{{0, "0"},
                                                        {-0.0, "0"},
                                                        {0.014928, "0.014928"},
                                                        {-0.014928, "-0.014928"},
                                                        {2, "2"},
                                                        {1.5, "1.5"},
                                                        {1e6, "1000000"},
                                                        {1e-6, "0.000001"},
                                                        {123456.789, "123456.789"},
                                                        {0.1 + 0.2, "0.30000000000000004"},
                                                        {1e22, "10000000000000000000000"}};
  for (const auto& [number, text] : all) EXPECT_EQ(write_json(json::value(number)), text);
}

TEST(WriteJson, AnyDouble_ReadsBackAsItself_WithoutAnExponent) {
  std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): the same values each time
  std::vector<double> all{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest(),
                          std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min()};
  for (int i = 0; i < 20'000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (std::isfinite(number)) all.push_back(number);
    all.push_back(static_cast<double>(random() % 1'000'000'000) / 1e6);
  }
  for (const double number : all) {
    const std::string text = write_json_number(number);
    EXPECT_EQ(text.find_first_of("eE"), std::string::npos) << text;
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), number) << text;
  }
}

TEST(WriteJson, NumbersThatJsonDoesNotHave_AreNull) {
  for (const double number : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(write_json(json::array{number, 1}), "[null,1]");
    EXPECT_EQ(write_json(json::object{{"a", json::array{number}}}), R"({"a":[null]})");
    EXPECT_EQ(write_json_number(number), "null");
  }
}

// What a program or another server sends is read leniently, and some of it is passed on.
TEST(WriteJson, NumbersTooLargeForADouble_AreReadAndWrittenWithoutAnError) {
  const auto read = boost::json::parse(R"({"a": [1e999, -1e999, {"b": 123456789e400}], "c": 1.5})");
  EXPECT_EQ(write_json(read), R"({"a":[null,null,{"b":null}],"c":1.5})");
}

TEST(WriteJson, WholeNumbers_KeepAllDigits) {
  EXPECT_EQ(write_json(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(write_json(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(WriteJson, TextWithEverythingInIt_ReadsBackAsItself) {
  std::string all;
  for (int c = 0; c < 0x80; ++c) all += static_cast<char>(c);
  all += "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
  const json::value value{{"key \"\n", all}, {"list", {1, true, nullptr, json::object()}}, {"none", json::array()}};
  const std::string text = write_json(value);
  EXPECT_EQ(boost::json::parse(text), value);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(write_json_string("a\x01\"\t"), R"("a\u0001\"\t")");
}

TEST(WriteJson, Weight_IsAboutTheSize_AndStopsEarly) {
  const json::value value{{"text", std::string(10'000, 'x')}};
  EXPECT_NEAR(static_cast<double>(json_weight(value, 1 << 20)), 10'000, 100);
  json::array many(1'000'000, 0);
  EXPECT_LT(json_weight(many, 1000), 2000u);
}

TEST(PutBytes, Utf8_HasNoSecondForm) {
  json::object object;
  put_bytes(object, "stdout", "hello\n");
  EXPECT_EQ(write_json(object), R"({"stdout":"hello\n"})");
}

TEST(PutBytes, OtherBytes_AreThereAsBase64Too) {
  json::object object;
  put_bytes(object, "stdout", "\xffz");
  EXPECT_EQ(object.at("stdout").as_string(), "\xef\xbf\xbdz");
  EXPECT_EQ(object.at("stdout_base64").as_string(), "/3o=");
}

}  // namespace
}  // namespace cloche

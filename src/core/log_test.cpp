#include "core/log.hpp"

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>

#include <array>
#include <sstream>

#include "core/utf8.hpp"

namespace cloche::log {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;

// The log, into a string instead of stderr.
class Log : public testing::Test {
 protected:
  void begin(Form form, Level level = spdlog::level::info) {
    auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(lines_));
    logger->set_formatter(make_formatter(form));
    logger->set_level(level);
    spdlog::set_default_logger(std::move(logger));
  }
  void TearDown() override { spdlog::set_default_logger(before_); }
  std::string said() const { return lines_.str(); }

 private:
  std::ostringstream lines_;
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

constexpr std::array<Field, 4> some_fields{Field{"path", std::string_view("/a b")}, Field{"id", std::string_view("x1")},
                                           Field{"status", std::int64_t{200}}, Field{"ms", 1.25}};

TEST_F(Log, Json_IsAnObjectALine) {
  begin(Form::json);
  warn("{} went {}", "it", "wrong");
  EXPECT_THAT(said(), ContainsRegex("^\\{\"time\":\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z\","
                                    "\"level\":\"warning\",\"message\":\"it went wrong\"\\}\n$"));
}

TEST_F(Log, JsonEvent_HasItsFieldsAsMembers) {
  begin(Form::json);
  event(spdlog::level::info, "request", some_fields);
  EXPECT_THAT(said(),
              EndsWith("\"message\":\"request\",\"path\":\"/a b\",\"id\":\"x1\",\"status\":200,\"ms\":1.250}\n"));
  info("next");
  EXPECT_THAT(said(), EndsWith("\"message\":\"next\"}\n"));
}

TEST_F(Log, JsonOfAnyBytes_StaysOneLineOfUtf8) {
  begin(Form::json);
  info("{}", std::string("a\"b\\c\nd\re\tf\x1b[31m\x7f\0g\xff\xc3\xa4", 22));
  EXPECT_THAT(said(), HasSubstr("a\\\"b\\\\c\\nd\\re\\tf\\u001b[31m\\u007f\\u0000g\xef\xbf\xbd\xc3\xa4\"}\n"));
  EXPECT_TRUE(is_utf8(said()));
  EXPECT_EQ(std::ranges::count(said(), '\n'), 1);
}

TEST_F(Log, Text_IsForPeople) {
  begin(Form::text);
  event(spdlog::level::err, "request", some_fields);
  EXPECT_THAT(said(),
              ContainsRegex("^[0-9-]{10}T[0-9:.]{12} error request path=\"/a b\" id=x1 status=200 ms=1.250\n$"));
}

TEST_F(Log, TextWithControlCharacters_StaysOneLine) {
  begin(Form::text);
  info("a\n2031 error forged\x1b[2J");
  EXPECT_THAT(said(), EndsWith("info a\\n2031 error forged\\u001b[2J\n"));
  const std::array<Field, 2> forged{Field{"path", std::string_view("/\nx=1")}, Field{"empty", std::string_view()}};
  event(spdlog::level::info, "request", forged);
  EXPECT_THAT(said(), EndsWith(" path=\"/\\nx=1\" empty=\"\"\n"));
}

TEST_F(Log, BelowItsLevel_NothingIsSaid) {
  begin(Form::json, spdlog::level::warn);
  info("quiet");
  event(spdlog::level::info, "quiet", some_fields);
  EXPECT_EQ(said(), "");
}

}  // namespace
}  // namespace cloche::log

#include "session/runs/run_log.hpp"

#include <gmock/gmock.h>

namespace cloche::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// All events from a position on: "o:text", "e:text", "a:path", "end".
std::vector<std::string> read(const RunLog& log, std::uint64_t position = 0) {
  std::vector<std::string> all;
  while (auto event = log.next(position)) {
    EXPECT_GT(event->position, position);
    position = event->position;
    if (const auto* output = std::get_if<Output>(&event->what)) {
      all.push_back((output->stream == Stream::out ? "o:" : "e:") + output->bytes);
    } else if (const auto* artifact = std::get_if<Artifact>(&event->what)) {
      all.push_back("a:" + artifact->path);
    } else {
      all.emplace_back("end");
    }
  }
  return all;
}

RunResult with_artifacts() {
  RunResult result;
  result.artifacts.artifacts = {{.path = "a.png"}, {.path = "b.png"}};
  return result;
}

TEST(RunLog, Events_ComeInTheOrderInWhichTheyHappened) {
  RunLog log;
  EXPECT_FALSE(log.next(0));
  log.add({Stream::out, "one"});
  log.add({Stream::err, "two"});
  log.add({Stream::out, "three"});
  log.add({Stream::out, "four"});
  EXPECT_THAT(read(log), ElementsAre("o:one", "e:two", "o:threefour"));
  EXPECT_FALSE(log.is_end(15));
  log.end(with_artifacts());
  EXPECT_THAT(read(log), ElementsAre("o:one", "e:two", "o:threefour", "a:a.png", "a:b.png", "end"));
  EXPECT_TRUE(log.is_end(18));
  EXPECT_EQ(log.output(Stream::out), "onethreefour");
}

TEST(RunLog, AnyPosition_GivesJustWhatFollows) {
  RunLog log;
  log.add({Stream::out, "abc"});
  log.add({Stream::err, "def"});
  log.end(with_artifacts());
  const std::string whole = "abcdef";
  for (std::size_t position = 0; position <= 6; ++position) {
    std::string rest;
    for (const std::string& event : read(log, position)) {
      if (event[0] == 'o' || event[0] == 'e') rest += event.substr(event[1] == ':' ? 2 : event.size());
    }
    EXPECT_EQ(rest, whole.substr(position));
  }
  EXPECT_THAT(read(log, 7), ElementsAre("a:b.png", "end"));
  EXPECT_THAT(read(log, 8), ElementsAre("end"));
  EXPECT_THAT(read(log, 9), IsEmpty());
  EXPECT_TRUE(log.reaches(9));
  EXPECT_FALSE(log.reaches(10));
}

TEST(RunLog, CharacterThatIsNotAllThere_IsKeptBack) {
  RunLog log;
  log.add({Stream::out, "x\xc3"});
  EXPECT_THAT(read(log), ElementsAre("o:x"));
  EXPECT_FALSE(log.next(1));
  log.add({Stream::out, "\xa4y"});
  EXPECT_THAT(read(log), ElementsAre("o:x\xc3\xa4y"));
  EXPECT_THAT(read(log, 1), ElementsAre("o:\xc3\xa4y"));
  log.add({Stream::out, "\xc3"});
  log.end(RunResult());
  EXPECT_THAT(read(log, 4), ElementsAre("o:\xc3", "end"));
}

TEST(RunLog, LongOutput_ComesInEventsOfBoundedSize) {
  RunLog log;
  std::string text;
  while (text.size() < 300'000) text += "\xe2\x82\xac ";  // so that cuts would fall into characters
  log.add({Stream::out, text});
  log.end(RunResult());
  auto events = read(log);
  EXPECT_EQ(events.back(), "end");
  events.pop_back();
  std::string together;
  for (const std::string& event : events) {
    EXPECT_LE(event.size(), (64U << 10) + 2);
    EXPECT_EQ(static_cast<unsigned char>(event[2]) & 0xc0U, 0xc0U) << "begins in the middle of a character";
    together += event.substr(2);
  }
  EXPECT_EQ(together, text);
}

TEST(RunLog, ProgramThatAlternatesByteByByte_CostsBoundedMemoryAndLosesNothing) {
  RunLog log;
  const int rounds = 200'000;
  for (int i = 0; i < rounds; ++i) {
    log.add({Stream::out, "a"});
    log.add({Stream::err, "b"});
  }
  EXPECT_LT(log.weight(), 4U << 20);
  log.end(RunResult());
  std::string out;
  std::string err;
  for (const std::string& event : read(log)) {
    if (event.starts_with("o:")) out += event.substr(2);
    if (event.starts_with("e:")) err += event.substr(2);
  }
  EXPECT_EQ(out, std::string(rounds, 'a'));
  EXPECT_EQ(err, std::string(rounds, 'b'));
}

TEST(RunLog, Error_IsAnEndToo) {
  RunLog log;
  log.add({Stream::out, "x"});
  log.end(Error{ErrorCode::sandbox_lost, "gone"});
  EXPECT_THAT(read(log), ElementsAre("o:x", "end"));
  EXPECT_EQ(result_in(*log.how()), nullptr);
  log.add({Stream::out, "too late"});
  EXPECT_EQ(log.output(Stream::out), "x");
}

}  // namespace
}  // namespace cloche::session

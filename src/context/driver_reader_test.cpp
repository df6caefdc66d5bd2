#include "context/driver_reader.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

using namespace std::string_literals;

std::vector<DriverEvent> read_all(DriverReader& reader) {
  std::vector<DriverEvent> events;
  for (;;) {
    auto event = reader.next();
    if (!event || !*event) return events;
    events.push_back(std::move(**event));
  }
}

TEST(DriverReader, RecordsSplitAnywhere_AreTheSame) {
  const std::string bytes =
      "ready 12\0begin 0af \0begin 0af 16.38 7\n8\n\0end 0af 0 /a b\nc\0leaving ff\0moved ff 3 /\0"s;
  const std::vector<DriverEvent> wanted{DriverReady{12},
                                        DriverBegin{"0af", ""},
                                        DriverBegin{"0af", "16.38 7\n8\n"},
                                        DriverEnd{DriverEnd::By::itself, "0af", "0 /a b\nc"},
                                        DriverLeaving{"ff"},
                                        DriverEnd{DriverEnd::By::successor, "ff", "3 /"}};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    DriverReader reader;
    std::vector<DriverEvent> events;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      for (auto& event : read_all(reader)) events.push_back(std::move(event));
    }
    EXPECT_EQ(events, wanted) << piece;
  }
}

TEST(DriverReader, BytesThatAreNoRecord_AreABreachAndTheEnd) {
  for (const std::string& bytes :
       {"\0"s, "ready\0"s, "ready x\0"s, "ready 1\0"s, "ready -5\0"s, "ready 99999999999\0"s, "end\0"s, "end XY 0\0"s,
        "stop 0a\0"s, "rubbish\0"s, "end "s + std::string(65, 'a') + " 0\0"s, "\xff\xfe\0"s}) {
    DriverReader reader;
    reader.feed(bytes);
    auto event = reader.next();
    EXPECT_FALSE(event) << bytes;
    reader.feed("ready 12\0"s);
    auto more = reader.next();
    EXPECT_TRUE(more && !*more) << "nothing is believed any more";
  }
}

TEST(DriverReader, RecordWithoutEnd_IsABreachWhenItIsTooLong) {
  DriverReader reader(100);
  reader.feed("end 0a " + std::string(50, 'x'));
  auto waiting = reader.next();
  EXPECT_TRUE(waiting && !*waiting);
  reader.feed(std::string(50, 'x'));
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.buffered(), 0u);
}

}  // namespace
}  // namespace cloche

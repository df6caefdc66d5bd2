#include "egress/books/books.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "http/testing/scripted_server.hpp"

namespace cloche::egress {
namespace {

EgressEvent event(std::string host, Outcome outcome = Outcome::denied) {
  EgressEvent made;
  made.host = std::move(host);
  made.outcome = outcome;
  return made;
}

TEST(Books, OldestEvents_AreDroppedAndNumbersShowIt) {
  asio::io_context io;
  Books books(io.get_executor(), 3);
  for (const char* host : {"a", "b", "c", "d", "e"}) books.add(event(host));
  EXPECT_EQ(books.last_number(), 5u);
  const auto kept = books.after(0);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.front().number, 3u);
  EXPECT_EQ(kept.front().host, "c");
  EXPECT_EQ(books.after(4).size(), 1u);
  EXPECT_TRUE(books.after(5).empty());
  EXPECT_TRUE(books.after(99).empty());
}

TEST(Books, Totals_AreOfTheseBooksAndOfAll) {
  asio::io_context io;
  const auto all = std::make_shared<Totals>();
  Books one(io.get_executor(), 10, all);
  Books other(io.get_executor(), 10, all);
  one.add(event("a"));
  EgressEvent request = event("b", Outcome::allowed);
  request.protocol = Protocol::http;
  other.add(request);
  other.add(event("c", Outcome::allowed));
  other.count_bytes(3, 4);
  EXPECT_EQ(one.totals().denied, 1u);
  EXPECT_EQ(other.totals().denied, 0u);
  EXPECT_EQ(all->denied, 1u);
  EXPECT_EQ(all->requests, 1u);
  EXPECT_EQ(all->connections, 1u);
  EXPECT_EQ(all->bytes_up, 3u);
  EXPECT_EQ(all->bytes_down, 4u);
}

TEST(Books, Watcher_SeesEachEvent) {
  asio::io_context io;
  std::vector<std::string> seen;
  Books books(io.get_executor(), 1, nullptr, [&](const EgressEvent& each) { seen.push_back(each.host); });
  books.add(event("a"));
  books.add(event("b"));
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b"}));
}

TEST(Books, Readers_WaitForEventsAndForTheEnd) {
  asio::io_context io;
  Books books(io.get_executor(), 10);
  std::vector<std::string> seen;
  const bool ended = http::testing::run_to_end(io, [&]() -> Task<> {
    TaskGroup readers(io.get_executor());
    Event read(io.get_executor());
    readers.spawn("reader", [&]() -> Task<> {
      for (std::uint64_t last = 0; !books.closed();) {
        for (const EgressEvent& each : books.after(last)) {
          last = each.number;
          seen.push_back(each.host);
        }
        read.notify();
        co_await books.wait_after(last);
      }
    });
    books.add(event("a"));
    while (seen.empty()) co_await read.wait();
    books.add(event("b"));
    while (seen.size() < 2) co_await read.wait();
    books.close();
    co_await readers.join();
  });
  EXPECT_TRUE(ended);
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b"}));
}

TEST(EgressEventJson, Members_AreThereWhereTheyHaveAValue) {
  EgressEvent full;
  full.number = 7;
  full.id = 3;
  full.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'500));
  full.tenant = "acme";
  full.where = "session/1";
  full.protocol = Protocol::http;
  full.host = "a.test";
  full.address = Address::parse("1.2.3.4");
  full.port = 80;
  full.method = "GET";
  full.path = "/\xff";
  full.status = 200;
  full.rule = "a.test";
  full.secret = "key";
  full.bytes_up = 1;
  full.bytes_down = 2;
  full.outcome = Outcome::closed;
  full.duration = std::chrono::milliseconds(12);
  EXPECT_EQ(to_json(full),
            R"({"number":7,"id":3,"time":"1970-01-01T00:00:01.500Z","tenant":"acme","where":"session/1",)"
            R"("protocol":"http","host":"a.test","address":"1.2.3.4","port":80,"method":"GET","path":"/)"
            "\xef\xbf\xbd"
            R"(","status":200,"rule":"a.test","secret":"key","outcome":"closed","bytes_up":1,"bytes_down":2,)"
            R"("duration_ms":12})");
}

}  // namespace
}  // namespace cloche::egress

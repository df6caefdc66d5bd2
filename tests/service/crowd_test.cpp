// Many clients at once: each is answered, in order and in time; over its limits the service says so.
#include <boost/json.hpp>
#include <map>

#include "core/async/task_group.hpp"
#include "service/service_test.hpp"

namespace cloche {

class Crowd : public ServiceTest {};

TEST_P(Crowd, TwoHundredClientsAtOnce_AreAllAnsweredOrToldToWait) {
  constexpr int clients = 200;
  constexpr int calls_each = 3;
  serve([this]() -> Task<> {
    std::map<unsigned, int> statuses;
    int wrong = 0;
    TaskGroup crowd(io_.get_executor());
    for (int i = 0; i < clients; ++i) {
      crowd.spawn("client", [&, i]() -> Task<> {
        for (int n = 0; n < calls_each; ++n) {
          const std::string mark = std::to_string(i) + "." + std::to_string(n);
          const std::string body =
              R"({"session_id": "s)" + std::to_string(i % 4) + R"(", "command": "echo )" + mark + "\"}";
          auto answered = co_await call("POST", "/bash", body);
          ++statuses[answered.status];
          if (answered.status == 200 && answered.text("stdout") != mark + "\n") ++wrong;
        }
      });
    }
    co_await crowd.join();
    int answered = 0;
    for (const auto& [status, count] : statuses) {
      EXPECT_TRUE(status == 200 || status == 429 || status == 503) << status << ": " << count;
      answered += count;
    }
    EXPECT_EQ(answered, clients * calls_each);
    EXPECT_EQ(wrong, 0) << "somebody got another's answer";
    EXPECT_GT(statuses[200], clients / 2);
    auto after = co_await call("POST", "/bash", R"({"session_id": "s0", "command": "echo well"})");
    EXPECT_EQ(after.text("stdout"), "well\n") << boost::json::serialize(after.body);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Crowd, testing::Values(Target{"oci", "crun"}, Target{"docker", "runc"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche

// In which networks this process listens for a sandbox. That it works in one is shown by the conformance suite.
#include "backend/oci/network/inside_listeners.hpp"

#include <gtest/gtest.h>

namespace cloche::oci {
namespace {

TEST(InsideListeners, OwnNetwork_IsNotListenedIn) {
  const auto listeners = listen_in_network_of(identify_self(), 3128, true);
  ASSERT_FALSE(listeners);
  EXPECT_EQ(listeners.error().code, ErrorCode::unsupported);
}

TEST(InsideListeners, ProcessThatGotTheNumberOfAnother_IsNotTakenForIt) {
  ProcessIdentity other = identify_self();
  --other.start_time;
  const auto listeners = listen_in_network_of(other, 3128, true);
  ASSERT_FALSE(listeners);
  EXPECT_EQ(listeners.error().code, ErrorCode::sandbox_lost);
}

TEST(InsideListeners, NoProcess_IsAnError) { EXPECT_FALSE(listen_in_network_of({}, 3128, false)); }

}  // namespace
}  // namespace cloche::oci

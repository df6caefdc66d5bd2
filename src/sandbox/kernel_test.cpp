#include "sandbox/kernel.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(CheckKernel, ExpectedKernelOrAnOlderAgent_IsFine) {
  EXPECT_TRUE(check_kernel("runc", Kernel::shared, false));
  EXPECT_TRUE(check_kernel("runsc", Kernel::own, true));
  EXPECT_TRUE(check_kernel("runc", Kernel::shared, std::nullopt));
  EXPECT_TRUE(check_kernel("runsc", Kernel::own, std::nullopt));
}

TEST(CheckKernel, OtherKernel_IsUnsupportedWithAdvice) {
  for (const Kernel expected : {Kernel::shared, Kernel::own}) {
    const Status checked = check_kernel("odd", expected, expected == Kernel::shared);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::unsupported);
    for (const char* words : {"'odd'", "gVisor", "path of runsc"}) {
      EXPECT_NE(checked.error().message.find(words), std::string::npos) << checked.error().message;
    }
  }
}

}  // namespace
}  // namespace cloche

#include "core/user_lines.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

const SandboxUser named_user{.name = "user", .uid = 1000, .gid = 7, .home = "/home/user"};

TEST(UserLines, NewUser_ComesFirst) {
  EXPECT_EQ(with_passwd_line("root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/:/bin/sh", named_user),
            "user:x:1000:7:user:/home/user:/bin/sh\nroot:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n");
  EXPECT_EQ(with_group_line("root:x:0:\n", named_user), "user:x:7:\nroot:x:0:\n");
}

TEST(UserLines, LineOfTheSameName_IsReplaced) {
  EXPECT_EQ(with_passwd_line("user:x:5:5::/:/bin/sh\nuser2:x:6:6::/:/bin/sh\n", named_user),
            "user:x:1000:7:user:/home/user:/bin/sh\nuser2:x:6:6::/:/bin/sh\n");
  EXPECT_EQ(with_group_line("user:x:5:\n", named_user), "user:x:7:\n");
}

TEST(UserLines, NothingThereBefore_IsOneLine) {
  EXPECT_EQ(with_passwd_line("", named_user), "user:x:1000:7:user:/home/user:/bin/sh\n");
}

TEST(UserLines, KnownUser_IsTheFirstLineOfItsUid) {
  EXPECT_TRUE(knows_user("root:x:0:0::/:/bin/sh\nuser:x:1000:7::/home/user:/bin/bash\n", named_user));
  EXPECT_FALSE(knows_user("node:x:1000:7::/home/user:/bin/sh\nuser:x:1000:7::/home/user:/bin/sh\n", named_user));
  for (const char* other : {"", "user", "user:x:1001:7::/home/user:/bin/sh", "user:x:1000:8::/home/user:/bin/sh",
                            "user:x:1000:7::/elsewhere:/bin/sh", "\n\n:::::\n"}) {
    EXPECT_FALSE(knows_user(other, named_user)) << other;
  }
}

TEST(UserLines, UsualName_LeavesTheNameOfAnImageForItsUid) {
  SandboxUser usual = named_user;
  usual.name = "sandbox";
  EXPECT_TRUE(knows_user("node:x:1000:1000::/home/node:/bin/sh\n", usual));
  EXPECT_FALSE(knows_user("node:x:1001:1000::/home/node:/bin/sh\n", usual));
  EXPECT_EQ(with_group_line("node:x:7:\n", usual), "node:x:7:\n");
  EXPECT_EQ(with_group_line("node:x:8:7\n", usual), "sandbox:x:7:\nnode:x:8:7\n");
}

TEST(UserLines, HomeThatWouldBreakTheLines_IsNotWritten) {
  SandboxUser odd = named_user;
  odd.home = "/x:/bin/sh\nroot2:x:0:0";
  EXPECT_EQ(passwd_line(odd), "user:x:1000:7:user:/:/bin/sh\n");
}

}  // namespace
}  // namespace cloche

// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/ssh/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard::ssh {
namespace {

TEST(Explain, identifies_what_openssh_prints) {
  for (const auto& [printed, id] :
       {std::pair("ssh: Could not resolve hostname nowhere: Name or service not known\r\n",
                  "host_name_unknown"),
        std::pair("me@far: Permission denied (publickey,password).\r\n", "login_refused"),
        std::pair("Host key verification failed.\r\n", "host_key_unknown"),
        std::pair("@  WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!  @\r\n"
                  "Host key verification failed.\r\n",
                  "host_key_changed"),
        std::pair("ssh: connect to host far port 22: Connection refused\r\n", "host_unreachable"),
        std::pair("ssh: connect to host far port 22: Connection timed out\r\n", "host_unreachable"),
        std::pair("ssh: connect to host far port 22: No route to host\r\n", "host_unreachable"),
        std::pair("trainyard-agent 0.1.0-0123 is not installed on this host\n", "agent_missing")}) {
    const auto problem = explain("me@far", printed);
    ASSERT_TRUE(problem) << printed;
    EXPECT_EQ(problem->id, id);
    EXPECT_EQ(problem->where, "me@far");
    EXPECT_THAT(problem->advice, testing::Not(testing::IsEmpty()));
  }
}

TEST(Explain, knows_nothing_of_other_texts) {
  EXPECT_FALSE(explain("me@far", "Segmentation fault\n"));
  EXPECT_FALSE(explain("me@far", ""));
}

TEST(Explain, last_line_has_no_line_end_and_no_period) {
  EXPECT_EQ(last_line("Warning.\r\nHost key verification failed.\r\n\r\n"),
            "Host key verification failed");
  EXPECT_EQ(last_line(""), "");
}

}  // namespace
}  // namespace trainyard::ssh

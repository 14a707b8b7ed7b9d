// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/agent_messages.h"

namespace trainyard::session {
namespace {

template <class Message>
Message returned(const Message& message) {
  const auto read = agent_message_from(to_text(message), "host1");
  EXPECT_TRUE(read) << base::to_string(read.error());
  EXPECT_TRUE(std::holds_alternative<Message>(*read));
  return std::get<Message>(*read);
}

TEST(AgentMessages, are_equal_after_a_round_trip) {
  const AgentHello hello{.software = "1", .host = "h\n\"", .cores = 3, .addresses = {"::1", "a"}};
  EXPECT_EQ(returned(hello).host, hello.host);
  EXPECT_EQ(returned(hello).addresses, hello.addresses);
  const PrepareRun run{.run = "r", .software = "2", .ranks = 4, .shared_bytes = {0, 1LL << 40}};
  EXPECT_EQ(returned(run).shared_bytes, run.shared_bytes);
  EXPECT_EQ(returned(SignalRank{2, RankSignal::suspend}).signal, RankSignal::suspend);
  EXPECT_EQ(returned(RankLog{1, std::string(1000, '\t')}).text.size(), 1000u);
  EXPECT_EQ(returned(TimeAnswer{1, 1LL << 60}).agent_ns, 1LL << 60);
}

TEST(AgentMessages, refuses_anything_else) {
  for (const char* text :
       {"", "[]", "{", "{}", "{\"type\": 1}", "{\"type\": \"unknown\"}",
        "{\"type\": \"start_rank\", \"rank\": \"x\"}", "{\"type\": \"start_rank\", \"cores\": 0}",
        "{\"type\": \"start_rank\", \"program\": \"/bin/sh\"}",
        "{\"type\": \"signal_rank\", \"signal\": \"stop\"}"}) {
    const auto read = agent_message_from(text, "host1");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().id, "bad_message") << text;
    EXPECT_EQ(read.error().where, "host1") << text;
  }
}

}  // namespace
}  // namespace trainyard::session

// SPDX-License-Identifier: GPL-3.0-or-later
// The order that several servers wrote down, each for itself, when workers were lost and came back
// in between.
#include "core/plan/server_events.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>

namespace trainyard::plan {
namespace {

ServerEvent event(int server, ServerEvent::Kind kind) {
  ServerEvent made;
  made.server = server, made.kind = kind;
  return made;
}

// Events of one worker: "j" joins, "g" gives, "t" takes, "l" leaves.
std::vector<ServerEvent> wrote(int server, const std::string& letters) {
  std::vector<ServerEvent> events;
  for (const char letter : letters)
    events.push_back(event(server, letter == 'j'   ? ServerEvent::Kind::joins
                                   : letter == 'g' ? ServerEvent::Kind::gives
                                   : letter == 't' ? ServerEvent::Kind::takes
                                                   : ServerEvent::Kind::leaves));
  return events;
}

// The events in one order, each as its letter and server; what could not have been is left out.
std::string merged(std::vector<std::vector<ServerEvent>> servers) {
  RecordedOrder order = RecordedOrder::make(std::move(servers), 1).value();
  std::string text;
  for (auto next = order.next(); next && *next; next = order.next())
    text += std::string("jtgl").substr(static_cast<std::size_t>((*next)->kind), 1) +
            std::to_string((*next)->server) + " ";
  EXPECT_TRUE(order.over());
  return text;
}

TEST(RecordedOrder, returns_a_gradient_after_the_parameters_it_was_computed_with) {
  const std::string text = merged({wrote(0, "jgt"), wrote(1, "jgt")});
  EXPECT_LT(text.find("g1"), text.find("t0"));
  EXPECT_LT(text.find("g0"), text.find("t1"));
}

// Lost between the answers of two servers: the first has given for a round that never was.
TEST(RecordedOrder, returns_a_rejoin_after_all_servers_saw_the_loss) {
  const std::string text = merged({wrote(0,
                                         "jglj"
                                         "gt"),
                                   wrote(1,
                                         "jl"
                                         "jgt")});
  EXPECT_LT(text.find("l1"), text.rfind("j0")) << text;
  EXPECT_LT(text.find("l0"), text.rfind("j1")) << text;
  EXPECT_LT(text.find("g1"), text.find("t0"))
      << "the reply to the lost rank does not count for its replacement: " << text;
  EXPECT_EQ(text.size(), 3U * 11);
}

// Killed so soon that one server had its word and the other had not: both see it leave all the
// same, and go on with the same newcomer.
TEST(RecordedOrder, keeps_the_rank_of_a_worker_that_was_lost_before_it_joined_all_servers) {
  const std::string before_and_after = "jgtl";
  const std::string text = merged({wrote(0, before_and_after + "l" + before_and_after),
                                   wrote(1, before_and_after + "jl" + before_and_after)});
  EXPECT_EQ(text.size(), 3U * (9 + 10)) << "all of it: " << text;
  EXPECT_LT(text.rfind("g0"), text.rfind("t1")) << text;
  EXPECT_LT(text.rfind("g1"), text.rfind("t0")) << text;
}

TEST(RecordedOrder, with_steps_beyond_the_run_is_refused) {
  for (const std::int64_t done :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    ServerEvent takes = event(0, ServerEvent::Kind::takes);
    std::string bytes;
    append(takes, bytes);
    EXPECT_TRUE(served_of(std::as_bytes(std::span(bytes))));
    takes.done = done;
    append(takes, bytes);
    EXPECT_FALSE(served_of(std::as_bytes(std::span(bytes))));
  }
}

TEST(RecordedOrder, ends_at_the_shortest_log) {
  EXPECT_EQ(merged({wrote(0, "jglj"), wrote(1, "jg")}).find("j0", 3), std::string::npos)
      << "no worker can rejoin before the other server saw its loss";
}

}  // namespace
}  // namespace trainyard::plan

// SPDX-License-Identifier: GPL-3.0-or-later
// Drawn links that hold in a real run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

// The example, with a bus of 50 Mbit/s.
std::string narrow(const Scratch& scratch) {
  Json e = expanded_document(kMirrored);
  e["topology"]["hosts"][0]["bus_bandwidth_bits_per_second"] = 50e6;
  e["run"]["links"] = "imposed";
  return scratch.write("narrow.json", e.dump());
}

class Imposed : public testing::TestWithParam<const char*> {};

TEST_P(Imposed, links_take_their_time_and_do_not_change_the_result) {
  const Home home;
  constexpr int kSteps = 12;
  const std::string transport = std::string("run.transport=") + GetParam(),
                    file = narrow(home.scratch());
  const Json slow = completed(short_run(file, kSteps, {transport})),
             fast = completed(short_run(file, kSteps, {transport, "run.links=drawn_only"}));
  EXPECT_EQ(slow["links"], "imposed");
  EXPECT_EQ(fast["links"], "drawn_only");
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(slow["ranks"][rank]["parameters_xxh64"], fast["ranks"][rank]["parameters_xxh64"]);
    EXPECT_EQ(slow["ranks"][rank]["sent_bytes"], fast["ranks"][rank]["sent_bytes"]);
    const double least = 8 * slow["ranks"][rank]["sent_bytes"].get<double>() / 50e6;
    EXPECT_GE(slow["wall_seconds"].get<double>(), least)
        << "its direction to the bus is at its limit";
    EXPECT_GE(slow["step_seconds"]["median"].get<double>(), 0.9 * least / kSteps);
  }
}

INSTANTIATE_TEST_SUITE_P(Run, Imposed, testing::Values("shm", "zmq", "inproc"));

TEST(Imposed, scale_is_printed_and_used_by_the_simulation) {
  const Home home;
  const std::string file = narrow(home.scratch());
  const Json drawn = completed(short_run(file, 4, {})),
             half = completed(short_run(file, 4, {"run.link_scale=0.5"}));
  EXPECT_EQ(half["link_scale"], 0.5);
  EXPECT_GT(half["simulated_step_seconds"].get<double>(),
            1.8 * drawn["simulated_step_seconds"].get<double>());
  auto arguments = short_run(file, 4, {"run.link_scale=0.5"});
  std::erase(arguments, "--json");
  EXPECT_THAT(cli(arguments).out, testing::ContainsRegex("\n  note +[^\n]*imposed at 0.5"));
}

// The coordinator opens the gate for step 3 only while step 2 runs.
TEST(Imposed, next_step_loads_its_batch_while_the_current_one_sends) {
  const Home home;
  const Json result = completed(short_run(narrow(home.scratch()), 5, {}));
  const std::string trace = home.scratch() / "trace.json";
  ASSERT_EQ(cli({"export", result["run_directory"], "--format", "trace", "--out", trace}).exit_code,
            0);
  const Json events = Json::parse(read(trace));
  double load = -1, sent = -1;
  for (const Json& event : events.is_array() ? events : events["traceEvents"]) {
    if (event.value("ph", "") != "X" || event["pid"] != 0) continue;
    const std::string name = event["name"];
    if (event["args"]["step"] == 3 && name.starts_with("LOAD")) load = event["ts"];
    if (event["args"]["step"] == 2 && name.starts_with("SEND"))
      sent = std::max(sent, event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_GT(load, 0);
  EXPECT_LT(load, sent);
}

TEST(Imposed, links_do_not_hide_a_killed_rank) {
  const Home home;
  RunProgram run(home, endless_run(narrow(home.scratch())));
  ASSERT_TRUE(run.wait_for_step(3));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[2].pid, SIGKILL);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(),
              testing::ElementsAre(testing::Pair("rank_died", testing::StartsWith("rank 2 "))));
}

// One message takes longer than a rank may hang: it is the link, and no rank hangs.
TEST(Imposed, links_slower_than_the_hang_limit_are_waited_for) {
  const Home home;
  const Json result = completed(
      short_run(narrow(home.scratch()), 1,
                {"run.hang_seconds=0.5", "run.link_scale=0.02", "run.evaluate_every_steps=1000"}));
  EXPECT_EQ(result["status"], "completed");
  EXPECT_GT(result["wall_seconds"].get<double>(), 1.0);
}

TEST(Paced, ranks_take_the_time_of_the_drawn_device_with_a_caveat) {
  const Home home;
  Json e = expanded_document(kMirrored);
  for (Json& device : e["topology"]["hosts"][0]["devices"])
    device["peak_flops"] = 5e8;  // slow enough for any machine
  e["run"]["devices"] = "paced";
  const std::string file = home.scratch().write("paced.json", e.dump());
  const Json result = completed(short_run(file, 4, {}));
  EXPECT_EQ(result["devices"], "paced");
  EXPECT_TRUE(result["slower_than_drawn_seconds"].is_number());
  EXPECT_GE(result["step_seconds"]["median"].get<double>(),
            0.95 * result["simulated_step_seconds"].get<double>());
  auto arguments = short_run(file, 4, {});
  std::erase(arguments, "--json");
  EXPECT_THAT(cli(arguments).out, HasSubstr("PACED"));
  for (Json& device : e["topology"]["hosts"][0]["devices"])
    device["peak_flops"] = 1e18, device["memory_bandwidth_bytes_per_second"] = 1e16;
  const Json faster = completed(short_run(home.scratch().write("faster.json", e.dump()), 4, {}));
  EXPECT_GT(faster["slower_than_drawn_seconds"].get<double>(), 0) << "the time is rounded up";
}

}  // namespace
}  // namespace trainyard::process

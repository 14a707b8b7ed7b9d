// SPDX-License-Identifier: GPL-3.0-or-later
// Drawn links that are cut, slowed and restored while ranks train over them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "watched_run.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kQuiet = 1;  // seconds

// Two hosts and one link between them.
std::string two_hosts(const Scratch& scratch, bool served) {
  Json e = expanded_document(served ? kServed : kMirrored);
  Json& hosts = e["topology"]["hosts"];
  hosts.push_back(hosts[0]);
  hosts[1]["name"] = "far";
  hosts[1]["devices"] = Json::array({hosts[0]["devices"][0]});
  hosts[1]["devices"][0]["name"] = "cpu_far";
  hosts[0]["devices"].erase(0);
  e["topology"]["links"] = Json::array({{{"from", hosts[0]["name"]},
                                         {"to", "far"},
                                         {"bandwidth_bits_per_second", 2e9},
                                         {"latency_seconds", 5e-5}}});
  e["run"]["links"] = "imposed";
  return scratch.write("two_hosts.json", e.dump());
}

std::vector<std::string> link_kinds(const Json& result) {
  std::vector<std::string> all;
  for (const Json& fault : result.value("faults", Json::array()))
    all.push_back(fault["kind"].get<std::string>() + " " + fault.value("link", Json()).dump());
  return all;
}

// Synchronous ranks on both sides of the link stop.
bool makes_no_progress(Watched& run) {
  return wait_until(promised, [&] {
    const auto before = run.ask();
    std::this_thread::sleep_for(std::chrono::duration<double>(kQuiet));
    const auto after = run.ask();
    return before && after && before->step == after->step;
  });
}

class LinkFaults : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Run, LinkFaults, testing::Values("shm", "zmq", "inproc"));

TEST_P(LinkFaults, cut_link_stops_dependent_ranks_until_it_is_restored) {
  const Home home;
  const std::string transport = std::string("run.transport=") + GetParam();
  const std::string file = two_hosts(home.scratch(), false);
  Watched run(home, file, {transport});
  ASSERT_TRUE(run.trains());
  const auto status = run.set_link(0, 0);
  ASSERT_TRUE(status);
  ASSERT_EQ(status->links.size(), 1u);
  EXPECT_EQ(status->links[0].part, 0);
  EXPECT_TRUE(makes_no_progress(run));
  EXPECT_TRUE(run.set_link(0, 1)->links.empty());
  EXPECT_TRUE(run.goes_on());
  const Ran ran = run.stop();
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(link_kinds(ran.result()), ElementsAre("link_cut 0", "link_restored 0"));
  const auto steps = ran.result()["steps"].get<int>();
  const Json undisturbed = completed(short_run(file, steps, {transport, "run.links=drawn_only"}));
  EXPECT_EQ(ran.result()["ranks"][0]["parameters_xxh64"],
            undisturbed["ranks"][0]["parameters_xxh64"]);
  const auto history = telemetry::History::load(ran.result()["run_directory"].get<std::string>());
  ASSERT_TRUE(history);
  ASSERT_EQ(history->faults().size(), 2u);
  EXPECT_EQ(history->faults()[0].link, 0);
  EXPECT_EQ(history->faults()[0].rank, -1);
  EXPECT_EQ(history->faults()[0].kind, "link_cut");
  EXPECT_THAT(history->faults()[0].text, HasSubstr("host0 - far"));
}

TEST(LinkFault, blocks_only_the_worker_behind_the_link_if_workers_do_not_wait) {
  const Home home;
  Watched run(home, two_hosts(home.scratch(), true), {});
  ASSERT_TRUE(run.trains());
  const int far = 3;  // the last worker
  ASSERT_TRUE(run.set_link(0, 0));
  EXPECT_TRUE(wait_until(promised, [&] { return run.state(far) == "waiting"; }));
  EXPECT_TRUE(run.goes_on(100));
  run.set_link(0, 1);
  EXPECT_TRUE(run.goes_on());
  const Ran ran = run.stop();
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const Ran again = cli({"replay", run.directory(), "--recompute", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.result()["parameters_xxh64"], ran.result()["ranks"][0]["parameters_xxh64"]);
}

TEST(LinkFault, slows_a_link_to_its_fraction) {
  const Home home;
  Watched run(home, two_hosts(home.scratch(), false),
              {"topology.links[0].bandwidth_bits_per_second=200e6", "run.transport=shm"});
  ASSERT_TRUE(run.trains());
  const auto step_seconds = [&] {
    const std::int64_t begin = now_ns(), from = run.ask()->step;
    EXPECT_TRUE(run.goes_on(8));
    return static_cast<double>(now_ns() - begin) / static_cast<double>(run.ask()->step - from);
  };
  const double whole = step_seconds();
  run.set_link(0, 0.1);
  ASSERT_TRUE(run.goes_on(2));
  EXPECT_GT(step_seconds(), 3 * whole);
  const Ran ran = run.stop();
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(link_kinds(ran.result()), ElementsAre("link_slowed 0"));
  EXPECT_THAT(read(run.directory() / "run.log"), testing::ContainsRegex("host0 - far .*10 %"));
}

TEST(LinkFault, of_links_that_are_not_imposed_is_refused_in_the_log) {
  const Home home;
  Watched run(home, two_hosts(home.scratch(), false), {"run.links=drawn_only"});
  ASSERT_TRUE(run.trains());
  EXPECT_TRUE(run.set_link(0, 0)->links.empty());
  EXPECT_TRUE(run.set_link(7, 0)->links.empty()) << "there is none";
  EXPECT_TRUE(run.goes_on());
  const Ran ran = run.stop();
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_FALSE(ran.result().contains("faults") && !ran.result()["faults"].empty());
  EXPECT_THAT(read(run.directory() / "run.log"),
              testing::ContainsRegex("host0 - far .*run\\.links"));
}

}  // namespace
}  // namespace trainyard::process

// SPDX-License-Identifier: GPL-3.0-or-later
// Replay of asynchronous gossip by the programs themselves: order files of other runs, damaged
// order files, and order files of runs that were killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::AnyOf;
using testing::ElementsAre;
using testing::Pair;
using testing::StartsWith;

constexpr std::uintmax_t kEvent = 32;  // bytes

// Devices of one host in a ring; the second, which is passive, is three times slower. All pairs
// meet during the run.
std::string in_pairs(const Home& home, int ranks) {
  Json e = expanded_document(kMirrored);
  Json& devices = e["topology"]["hosts"][0]["devices"];
  const Json one = devices[0];
  devices = Json::array();
  for (int rank = 0; rank < ranks; ++rank) {
    devices.push_back(one);
    devices.back()["name"] = "cpu" + std::to_string(rank);
  }
  devices[1]["slow_down"] = 3;
  e["strategy"]["kind"] = "gossip";
  e["strategy"]["gossip"] = {
      {"graph", "ring"}, {"mode", "asynchronous"}, {"consensus_every_steps", 17}};
  return home.scratch().write("in_pairs.json", e.dump());
}

std::vector<std::string> run_of(const Home& home, int ranks, const std::string& transport) {
  return short_run(in_pairs(home, ranks), 60,
                   {"run.transport=" + transport, "run.evaluate_every_steps=25"});
}

Ran recomputed(const fs::path& directory) {
  return cli({"replay", directory.string(), "--recompute", "--json"});
}
fs::path directory_of(const Json& result) { return result["run_directory"].get<std::string>(); }

class AsynchronousGossipOrder : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Run, AsynchronousGossipOrder, testing::Values("shm", "zmq"));

// Nothing that was written down is of use once another run's ranks wrote it.
TEST(AsynchronousGossipOrder, of_another_run_gives_other_weights_or_is_refused) {
  const Home home;
  const Json result = completed(run_of(home, 4, "shm")), other = completed(run_of(home, 4, "shm"));
  const fs::path file = directory_of(result) / "order.try";
  fs::copy_file(directory_of(other) / "order.try", file, fs::copy_options::overwrite_existing);
  const Ran with_its_order = recomputed(directory_of(result));
  EXPECT_EQ(with_its_order.exit_code, 3)
      << "the plan is the same, but the order of arrivals is not";
  EXPECT_EQ(with_its_order.result()["same"], false);
  EXPECT_EQ(with_its_order.result()["parameters_xxh64"], other["ranks"][0]["parameters_xxh64"]);
  auto arguments = run_of(home, 4, "shm");
  arguments.insert(arguments.end(), {"--set", "training.seed=7"});
  fs::copy_file(directory_of(completed(arguments)) / "order.try", file,
                fs::copy_options::overwrite_existing);
  const Ran refused = recomputed(directory_of(result));
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.problems(), ElementsAre(Pair("order_of_other_plan", file.string())));
}

TEST(AsynchronousGossipOrder, that_is_damaged_is_reported_with_advice) {
  const Home home;
  const Json result = completed(run_of(home, 4, "shm"));
  const fs::path file = directory_of(result) / "order.try", whole = home / "whole.try";
  fs::copy_file(file, whole);
  const auto expect_problem = [&](const testing::Matcher<std::string>& id) {
    const Ran ran = recomputed(directory_of(result));
    EXPECT_GT(ran.exit_code, 1);
    EXPECT_THAT(ran.problems(), ElementsAre(Pair(id, StartsWith(file.string()))));
    EXPECT_NE(ran.result()["problems"][0]["advice"], "");
  };
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(fs::file_size(file) / 2));
    const int was = bytes.peek();
    bytes.put(static_cast<char>(was ^ 1));
  }
  // The byte is in the header of a frame or in its content, depending on how ranks were scheduled.
  expect_problem(AnyOf("no_frame", "bad_frame_header", "bad_frame_content", "frame_too_long"));
  fs::copy_file(whole, file, fs::copy_options::overwrite_existing);
  fs::resize_file(file, fs::file_size(file) / 2);
  expect_problem("order_incomplete");
  fs::remove(file);
  expect_problem("missing_file");
}

// Data shipped by then are on disk, whichever process is killed.
TEST_P(AsynchronousGossipOrder, of_a_killed_run_is_replayed_up_to_its_end) {
  for (const bool whole_run : {true, false}) {
    const Home home;
    RunProgram run(home, endless_run(in_pairs(home, 4), {"run.transport=" + GetParam()}));
    ASSERT_TRUE(run.wait_for_step(30));
    const fs::path file = run.run_directory() / "order.try";
    std::error_code none;
    ASSERT_TRUE(wait_until(30, [&] {
      return fs::exists(file) && fs::file_size(file, none) > 64 * kEvent;
    })) << "it is written while the run goes on";
    const auto ranks = run.ranks();
    ASSERT_EQ(ranks.size(), 4u);
    if (whole_run) run.signal(SIGKILL);
    else ::kill(ranks[1].pid, SIGKILL);
    run.wait();
    for (const RankProcess& left : ranks)
      EXPECT_TRUE(wait_until_gone(left.pid, promised)) << "rank " << left.rank << " was left";
    const Ran once = recomputed(run.run_directory()), again = recomputed(run.run_directory());
    ASSERT_EQ(once.exit_code, 0) << once.err;
    EXPECT_GT(once.result()["events"], 20);
    EXPECT_GT(once.result()["gradients"], once.result()["events"].get<std::int64_t>())
        << "messages of the asking and of the answering rank";
    EXPECT_TRUE(once.result()["same"].is_null()) << "there is nothing to compare with";
    EXPECT_EQ(once.result()["ranks"], again.result()["ranks"]);
  }
}

}  // namespace
}  // namespace trainyard::process

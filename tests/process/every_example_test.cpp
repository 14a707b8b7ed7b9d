// SPDX-License-Identifier: GPL-3.0-or-later
// Every example over every transport trains the same weights as the same plan over `inproc`, bit
// for bit, moves the same payload, and records the same sampled chunk values. A run whose order of
// updates is a race is instead recomputed from its recorded order, in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "core/telemetry/history.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;

std::vector<std::string> example_names() {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/resources/experiments"))
    if (file.path().extension() == ".json") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

experiment::Experiment loaded(const std::string& name) {
  return experiment::load(example(name)).value();
}

// Settings with which the example finds its data; nothing if the data are not on this machine.
std::optional<std::vector<std::string>> data_settings(const experiment::Experiment& experiment) {
  if (experiment.data.kind != data::DataKind::idx) return std::vector<std::string>();
  const char* given = std::getenv("TRAINYARD_TEST_DATA");
  const std::filesystem::path mnist =
      std::filesystem::path(given != nullptr ? given : TRAINYARD_SOURCE_DIR "/../shared/data") /
      "mnist";
  const auto images = mnist / "t10k-images-idx3-ubyte.gz",
             labels = mnist / "t10k-labels-idx1-ubyte.gz";
  if (!std::filesystem::exists(images) || !std::filesystem::exists(labels)) return std::nullopt;
  return std::vector{"data.images=" + images.string(), "data.labels=" + labels.string()};
}

// True if updates are applied in the order in which they arrive.
bool has_races(const experiment::Experiment& experiment) {
  const auto& strategy = experiment.strategy;
  if (experiment.run.clock == experiment::RunClock::virtual_time) return false;
  if (strategy.kind == experiment::StrategyKind::parameter_server)
    return strategy.servers.mode != experiment::ServerMode::synchronous;
  return strategy.kind == experiment::StrategyKind::gossip &&
         strategy.gossip.mode == experiment::GossipMode::asynchronous;
}

// `auto`: shared memory within a host, sockets between hosts.
std::vector<std::string> transports(const experiment::Experiment& experiment) {
  std::vector<std::string> names{"shm", "zmq"};
  if (experiment.topology.hosts.size() > 1) names.emplace_back("auto");
  return names;
}

// Values of a key of every rank, as text.
std::vector<std::string> by_rank(const Json& result, const char* key) {
  std::vector<std::string> values;
  for (const Json& rank : result["ranks"])
    values.push_back(rank.at(key).dump());  // null: not known of this rank
  return values;
}

auto chunk_values(const Json& result) {
  return telemetry::History::load(result["run_directory"].get<std::string>())
      .value()
      .chunk_values();
}

// Perfetto drops slices of one track that overlap. Times are in microseconds with three decimals.
void expect_no_overlaps(const Json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
  const auto nanoseconds = [](const Json& time) { return std::llround(time.get<double>() * 1000); };
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const std::int64_t begin = nanoseconds(event["ts"]);
    tracks[{event["pid"], event["tid"]}].emplace_back(begin, begin + nanoseconds(event["dur"]));
  }
  EXPECT_FALSE(tracks.empty());
  for (auto& [track, slices] : tracks) {
    std::sort(slices.begin(), slices.end());
    for (std::size_t i = 1; i < slices.size(); ++i)
      ASSERT_LE(slices[i - 1].second, slices[i].first)
          << "rank " << track.first << ", track " << track.second;
  }
}

// Total of a metric with running totals in an exported table: the last value of each rank and peer.
std::int64_t exported_total(const std::string& csv, const std::string& metric) {
  std::map<std::string, double> totals;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(metric + ",")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    totals[cells.at(1) + "," + cells.at(2)] = std::stod(cells.at(5));
  }
  double sum = 0;
  for (const auto& [pair, total] : totals) sum += total;
  return static_cast<std::int64_t>(sum);
}

void expect_exports(const Json& result, const Scratch& scratch) {
  const std::string directory = result["run_directory"];
  const auto exported = [&](const std::string& format) {
    const std::filesystem::path file = scratch / ("exported." + format);
    const Ran ran = cli({"export", directory, "--format", format, "--out", file.string()});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    std::string text = read(file);
    std::filesystem::remove(file);
    return text;
  };
  expect_no_overlaps(Json::parse(exported("trace")));
  const std::string csv = exported("csv");
  if (!result["wire_bytes"].is_object()) return;  // an engine does not report its bytes
  EXPECT_EQ(exported_total(csv, "sent_payload_bytes"), result["wire_bytes"]["payload"]);
  EXPECT_EQ(exported_total(csv, "sent_header_bytes"), result["wire_bytes"]["header"]);
}

class EveryExample : public testing::TestWithParam<std::string> {};

TEST_P(EveryExample, over_every_transport_equals_inproc) {
  const Home home;
  const experiment::Experiment experiment = loaded(GetParam());
  const auto settings = data_settings(experiment);
  if (!settings) GTEST_SKIP() << "no MNIST in TRAINYARD_TEST_DATA";
  const auto trained_over = [&](const std::string& transport) {
    return completed(
        short_run(example(GetParam()), 6, with(*settings, {"run.transport=" + transport})));
  };
  const bool races = has_races(experiment);
  const Json inproc = trained_over("inproc");
  for (const std::string& transport : transports(experiment)) {
    const Json result = trained_over(transport);
    EXPECT_EQ(result["wire_bytes"]["payload"], inproc["wire_bytes"]["payload"]) << transport;
    if (transport == "zmq") expect_exports(result, home.scratch());
    if (!races) {
      for (const char* key : {"parameters_xxh64", "sent_bytes", "received_bytes"})
        EXPECT_EQ(by_rank(result, key), by_rank(inproc, key)) << transport << ", " << key;
      EXPECT_TRUE(chunk_values(result) == chunk_values(inproc)) << transport;
      continue;
    }
    const Ran again =
        cli({"replay", result["run_directory"].get<std::string>(), "--recompute", "--json"});
    ASSERT_EQ(again.exit_code, 0) << transport << ": " << again.err;
    EXPECT_EQ(again.result()["same"], true) << transport;
    EXPECT_EQ(again.result()["left_over"], 0) << transport;
  }
}

TEST_P(EveryExample, is_proved_and_simulated) {
  const experiment::Experiment experiment = loaded(GetParam());
  const auto settings = data_settings(experiment);
  if (!settings) GTEST_SKIP() << "no MNIST in TRAINYARD_TEST_DATA";
  const Ran checked = cli(with_set({"check", example(GetParam()), "--json"}, *settings));
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  const Ran simulated = cli(with_set({"simulate", example(GetParam()), "--json"}, *settings));
  if (experiment.strategy.kind == experiment::StrategyKind::gossip && has_races(experiment)) {
    EXPECT_EQ(simulated.exit_code, 2);
    EXPECT_THAT(simulated.problems(), testing::ElementsAre(testing::Pair("gossip_not_simulated",
                                                                         "strategy.gossip.mode")));
    return;
  }
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_GT(simulated.result()["step_seconds"].get<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Examples, EveryExample, testing::ValuesIn(example_names()),
                         [](const auto& example) { return example.param; });

// The traces of these algorithms once had overlapping slices. The examples use only some of them.
class Exports : public testing::TestWithParam<std::string> {};

TEST_P(Exports, have_no_overlaps_and_the_bytes_of_the_result) {
  const Home home;
  expect_exports(completed(short_run(kMirrored, 6, {GetParam()})), home.scratch());
}

TEST(ExportsOfHosts, have_no_overlaps_and_the_bytes_of_the_result) {
  const Home home;
  expect_exports(completed(short_run(example("four_hosts_ring_digits"), 6,
                                     {"strategy.kind=multi_worker_mirrored"})),
                 home.scratch());
}

INSTANTIATE_TEST_SUITE_P(Run, Exports,
                         testing::Values("strategy.algorithm=direct",
                                         "strategy.algorithm=halving_doubling",
                                         "strategy.algorithm=binary_tree",
                                         "strategy.algorithm=double_binary_tree",
                                         "strategy.algorithm=star", "strategy.algorithm=all_to_all",
                                         "strategy.kind=ddp"),
                         [](const auto& one) { return one.param.substr(one.param.find('=') + 1); });

}  // namespace
}  // namespace trainyard::process

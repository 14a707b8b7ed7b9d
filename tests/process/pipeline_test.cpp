// SPDX-License-Identifier: GPL-3.0-or-later
// Layers on several devices in real processes: what they train to, what they keep, and what the
// program says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/json.h"
#include "core/compute/tensor.h"
#include "core/experiment/stages.h"
#include "core/session/checkpoint/checkpoint.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

const std::string kTwoStages = example("two_devices_model_parallel_digits");

std::vector<std::string> in_micro_batches(std::vector<std::string> arguments,
                                          const std::vector<std::string>& overrides) {
  const std::vector<std::string> own{"data.train_samples=700", "data.held_out_samples=100",
                                     "training.epochs=2", "training.batch_per_rank=16",
                                     "training.accumulation_steps=4"};
  return with_set(std::move(arguments), with(own, overrides));
}

Json trained_in_stages(const Home& home, const std::string& name,
                       const std::vector<std::string>& overrides) {
  return completed(
      in_micro_batches({"run", kTwoStages, "--json", "--out", (home / name).string()}, overrides));
}

// Parameters of the full model in a checkpoint.
std::vector<float> parameters_of(const std::filesystem::path& run) {
  const auto resolved =
      base::parse_json(read(run / "resolved.json"), "").and_then([](const Json& json) {
        return experiment::resolved_from_json(json);
      });
  EXPECT_TRUE(resolved);
  std::vector<float> values(static_cast<std::size_t>(resolved->model.elements));
  const auto loaded =
      session::read_checkpoint(run / "checkpoints", resolved->model,
                               compute::Tensor{base::DType::fp32,
                                               {resolved->model.elements},
                                               reinterpret_cast<std::byte*>(values.data())});
  EXPECT_TRUE(loaded) << base::to_string(loaded.error());
  return values;
}

TEST(CliPipeline, devices_with_some_layers_each_train_as_one_and_keep_one_checkpoint_of_all) {
  const Home home;
  const Json one = trained_in_stages(
      home, "one", {"strategy.kind=one_device", "topology.hosts[0].devices[1].role=idle"});
  const auto weights = parameters_of(home / "one");
  for (const std::string kind : {"model_parallel", "pipeline"})
    for (const std::string transport : {"shm", "zmq"}) {
      const std::string name = kind + "-" + transport;
      const Json result =
          trained_in_stages(home, name, {"strategy.kind=" + kind, "run.transport=" + transport});
      EXPECT_EQ(result.at("samples"), one.at("samples"));
      EXPECT_EQ(result.at("steps"), one.at("steps"));
      EXPECT_EQ(result.at("train_loss"), one.at("train_loss"));
      EXPECT_EQ(result.at("held_out_accuracy"), one.at("held_out_accuracy"));
      EXPECT_EQ(parameters_of(home / name), weights);
    }
}

// The table is on the first device and on the last, or with the tied layer on the first.
TEST(CliPipeline, a_tied_layer_trains_alike_wherever_it_is_and_its_table_is_kept_once) {
  const Home home;
  const auto trained = [&](const std::string& name, const std::vector<std::string>& overrides) {
    const std::vector<std::string> own{"data.train_samples=96", "data.held_out_samples=16",
                                       "data.context=16", "training.epochs=3"};
    return completed(with_set({"run", example("four_devices_zero_bubble_gpt_grammar"), "--json",
                               "--out", (home / name).string()},
                              with(own, overrides)));
  };
  const Json together = trained(
      "together",
      {"strategy.stages.schedule=gpipe", "strategy.stages.partition=by_hand",
       R"(strategy.stages.places=[{"segment": "0", "rank": 0}, {"segment": "1.9", "rank": 1},)"
       R"({"segment": "1.20", "rank": 2}, {"segment": "1.31", "rank": 3}, {"segment": "3", "rank": 0}])"});
  const auto weights = parameters_of(home / "together");
  for (const std::string transport : {"shm", "zmq"})
    for (const std::string schedule : {"zb_h1", "1f1b"}) {
      SCOPED_TRACE(schedule + " over " + transport);
      const std::string name = schedule + "-" + transport;
      const Json result =
          trained(name, {"strategy.stages.schedule=" + schedule, "run.transport=" + transport});
      EXPECT_NEAR(result.at("train_loss").get<double>(), together.at("train_loss").get<double>(),
                  1e-4);
      const auto apart = parameters_of(home / name);
      double furthest = 0;
      for (std::size_t i = 0; i < weights.size(); ++i)
        furthest = std::max(
            furthest, std::fabs(static_cast<double>(apart[i]) - static_cast<double>(weights[i])));
      EXPECT_LE(furthest, 1e-3) << "the order of a sum, through nine steps of AdamW";
      EXPECT_GT(furthest, 0) << "it is another sum";
    }
}

// 256 numbers of a sample forward, and as many back.
TEST(CliPipeline, moves_activations_and_no_parameters) {
  const Home home;
  const Json result = trained_in_stages(
      home, "run",
      {"strategy.kind=pipeline", "strategy.stages.partition=by_hand",
       R"(strategy.stages.places=[{"segment": "0", "rank": 0}, {"segment": "2", "rank": 1}])"});
  const std::int64_t trained_samples = 2 * 700, evaluated = 2 * 100;
  EXPECT_EQ(result.at("ranks")[0].at("sent_bytes"), (trained_samples + evaluated) * 256 * 4);
  EXPECT_EQ(result.at("ranks")[1].at("sent_bytes"), trained_samples * 256 * 4);
}

TEST(CliPipeline, is_proved_and_simulated_with_its_stages_and_what_it_idles_at_best) {
  const Ran checked = cli(in_micro_batches({"check", kTwoStages}, {"strategy.kind=pipeline"}));
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("proved: passing"));
  const Ran simulated = cli(in_micro_batches({"simulate", kTwoStages}, {"strategy.kind=pipeline"}));
  EXPECT_THAT(simulated.out,
              testing::AllOf(HasSubstr("idle, at best       20.0 %"),
                             HasSubstr("rank 0 has layer 0, rank 1 has layers 2 to 4")));
  const Json result =
      cli(in_micro_batches({"simulate", kTwoStages, "--json"}, {"strategy.kind=pipeline"}))
          .result();
  EXPECT_NEAR(result.at("ideal_bubble_fraction").get<double>(), 0.2, 1e-12);
}

Json stages_in(const std::filesystem::path& file) {
  return base::parse_json(read(file), "").value()["document"]["strategy"]["stages"];
}

// Seconds of the slowest of two ranks, of which the second begins at `cut`.
double slowest_of_two(const std::vector<double>& seconds, std::size_t cut) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(cut);
  return std::max(std::accumulate(seconds.begin(), middle, 0.0),
                  std::accumulate(middle, seconds.end(), 0.0));
}

TEST(CliPipeline, whose_layers_are_measured_shares_them_out_by_that_and_writes_it_down) {
  const Home home;
  const std::vector<std::string> measured = {"strategy.kind=pipeline",
                                             "strategy.stages.partition=measured"};
  for (const char* verb : {"validate", "check"})
    EXPECT_THAT(cli(in_micro_batches({verb, kTwoStages}, measured)).out,
                HasSubstr("are measured on this machine before the run; until then layers are "
                          "partitioned by cost"));
  const Json result = trained_in_stages(home, "run", measured);
  const Json stages = stages_in(home / "run" / "resolved.json");
  std::vector<double> seconds;
  std::vector<std::string> names;
  for (const Json& time : stages["times"])
    seconds.push_back(time["seconds"]), names.push_back(time["segment"]);
  EXPECT_THAT(names, testing::ElementsAre("0", "2", "4"));
  EXPECT_THAT(seconds, testing::Each(testing::Gt(0)));
  ASSERT_EQ(stages["places"].size(), 2u);
  const auto cut = static_cast<std::size_t>(
      std::find(names.begin(), names.end(), stages["places"][1]["segment"].get<std::string>()) -
      names.begin());
  for (std::size_t other = 1; other < seconds.size(); ++other)
    EXPECT_LE(slowest_of_two(seconds, cut), slowest_of_two(seconds, other));
  // A resolved experiment can be checked and run unchanged.
  const Ran checked = cli({"check", (home / "run" / "resolved.json").string(), "--json"});
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_FALSE(checked.result().contains("notes"));
  for (const std::size_t rank : {0, 1})
    EXPECT_EQ(checked.result()["ranks"][rank]["memory_bytes"],
              result["ranks"][rank]["plan_memory_bytes"]);
  // Given, they are not measured again.
  const std::string times = stages["times"].dump();
  trained_in_stages(home, "again", {measured[0], measured[1], "strategy.stages.times=" + times});
  EXPECT_EQ(stages_in(home / "again" / "resolved.json"), stages);
}

// Near what as many updates by batches as large learn, none of them stale.
TEST(CliPipeline,
     that_updates_after_every_micro_batch_learns_nearly_as_well_and_tells_how_stale_it_was) {
  const Home home;
  const std::vector<std::string> slowly = {"training.optimizer.learning_rate=0.02",
                                           "strategy.kind=pipeline"};
  const auto by = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> all = slowly;
    all.insert(all.end(), more.begin(), more.end());
    return trained_in_stages(home, name, all);
  };
  const Json stale = by("stale", {"strategy.stages.schedule=pipedream"}),
             fresh = by("fresh", {"training.accumulation_steps=1"});
  EXPECT_EQ(stale.at("samples"), fresh.at("samples"));
  EXPECT_NEAR(stale.at("held_out_accuracy").get<double>(),
              fresh.at("held_out_accuracy").get<double>(), 0.08);
  EXPECT_GT(stale.at("held_out_accuracy").get<double>(), 0.7);
  EXPECT_EQ(stale.at("staleness").at("max"), 1);
  EXPECT_NEAR(
      stale.at("staleness").at("mean").get<double>(), 0.5 * 33 / 44,
      1e-9);  // an epoch is 44 micro-batches, in 11 steps each of which begins with one that is not
  EXPECT_EQ(fresh.at("staleness").at("max"), 0);
}

TEST(CliPipeline, that_cannot_be_is_refused_with_what_to_do) {
  const auto refused = [](const std::vector<std::string>& overrides) {
    const Ran ran = cli(in_micro_batches({"validate", kTwoStages}, overrides));
    EXPECT_EQ(ran.exit_code, 2);
    return ran.err;
  };
  EXPECT_THAT(refused({"strategy.stages.partition=by_hand"}),
              HasSubstr("strategy.stages.places: the list of places is empty"));
  EXPECT_THAT(refused({"strategy.stages.partition=by_hand",
                       R"(strategy.stages.places=[{"segment": "1", "rank": 0}])"}),
              HasSubstr("\"1\" is no layer that can be placed"));
  EXPECT_THAT(
      refused({"strategy.kind=pipeline", "strategy.stages.schedule=interleaved_1f1b",
               "training.accumulation_steps=3"}),
      HasSubstr("interleaved_1f1b needs at least two ranges of layers for each of 2 workers"));
  EXPECT_THAT(refused({"strategy.engine=gloo"}), HasSubstr("sends activations"));
}

}  // namespace
}  // namespace trainyard::process

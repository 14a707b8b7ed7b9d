// SPDX-License-Identifier: GPL-3.0-or-later
// Notes on settings that are valid, but probably not what the user wants.
#include "core/experiment/notes.h"

#include <gmock/gmock.h>

#include "core/experiment/validation_result.h"
#include "tests/core/experiment/samples.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using model::LayerKind;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// Fields with notes, except links: in a drawing of one host, the link to the switch is unused.
std::vector<std::string> noted(const Experiment& e) {
  const auto resolved = resolve(e, ".");
  EXPECT_TRUE(resolved) << base::to_string(resolved.error());
  std::vector<std::string> fields;
  for (const Note& note : resolved ? all_notes(*resolved) : std::vector<Note>{})
    if (!note.field.starts_with("topology.links")) fields.push_back(note.field);
  return fields;
}

TEST(Notes, an_experiment_without_such_settings_has_none) {
  EXPECT_THAT(noted(small(1, 2)), IsEmpty());
}

TEST(Notes, settings_of_text_that_is_not_generated) {
  Experiment e = small(1, 2);
  e.run.sampled_characters = 50, e.run.temperature = 2;
  EXPECT_THAT(noted(e), ElementsAre("run.sampled_characters", "run.temperature"));
  Experiment text = strategy::small_gpt(1);
  text.run.temperature = 2;
  EXPECT_THAT(noted(text), IsEmpty());
  text.run.sampled_characters = 0;
  EXPECT_THAT(noted(text), ElementsAre("run.temperature"));
}

TEST(Notes, schedule_that_has_no_effect_in_the_run) {
  Experiment e = small(1, 2);
  const std::int64_t steps = resolve(e, ".").value().steps;
  e.training.schedule.warmup_steps = steps;
  EXPECT_THAT(noted(e), IsEmpty());
  e.training.schedule.warmup_steps = steps + 1;
  EXPECT_THAT(noted(e), ElementsAre("training.schedule.warmup_steps"));
  e.training.schedule = {.kind = ScheduleKind::step, .every_steps = steps};
  EXPECT_THAT(noted(e), ElementsAre("training.schedule.every_steps"));
  e.training.schedule.every_steps = steps - 1;
  EXPECT_THAT(noted(e), IsEmpty());
  e.training.schedule.factor = 1;
  EXPECT_THAT(noted(e), ElementsAre("training.schedule.factor"));
  e.training.schedule = {.kind = ScheduleKind::cosine, .final_fraction = 1};
  EXPECT_THAT(noted(e), ElementsAre("training.schedule.final_fraction"));
  e.training.schedule = {};
  e.training.optimizer.learning_rate = 0;
  EXPECT_THAT(noted(e), ElementsAre("training.optimizer.learning_rate"));
}

TEST(Notes, interval_that_is_longer_than_the_run) {
  Experiment e = small(1, 2);
  const std::int64_t steps = resolve(e, ".").value().steps;
  e.run.evaluate_every_steps = steps + 1;
  EXPECT_THAT(noted(e), ElementsAre("run.evaluate_every_steps"));
  e.run.evaluate_every_steps = steps;
  EXPECT_THAT(noted(e), IsEmpty());
  e.strategy.kind = StrategyKind::local_sgd;
  e.strategy.local_sgd.average_every_steps = steps + 1;
  EXPECT_THAT(noted(e), ElementsAre("strategy.local_sgd.average_every_steps"));
  e = small(1, 2);
  e.strategy.kind = StrategyKind::gossip;
  e.strategy.gossip.consensus_every_steps = steps;
  EXPECT_THAT(noted(e), IsEmpty());
  e.strategy.gossip.consensus_every_steps = steps + 1;
  EXPECT_THAT(noted(e), ElementsAre("strategy.gossip.consensus_every_steps"));
}

TEST(Notes, evaluation_without_held_out_samples) {
  Experiment e = small(1, 2);
  e.data.held_out_samples = 0;
  e.run.evaluate_every_steps = 0;
  EXPECT_THAT(noted(e), IsEmpty());
  e.run.evaluate_every_steps = 2;
  EXPECT_THAT(noted(e), ElementsAre("run.evaluate_every_steps"));
}

Experiment normalized(int devices) {
  Experiment e = small(1, devices);
  e.model.layers = {{LayerKind::linear, 6}, {LayerKind::batch_norm}, {LayerKind::linear, 0}};
  e.data.train_samples = 64;
  e.training.batch_per_rank = 8;
  return e;
}

TEST(Notes, batch_norm_over_one_sample) {
  EXPECT_THAT(noted(normalized(1)), IsEmpty());
  Experiment e = normalized(1);
  e.training.batch_per_rank = 1;
  EXPECT_THAT(noted(e), ElementsAre("model.layers[1]"));
  e = normalized(1);
  e.data.train_samples = 65;
  EXPECT_THAT(noted(e), ElementsAre("model.layers[1]")) << "the last batch of an epoch";
  e.training.steps = resolve(e, ".").value().steps_per_epoch - 1;
  e.data.held_out_samples = 0;  // no note on evaluations
  EXPECT_THAT(noted(e), IsEmpty()) << "the run ends before the last batch of an epoch";
  e.training.steps = 0;
  e.data.train_samples = 66;
  EXPECT_THAT(noted(e), IsEmpty());
  e = normalized(2);
  e.data.train_samples = 64 + 3;
  EXPECT_THAT(noted(e), ElementsAre("model.layers[1]")) << "rank 1 has one of the last 3 samples";
  e.model.layers[1].synchronized = true;
  EXPECT_THAT(noted(e), IsEmpty()) << "3 samples over all ranks";
  e = normalized(1);
  e.training.batch_per_rank = 3;
  e.training.accumulation_steps = 2;
  e.data.train_samples = 64;
  EXPECT_THAT(noted(e), ElementsAre("model.layers[1]")) << "64 = 10 x 6 + 3 + 1";
}

TEST(Notes, batch_norm_of_one_image_has_many_values_per_channel) {
  Experiment e = small(1, 1);
  e.data.kind = data::DataKind::digits;
  e.data.train_samples = 40, e.data.held_out_samples = 10;
  e.model.layers = {{.kind = LayerKind::conv2d, .units = 2, .kernel = 3},
                    {LayerKind::batch_norm},
                    {LayerKind::flatten},
                    {LayerKind::linear, 0}};
  e.training.batch_per_rank = 1;
  EXPECT_THAT(noted(e), IsEmpty());
}

TEST(Notes, link_that_no_route_uses) {
  const auto links = [](const Experiment& e) {
    const std::vector<Note> notes = all_notes(resolve(e, ".").value());
    return std::ranges::count(notes, "topology.links[0]", &Note::field);
  };
  EXPECT_EQ(links(small(1, 2)), 1);
  EXPECT_EQ(links(small(2, 1)), 0);
}

TEST(Notes, assessment_has_problems_or_notes_on_settings) {
  Experiment e = small(1, 2);
  e.training.optimizer.learning_rate = 0;
  EXPECT_THAT(assess(e, ".").problems, IsEmpty());
  EXPECT_THAT(assess(e, ".").notes,
              Contains(testing::Field(&Note::field, "training.optimizer.learning_rate")));
  e.training.batch_per_rank = 0;
  EXPECT_FALSE(assess(e, ".").problems.empty());
}

}  // namespace
}  // namespace trainyard::experiment

// SPDX-License-Identifier: GPL-3.0-or-later
// Text sampled from a language model that no rank holds completely: from its shards after the named
// step.
#include <gmock/gmock.h>

#include "core/experiment/fields.h"
#include "core/run/meters/text_sampler.h"
#include "core/session/checkpoint/checkpoint.h"
#include "session_run.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::conformance {
namespace {

using experiment::StrategyKind;
using testing::HasSubstr;

experiment::Experiment gpt(StrategyKind kind, int ranks) {
  experiment::Experiment e = strategy::small_gpt(ranks);
  e.name = "Text";
  e.strategy.kind = kind;
  e.strategy.mesh = {2, 1, 2, false};
  e.training.steps = 12;
  e.training.accumulation_steps = 2;
  e.run.transport = experiment::TransportKind::inproc;
  e.run.evaluate_every_steps = 4;
  e.run.sampled_characters = 30;
  return e;
}

struct SampledRun {
  session::CoordinatorResult result;
  std::vector<std::string> texts;
  std::string text_of_checkpoint;  // sampled from the last checkpoint
};

// Samples a text with the parameters of the last checkpoint.
std::string sample_checkpoint(const experiment::Experiment& e,
                              const std::filesystem::path& directory) {
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  std::vector<float> parameters(static_cast<std::size_t>(resolved.model.elements));
  const compute::Tensor flat{base::DType::fp32,
                             {resolved.model.elements},
                             reinterpret_cast<std::byte*>(parameters.data())};
  const auto read = session::read_checkpoint(directory / "checkpoints", resolved.model, flat);
  EXPECT_TRUE(read) << base::to_string(read.error());
  if (!read) return "";
  EXPECT_EQ(read->info.step, 12);
  const auto compute = compute::reference::make();
  auto sampler = run::TextSampler::make({&resolved.model,
                                         compute.get(),
                                         flat,
                                         {},
                                         compute::Multiplies::full,
                                         data::open(e.data, ".").value()->vocabulary()});
  return "after step 11:\n" + sampler.value().sample(30, e.run.temperature,
                                                     static_cast<std::uint64_t>(e.training.seed),
                                                     11);
}

SampledRun run_of(const experiment::Experiment& e) {
  SessionRun run(e);
  SampledRun sampled{run.result(), {}, {}};
  const auto directory = run.directory();
  const auto history = telemetry::History::load(directory).value();
  for (const auto& line : history.log())
    if (line.level == "text") sampled.texts.push_back(line.text);
  sampled.text_of_checkpoint = sample_checkpoint(e, directory);
  return sampled;
}

TEST(SessionText, of_a_sharded_model_equals_the_text_of_its_checkpoint) {
  for (const auto& [kind, ranks] : {std::pair{StrategyKind::model_parallel, 2},
                                    {StrategyKind::pipeline, 2},
                                    {StrategyKind::tensor_parallel, 2},
                                    {StrategyKind::fsdp, 3},
                                    {StrategyKind::hybrid, 4}}) {
    SCOPED_TRACE(base::name_of(kind));
    const SampledRun run = run_of(gpt(kind, ranks));
    ASSERT_EQ(state_of(run.result), "finished");
    ASSERT_FALSE(run.texts.empty());
    for (const std::string& text : run.texts)
      EXPECT_THAT(text, testing::AnyOf(HasSubstr("step 3:\n"), HasSubstr("step 7:\n"),
                                       HasSubstr("step 11:\n")));
    EXPECT_EQ(run.texts.back(), run.text_of_checkpoint) << "the last sample is never skipped";
    EXPECT_EQ(run.result.result["sampled_text"], run.text_of_checkpoint);
    EXPECT_FALSE(run.result.result.contains("committed_step")) << "no run can resume from it";
  }
}

TEST(SessionText, of_a_sharded_model_is_not_sampled_unless_requested) {
  experiment::Experiment e = gpt(StrategyKind::fsdp, 2);
  e.run.sampled_characters = 0;
  SessionRun run(e);
  const auto result = run.result();
  EXPECT_EQ(state_of(result), "finished");
  EXPECT_FALSE(result.result.contains("sampled_text"));
}

}  // namespace
}  // namespace trainyard::conformance

// SPDX-License-Identifier: GPL-3.0-or-later
// Resolved experiments whose JSON was changed at random, as in damaged recordings and run
// directories: each is refused, or has values with which later code can compute.
#include <gtest/gtest.h>

#include "core/experiment/resolve.h"
#include "tests/core/experiment/golden.h"
#include "tests/fuzzing.h"

namespace trainyard::experiment {
namespace {

base::Json resolved_example(const std::string& name) {
  const auto directory = in_tree("resources/experiments");
  const auto resolved = resolve(*load(directory / (name + ".json")), directory);
  EXPECT_TRUE(resolved) << base::to_string(resolved.error());
  return to_json(*resolved);
}

void fuzz_resolved(const std::string& example, std::size_t inputs) {
  const base::Json json = resolved_example(example);
  ASSERT_TRUE(resolved_from_json(json)) << example;
  fuzzing::fuzz(inputs, [&](fuzzing::Mutator& mutator) {
    base::Json changed = json;
    // Changes the whole, or only what `data` and `shards` state.
    const char* const part[] = {"", "data", "shards"};
    const std::string key = part[mutator.below(std::size(part))];
    base::Json& target = changed.contains(key) ? changed[key] : changed;
    target = mutator.mutate(target);
    const auto parsed = base::parse_json(base::to_text(changed), "resolved.json");
    if (!parsed) return;
    static_cast<void>(shards_of(*parsed));
    const auto read = resolved_from_json(*parsed);
    if (!read) {
      ASSERT_FALSE(read.error().id.empty());
      ASSERT_FALSE(read.error().what.empty());
      return;
    }
    ASSERT_GE(read->data.classes, 2);
    ASSERT_GE(read->data.train_samples, 1);
    ASSERT_GE(read->world(), 1);
    ASSERT_GE(read->global_batch, 1);
    ASSERT_TRUE(resolved_from_json(to_json(*read)));
  });
}

TEST(Fuzz, of_a_resolved_experiment_never_crashes_the_reader) {
  fuzz_resolved("four_devices_mirrored_digits", 200);
}

TEST(Fuzz, of_a_resolved_experiment_with_servers_never_crashes_the_reader) {
  fuzz_resolved("four_workers_parameter_server_digits", 100);
}

TEST(Fuzz, of_a_resolved_experiment_with_stages_never_crashes_the_reader) {
  fuzz_resolved("four_devices_pipeline_gpt_grammar", 50);
}

}  // namespace
}  // namespace trainyard::experiment

// SPDX-License-Identifier: GPL-3.0-or-later
// Real training by ranks in a mesh of data x pipeline x tensor: together they equal one device,
// replicas are alike to the bit, and they send each other what the formula says, no more.
#include <gtest/gtest.h>

#include <map>

#include "core/experiment/recomputation.h"
#include "tests/conformance/mesh_training.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::PipelineSchedule;

class MeshTraining : public testing::TestWithParam<MeshCase> {};

TEST_P(MeshTraining, over_hundred_fp64_steps_equals_one_device) {
  const Experiment& e = GetParam().experiment;
  expect_valid(e);
  expect_as_one_device(e, trained(e), trained(on_one(e))[0]);
}

TEST_P(MeshTraining, has_the_fp32_gradients_of_one_device) {
  Experiment e = one_step(GetParam().experiment);
  e.training.precision = experiment::Precision::fp32;
  EXPECT_LE(
      distance(assemble(e, trained(e), &RankOutcome::gradients), trained(on_one(e))[0].gradients),
      1e-5);
}

TEST_P(MeshTraining, sends_the_bytes_of_its_formula) { expect_sent_bytes(GetParam().experiment); }
TEST_P(MeshTraining, is_proved) { expect_proved(GetParam().experiment); }

// The tied layer alone in its stage: of that there is nothing to sum with replicas but the table.
Experiment tied_alone() {
  Experiment e = with(meshed(gpt(4, 2, true), {2, 2, 1}, 3), OptimizerKind::adam);
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = {{"0", 0}, {"3", 1}};
  return e;
}

using S = PipelineSchedule;
using O = OptimizerKind;
INSTANTIATE_TEST_SUITE_P(
    Meshes, MeshTraining,
    testing::Values(
        MeshCase{"rows_2x2x2", meshed(on_hosts(strategy::small_rows(8), 2, 4), {2, 2, 2}, 3)},
        MeshCase{"rows_2x1x2_adam", with(meshed(strategy::small_rows(4), {2, 1, 2}), O::adam)},
        MeshCase{"rows_2x2x1_gpipe_clipped",
                 with(meshed(strategy::small_rows(4), {2, 2, 1}, 3, S::gpipe), O::sgd, 0.2)},
        MeshCase{"uneven_1x2x4", meshed(small(8, 24), {1, 2, 4}, 3)},
        MeshCase{"uneven_4x1x2_direct",
                 with(meshed(small(8, 24), {4, 1, 2}, 2), O::adamw, 0, Algorithm::direct)},
        MeshCase{"uneven_2x1x3_tree_clipped",
                 with(meshed(small(6, 24), {2, 1, 3}, 2), O::sgd, 0.2, Algorithm::binary_tree)},
        MeshCase{"rows_3x2x1_zb",
                 with(meshed(strategy::small_rows(6), {3, 2, 1}, 4, S::zb_h1), O::adam)},
        MeshCase{"rows_2x4x1", meshed(strategy::small_rows(8), {2, 4, 1}, 4)},
        MeshCase{"rows_1x3x2_clipped",
                 with(meshed(strategy::small_rows(6), {1, 3, 2}, 6), O::adamw, 0.3)},
        MeshCase{"rows_2x2x2_zb_clipped",
                 with(meshed(on_hosts(strategy::small_rows(8), 2, 4), {2, 2, 2}, 3, S::zb_h1),
                      O::adam, 0.3, Algorithm::halving_doubling)},
        MeshCase{"gpt_1x2x2", meshed(gpt(4, 4, false), {1, 2, 2}, 4)},
        MeshCase{"gpt_2x2x2_interleaved",
                 meshed(on_hosts(gpt(8, 2, false), 4, 2), {2, 2, 2}, 4, S::interleaved_1f1b)},
        MeshCase{"tied_2x2x2_gpipe",
                 with(meshed(gpt(8, 4, true), {2, 2, 2}, 2, S::gpipe), O::adam, 0.3)},
        MeshCase{"tied_1x2x1_clipped", with(meshed(gpt(2, 2, true), {1, 2, 1}, 3), O::sgd, 0.3)},
        MeshCase{"tied_1x3x1_interleaved",
                 with(meshed(gpt(3, 2, true), {1, 3, 1}, 3, S::interleaved_1f1b), O::adam)},
        MeshCase{"tied_3x2x1_zb_tree", with(meshed(gpt(6, 2, true), {3, 2, 1}, 4, S::zb_h1),
                                            O::adam, 0, Algorithm::binary_tree)},
        MeshCase{"tied_2x2x2_clipped",
                 with(meshed(on_hosts(gpt(8, 4, true), 2, 4), {2, 2, 2}, 3), O::adam, 0.3)},
        MeshCase{"tied_alone_2x2x1", tied_alone()},
        MeshCase{"rows_4x1x1_clipped",
                 with(meshed(strategy::small_rows(4), {4, 1, 1}, 2), O::sgd, 0.3)},
        MeshCase{"clicks_2x2x1", meshed(strategy::small_clicks(4), {2, 2, 1}, 2, S::naive)},
        MeshCase{"images_2x2x2", meshed(images(strategy::small_images(8), 1), {2, 2, 2}, 2)}),
    name_of);

// With 241 samples and 24 per step, only replica 0 has the last one: the others contribute no
// gradient but take part in the sum.
TEST(MeshTail, with_an_empty_replica_equals_one_device) {
  for (const auto& [mesh, rows] : {std::pair{experiment::Mesh{2, 2, 2}, strategy::small_rows(8)},
                                   {experiment::Mesh{4, 2, 1}, strategy::small_rows(8)},
                                   {experiment::Mesh{2, 2, 1}, gpt(4, 2, true)}}) {
    Experiment e = meshed(rows, mesh, 3);
    e.data.train_samples = 241;
    ASSERT_EQ(experiment::resolve(e, ".").value().tail_samples, 1);
    expect_as_one_device(e, trained(e), trained(on_one(e))[0]);
  }
}

// Run for run the numbers are those of the outputs that are kept.
TEST(MeshRecomputation, of_replicated_pipelines_is_bit_identical) {
  Experiment e = meshed(strategy::small_rows(6), {2, 3, 1}, 4);
  const auto kept = assemble(e, trained(e), &RankOutcome::parameters);
  e.training.recompute_segments = 2;
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  ASSERT_TRUE(experiment::recomputation_of(resolved, 0).frees(0) ||
              experiment::recomputation_of(resolved, 0).frees(1));
  const auto problems = check::check(strategy::make_plan(resolved).value());
  EXPECT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
  EXPECT_EQ(assemble(e, trained(e), &RankOutcome::parameters), kept);
}

std::map<int, double> local_norms(const RankOutcome& rank) {
  return by_segment(rank, telemetry::Metric::local_gradient_norm);
}

// A rank's local gradient is the mean over the samples of its replica, whichever rank of it counts
// them; it equals that of a mirrored replica.
TEST(MeshNorms, of_local_gradients_are_those_of_replicas) {
  const Experiment e = one_step(meshed(strategy::small_rows(8), {2, 2, 2}, 1));
  Experiment mirrored = e;
  mirrored.topology = drawn_hosts(1, 2);
  mirrored.strategy.kind = experiment::StrategyKind::mirrored;
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  const auto ranks = trained(e), replicas = trained(mirrored);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ASSERT_EQ(ranks[r].problem, base::Problem{});
    const auto wanted = local_norms(replicas[static_cast<std::size_t>(
        experiment::mesh_of(resolved).place_of(static_cast<int>(r)).replica)]);
    int compared = 0;
    const model::Model own = experiment::of_rank(resolved, static_cast<int>(r)).model;
    for (const auto& [segment, norm] : local_norms(ranks[r])) {
      if (own.segments[static_cast<std::size_t>(segment)].split != model::Split::none) continue;
      EXPECT_NEAR(norm, wanted.at(segment), 1e-10 * wanted.at(segment))
          << "rank " << r << ", segment " << segment;
      ++compared;
    }
    EXPECT_GT(compared, 0);
  }
}

// A gradient that is not finite on one rank alone skips the update of all.
TEST(MeshUpdates, that_are_not_finite_are_skipped_by_all) {
  Experiment e = meshed(strategy::small_rows(8), {2, 2, 2}, 3);
  e.training.steps = 3;
  e.training.non_finite = experiment::NonFinite::skip;
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  const auto poisoned = [](int rank, const compute::Tensor& parameters) {
    if (rank == 5) parameters.as<double>()[0] = std::numeric_limits<double>::infinity();
  };
  const auto ranks = train(resolved, compute::reference::make, in_process, {}, poisoned);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].problem, base::Problem{});
    EXPECT_EQ(sum_of({ranks[r]}, telemetry::Metric::skipped_updates, 2), 3) << "rank " << r;
  }
}

}  // namespace
}  // namespace trainyard::tests

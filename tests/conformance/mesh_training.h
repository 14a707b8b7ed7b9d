// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that have but parts of a model, as one device would: what they end with is put together
// again, and what they say of it added up.
#pragma once

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/experiment/sent_bytes.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {

struct MeshCase {
  const char* name;
  experiment::Experiment experiment;
};
inline void PrintTo(const MeshCase& c, std::ostream* out) { *out << c.name; }
inline std::string name_of(const testing::TestParamInfo<MeshCase>& one) { return one.param.name; }

// Returns a mesh with 24 samples per step in `micro_batches` micro-batches per replica; an epoch of
// 250 samples ends with 10.
experiment::Experiment meshed(
    experiment::Experiment e, experiment::Mesh mesh, int micro_batches = 1,
    experiment::PipelineSchedule schedule = experiment::PipelineSchedule::one_forward_one_backward);

experiment::Experiment sharded(experiment::Experiment e, experiment::Shard shard);

experiment::Experiment with(experiment::Experiment e, experiment::OptimizerKind kind,
                            double clip_norm = 0,
                            collective::Algorithm algorithm = collective::Algorithm::ring);

experiment::Experiment gpt(int ranks, std::int64_t heads, bool tied);

experiment::Experiment on_hosts(experiment::Experiment e, int hosts, int devices);

// Values that a rank reported in the first step, by segment.
std::map<int, double> by_segment(const RankOutcome& rank, telemetry::Metric metric);

void expect_valid(const experiment::Experiment& e);

// Steps of which some are tails, and evaluations, byte for byte.
void expect_sent_bytes(experiment::Experiment e);

// Coarse, and as it is run.
void expect_proved(const experiment::Experiment& e);

// The same training on one device.
experiment::Experiment on_one(experiment::Experiment e);

// Combines the ranks' values. Elements held by several ranks must be bit-identical; elements
// outside of all boxes are on all ranks.
std::vector<double> assemble(const experiment::Experiment& e, const std::vector<RankOutcome>& ranks,
                             std::vector<double> RankOutcome::*part);

// Parameters after all steps; loss and accuracy of the first step and the last, and of held-out
// samples; norms of gradients and updates.
void expect_as_one_device(const experiment::Experiment& e, const std::vector<RankOutcome>& many,
                          const RankOutcome& one);

}  // namespace trainyard::tests

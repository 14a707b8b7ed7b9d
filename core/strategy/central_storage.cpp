// SPDX-License-Identifier: GPL-3.0-or-later
// Central storage: the step of a replica, with each all-reduce replaced by a sum and a broadcast.
// The storage sums a bucket, updates it, and broadcasts the parameters, while the devices still
// compute earlier layers. Sums and parameters use separate groups, so that they do not wait for
// each other. The storage contributes zeros to the sums, like a rank without samples.
#include <algorithm>
#include <optional>

#include "core/strategy/edit.h"
#include "core/strategy/replica.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using plan::Op;
using plan::OpKind;

// indices of the two groups, one for sums and one for parameters; both have the same ranks
constexpr std::int32_t kSums = 0, kParameters = 1;

struct Central {
  const experiment::Resolved& experiment;
  const std::vector<Bucket>& buckets;
  plan::LaneId compute{1}, parameters;  // compute lane, and communication lane for parameters
  plan::BufferId variables;
};

bool makes_updates(const Op& op) {
  return op.kind == OpKind::norm || op.kind == OpKind::clip || op.kind == OpKind::update;
}

bool reads(const Op& op, plan::BufferId buffer) {
  return std::any_of(op.reads.begin(), op.reads.end(),
                     [&](const plan::Access& access) { return access.buffer == buffer; });
}

std::int32_t bucket_of(const std::vector<Bucket>& buckets, int segment) {
  const auto at = std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& bucket) {
    return bucket.first_segment <= segment;
  });
  return static_cast<std::int32_t>(at - buckets.begin());
}

void sum_on(std::int32_t root, plan::Program& program) {
  for (Op& op : program.ops)
    if (op.kind == OpKind::all_reduce) op.kind = OpKind::reduce, op.peer = root;
}

// Adds a broadcast of the parameters of every bucket. `after`: by bucket, the number of compute ops
// for which the broadcast waits; empty for the broadcasts before the first step, which wait for
// none.
void add_broadcasts(const Central& c, plan::Program& program,
                    const std::vector<std::int32_t>& after) {
  for (std::size_t b = 0; b < c.buckets.size(); ++b) {
    const plan::Access span{c.variables, c.buckets[b].first, c.buckets[b].count};
    Op op = rooted(OpKind::broadcast, c.parameters, kParameters, static_cast<std::int32_t>(b),
                   c.experiment.storage_rank, span);
    if (!after.empty()) op.after = {{c.compute, after[b], 0}};
    program.ops.push_back(std::move(op));
  }
}

// Converts a replica's program to the program of a device that computes. The bucket's parameters on
// the device may be overwritten once the gradients of the bucket are computed. They are up to date
// after the broadcast of the previous step.
void compute_only(const Central& c, plan::Program& program) {
  drop_ops(program, makes_updates);
  std::vector<std::int32_t> after(c.buckets.size());
  for (Op& op : program.ops) {
    if (op.kind == OpKind::reduce)
      after[static_cast<std::size_t>(op.bucket)] = op.after.front().sequence;
    if (op.kind == OpKind::forward && reads(op, c.variables))
      op.after.push_back({c.parameters, bucket_of(c.buckets, op.segment) + 1, 1});
  }
  add_broadcasts(c, program, after);
}

// Converts a replica's program to the program of the storage. A bucket may be updated after the
// devices have received the broadcast of the previous step. The bucket is broadcast when all its
// segments are updated.
void update_only(const Central& c, plan::Program& program) {
  drop_ops(program, [](const Op& op) { return op.kind == OpKind::load; });
  std::vector<std::int32_t> after(c.buckets.size());
  std::int32_t done = 0;
  for (Op& op : program.ops) {
    if (op.lane == c.compute) ++done;
    if (op.kind != OpKind::update) continue;
    const std::int32_t bucket = bucket_of(c.buckets, op.segment);
    op.after.push_back({c.parameters, bucket + 1, 1});
    after[static_cast<std::size_t>(bucket)] = done;
  }
  add_broadcasts(c, program, after);
}

// Makes an evaluation wait for the parameters that were broadcast after the previous step.
void order_after_parameters(const Central& c, plan::Program& program) {
  for (Op& op : program.ops)
    if (op.kind == OpKind::forward && op.segment == 0)
      op.after.push_back({c.parameters, plan::Dependency::end, 1});
}

plan::RankPlan rank_beside_storage(const experiment::Resolved& e, std::int32_t rank,
                                   const std::vector<Bucket>& buckets) {
  plan::RankPlan made = replica(e, rank, buckets, kSums);
  const Central c{e, buckets, plan::LaneId(1), add_comm_lane(made, kParameters),
                  made.buffer("params")};
  // devices read the storage's parameters in place, so the storage's buffer is shared
  made.buffers[c.variables.index()].shared = rank == e.storage_rank;
  for (plan::Program& program : made.programs) {
    sum_on(e.storage_rank, program);
    if (!is_training(program)) order_after_parameters(c, program);
    else if (rank == e.storage_rank) update_only(c, program);
    else compute_only(c, program);
  }
  order_loads(made);
  add_broadcasts(c, made.programs.emplace_back(plan::Program{"start", 0, 0, 1, {}, {}}), {});
  drop_unused_buffers(made);
  return made;
}

std::optional<base::Problem> refusal(const experiment::Resolved& e) {
  if (e.storage_rank >= 0 && e.world() > 1) return std::nullopt;
  return base::Problem{
      "devices_do_not_fit",
      base::ProblemCode::bad_input,
      "strategy.kind",
      "central_storage needs a cpu that keeps the variables, and devices that compute",
      "workers on one host: one cpu, and gpus or tpus",
      "Draw these devices on one host, or set strategy.kind to mirrored."};
}

}  // namespace

base::Result<plan::Plan> central_storage(const experiment::Resolved& experiment) {
  if (auto refused = refusal(experiment)) return base::fail(*refused);
  const plan::Group all = world_group(experiment);
  return plan::Plan{experiment.world(),
                    {all, all},
                    schedule(experiment),
                    [experiment, cuts = buckets(experiment)](std::int32_t rank) {
                      return rank_beside_storage(experiment, rank, cuts);
                    }};
}

}  // namespace trainyard::strategy

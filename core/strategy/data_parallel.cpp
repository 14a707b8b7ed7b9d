// SPDX-License-Identifier: GPL-3.0-or-later
// Data parallel. The steps of rank 0 and of the other ranks differ. Both are derived from the step
// of a replica, so their transfers match. Rank 0 loads the rows of all ranks, computes the loss of
// all rows, and is the only rank that updates. Load, loss and update are removed from the other
// ranks, which get these results from rank 0. Group 0 contains all ranks; it transfers parameters
// and gradients. Group r contains ranks 0 and r; it transfers rows by broadcasts, because a
// broadcast is not split into chunks. The buckets of group r in a step are rank r's rows of inputs,
// sample indices (for dropout), outputs, and gradients of outputs, in this order.
#include <algorithm>

#include "core/strategy/edit.h"
#include "core/strategy/lanes.h"
#include "core/strategy/replica.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::Op;
using plan::OpKind;

constexpr std::int32_t kWorldGroup = 0;

// Rows of the global batch that a rank computes in a step.
struct Rows {
  std::int64_t first = 0, count = 0;
};

struct Parallel {
  const experiment::Resolved& experiment;
  const std::vector<Bucket>& buckets;

  std::int32_t ranks() const { return static_cast<std::int32_t>(experiment.world()); }
  std::int32_t bucket_count() const { return static_cast<std::int32_t>(buckets.size()); }
  std::int64_t of_output() const {
    return experiment.model.segments.back().outputs;
  }  // number of elements per sample
  std::int64_t labels() const { return experiment.model.labels(); }
  std::string last() const { return "s" + std::to_string(experiment.model.segments.size() - 1); }
  std::int32_t of_input() const {
    return experiment.model.drops() ? 2 : 1;
  }  // number of broadcasts of a rank's rows that must precede its compute
  // index of the bucket that transfers outputs; the buckets of inputs have lower indices
  std::int32_t outputs() const { return of_input(); }
  std::int32_t gradients() const { return of_input() + 1; }

  Rows rows(std::int64_t step, std::int32_t rank) const {
    const data::Shares shares = experiment.shares();
    return {shares.first(step, rank) - shares.first(step, 0), shares.samples(step, rank)};
  }
  // Returns the number of broadcasts on the lane of group 0 up to the broadcast of the segment's
  // bucket, which is included. Buckets of the first layers are broadcast first, because the forward
  // pass needs them first.
  std::int32_t broadcasts_until(int segment) const {
    const auto at = std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& bucket) {
      return bucket.first_segment <= segment;
    });
    return static_cast<std::int32_t>(buckets.end() - at);
  }
};

Access part(const Access& all, const Rows& rows, std::int64_t width) {
  return {all.buffer, rows.first * width, rows.count * width};
}
bool touches(const std::vector<Access>& accesses, plan::BufferId buffer) {
  return std::any_of(accesses.begin(), accesses.end(),
                     [&](const Access& access) { return access.buffer == buffer; });
}

// Replaces all-reduces by reductions to rank 0, and adds broadcasts of the parameters from rank 0
// at the start of every step. A broadcast waits until rank 0 has updated the parameters, and until
// the other ranks no longer use the old ones.
void replicate(const Parallel& p, const plan::RankPlan& rank, plan::Program& program) {
  const LaneId lane = lane_of(rank, kWorldGroup);
  for (Op& op : program.ops) {
    if (op.kind == OpKind::all_reduce) op.kind = OpKind::reduce, op.peer = 0;
    for (Dependency& dependency : op.after)
      if (dependency.lane == lane) dependency.sequence += p.bucket_count();
  }
  std::vector<Op> first;
  for (std::int32_t b = p.bucket_count() - 1; b >= 0; --b) {
    const Bucket& bucket = p.buckets[static_cast<std::size_t>(b)];
    first.push_back(rooted(OpKind::broadcast, lane, kWorldGroup, p.bucket_count() + b, 0,
                           {rank.buffer("params"), bucket.first, bucket.count}));
    first.back().after = {{kCompute, Dependency::end, 1}};
  }
  program.ops.insert(program.ops.begin(), first.begin(), first.end());
}

// Dependencies of the transfers between rank 0 and rank `of`, for inputs, outputs and gradients.
// They are dependencies on the sender or on the receiver.
struct Waits {
  std::vector<Dependency> inputs, outputs, gradients;
};
void add_transfers(const Parallel& p, const plan::RankPlan& rank, plan::Program& program,
                   std::int32_t of, const Rows& rows, const Waits& waits) {
  if (rows.count == 0) return;
  const auto add = [&](std::int32_t bucket, std::int32_t root, const std::string& buffer,
                       std::int64_t width, const std::vector<Dependency>& after) {
    program.ops.push_back(rooted(OpKind::broadcast, lane_of(rank, of), of, bucket, root,
                                 part(whole(rank, buffer), rows, width)));
    program.ops.back().after = after;
  };
  add(0, 0, "input", p.experiment.model.features, waits.inputs);
  if (p.experiment.model.drops()) add(1, 0, "sample_numbers", 1, waits.inputs);
  add(p.outputs(), of, "act." + p.last(), p.of_output(), waits.outputs);
  add(p.gradients(), 0, "grad." + p.last(), p.of_output(), waits.gradients);
}

// Returns the number of compute ops in the program up to the last op of this kind, which is
// included.
std::int32_t computed_until(const plan::Program& program, OpKind kind) {
  std::int32_t count = 0, found = 0;
  for (const Op& op : program.ops) {
    if (op.lane == kCompute) ++count;
    if (op.kind == kind) found = count;
  }
  return found;
}

// Programs of rank 0
// ------------------------------------------------------------------------------------------

// Makes an op that overwrites rows of the batch on rank 0 wait until the other ranks have received
// the rows of the previous step.
void wait_for_last_rows(const Parallel& p, const plan::RankPlan& rank, Op& op) {
  for (std::int32_t r = 1; r < p.ranks(); ++r)
    op.after.push_back({lane_of(rank, r), Dependency::end, 1});
}

void load_all(const Parallel& p, const plan::RankPlan& rank, plan::Program& program) {
  const std::int64_t samples = program.global_samples;
  for (Op& op : program.ops) {
    if (op.kind != OpKind::load) continue;
    for (Access& write : op.writes)
      write.count = samples * (write.buffer == rank.buffer("input")    ? p.experiment.model.features
                               : write.buffer == rank.buffer("labels") ? p.labels()
                                                                       : 1);
    wait_for_last_rows(p, rank, op);
  }
}

void compute_full_loss(const Parallel& p, const plan::RankPlan& rank, plan::Program& program,
                       std::int64_t step) {
  const std::int64_t samples = program.global_samples;
  for (Op& op : program.ops) {
    if (op.kind != OpKind::loss) continue;
    op.reads = {{rank.buffer("act." + p.last()), 0, samples * p.of_output()},
                {rank.buffer("labels"), 0, samples * p.labels()}};
    op.writes.front().count = samples * p.of_output();
    op.flops = samples * 5 * p.of_output();
    wait_for_last_rows(p, rank, op);
    for (std::int32_t r = 1; r < p.ranks(); ++r)
      if (p.rows(step, r).count > 0) op.after.push_back({lane_of(rank, r), p.outputs() + 1, 0});
  }
}

void direct(const Parallel& p, const plan::RankPlan& rank, plan::Program& program,
            std::int64_t step) {
  load_all(p, rank, program);
  compute_full_loss(p, rank, program, step);
  const Waits waits{{{kInput, 1, 0}},
                    {{kCompute, Dependency::end, 1}},
                    {{kCompute, computed_until(program, OpKind::loss), 0}}};
  for (std::int32_t r = 1; r < p.ranks(); ++r)
    add_transfers(p, rank, program, r, p.rows(step, r), waits);
}

// Makes an evaluation wait for the transfers of training rows, because the samples of the
// evaluation overwrite these rows.
void order_after_rows(const Parallel& p, const plan::RankPlan& rank, plan::Program& program) {
  for (Op& op : program.ops)
    if (op.kind == OpKind::load) wait_for_last_rows(p, rank, op);
}

void make_room(const Parallel& p, plan::RankPlan& rank) {
  const auto enlarge = [&](const std::string& name, std::int64_t width, bool shared) {
    const plan::BufferId id = rank.buffer(name);
    if (!id.valid()) return;
    rank.buffers[id.index()].elements = p.experiment.global_batch * width;
    rank.buffers[id.index()].shared = shared;  // the other ranks read the buffer in place
  };
  enlarge("input", p.experiment.model.features, true);
  enlarge("labels", p.labels(), false);
  enlarge("sample_numbers", 1, true);
  enlarge("act." + p.last(), p.of_output(), false);
  enlarge("grad." + p.last(), p.of_output(), true);
  rank.buffers[rank.buffer("params").index()].shared = true;
}

// Programs of the ranks other than rank 0
// ------------------------------------------------------------------------------------------

bool is_of_rank_0(const Op& op) {
  return op.kind == OpKind::load || op.kind == OpKind::loss || op.kind == OpKind::norm ||
         op.kind == OpKind::clip || op.kind == OpKind::update;
}

// Makes compute wait for received data: the forward pass for inputs and parameters, the backward
// pass for the gradient of the outputs.
void order_compute(const Parallel& p, const plan::RankPlan& rank, plan::Program& program) {
  const LaneId world_lane = lane_of(rank, kWorldGroup), rows = lane_of(rank, rank.rank);
  const plan::BufferId parameters = rank.buffer("params"), outputs = rank.buffer("act." + p.last());
  bool has_backward = false;
  for (Op& op : program.ops) {
    std::erase_if(op.after, [](const Dependency& dependency) { return dependency.lane == kInput; });
    if (op.kind == OpKind::forward && op.segment == 0) op.after.push_back({rows, p.of_input(), 0});
    if (op.kind == OpKind::forward && touches(op.reads, parameters))
      op.after.push_back({world_lane, p.broadcasts_until(op.segment), 0});
    if (op.kind == OpKind::forward && touches(op.writes, outputs))
      op.after.push_back({rows, Dependency::end, 1});
    const bool back = op.kind == OpKind::backward_input || op.kind == OpKind::backward_weight;
    if (back && !std::exchange(has_backward, true))
      op.after.push_back({rows, p.gradients() + 1, 0});
  }
}

void follow(const Parallel& p, const plan::RankPlan& rank, plan::Program& program,
            std::int64_t step) {
  drop_ops(program, is_of_rank_0);
  order_compute(p, rank, program);
  const Dependency all_of_last{kCompute, Dependency::end, 1};
  const Rows own{0, p.rows(step, rank.rank).count};
  add_transfers(
      p, rank, program, rank.rank, own,
      {{all_of_last}, {{kCompute, computed_until(program, OpKind::forward), 0}}, {all_of_last}});
}

// Programs of all ranks
// ------------------------------------------------------------------------------------------

std::int64_t first_step_of(const experiment::Resolved& e, const std::string& program) {
  const auto stretches = e.shares().stretches();
  for (std::size_t i = 1; i < stretches.size(); ++i)
    if (program == plan::Schedule::tail_name(i - 1)) return stretches[i].first_step;
  return stretches.front().first_step;
}

plan::RankPlan rank_of(const experiment::Resolved& e, std::int32_t number,
                       const std::vector<Bucket>& buckets) {
  const Parallel p{e, buckets};
  plan::RankPlan rank = replica(e, number, buckets, kWorldGroup);
  for (std::int32_t r = 1; r < p.ranks(); ++r)
    if (number == 0 || number == r) add_comm_lane(rank, r);
  if (number == 0) make_room(p, rank);
  else rank.buffers[rank.buffer("act." + p.last()).index()].shared = true;
  for (plan::Program& program : rank.programs) {
    if (!is_training(program)) {
      order_after_rows(p, rank, program);
      continue;
    }
    const std::int64_t step = first_step_of(e, program.name);
    replicate(p, rank, program);
    number == 0 ? direct(p, rank, program, step) : follow(p, rank, program, step);
  }
  drop_unused_buffers(rank);
  return rank;
}

std::vector<plan::Group> groups_of(const experiment::Resolved& e) {
  std::vector<plan::Group> groups{world_group(e)};
  for (std::int32_t r = 1; r < e.world(); ++r) groups.push_back({{0, r}});
  return groups;
}

}  // namespace

base::Result<plan::Plan> data_parallel(const experiment::Resolved& experiment) {
  if (experiment.world() < 2) return mirrored(experiment);  // a single rank sends nothing
  const auto world = static_cast<std::int32_t>(experiment.world());
  return plan::Plan{world, groups_of(experiment), schedule(experiment),
                    [experiment, cuts = buckets(experiment)](std::int32_t rank) {
                      return rank_of(experiment, rank, cuts);
                    }};
}

}  // namespace trainyard::strategy

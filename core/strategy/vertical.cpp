// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/vertical.h"

#include <algorithm>

#include "core/collective/algorithm.h"
#include "core/experiment/vertical.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

const model::Segment& first_of(const Replica& r) { return r.resolved.model.segments.front(); }

Access rows(const Access& whole, std::int64_t first, std::int64_t count, std::int64_t width) {
  return {whole.buffer, first * width, count * width};
}
Access local_rows(const Replica& r, const Access& whole, const MicroRows& of) {
  return rows(whole, of.own_first, of.own, row_of(r));
}
Access input_of(const Replica& r, const MicroRows& of) {
  return rows(r.buffers.input, 0, of.all, r.shared_columns.columns.count);
}
Access weights_of(const Replica& r) {
  return {r.buffers.parameters.buffer, first_of(r).first, first_of(r).weight_shape().elements()};
}
Access bias_of(const Replica& r) {
  return {r.buffers.parameters.buffer, first_of(r).bias_offset(), row_of(r)};
}

std::int64_t products(const Replica& r, const MicroRows& of) {
  return 2 * of.all * r.shared_columns.columns.count * row_of(r);
}

// Returns the maximum number of rows, of all ranks together, in any micro-step or evaluation round.
std::int64_t max_rows(const experiment::Resolved& e) {
  std::int64_t most = experiment::rows_of_micro_steps(e, 0).front();
  for (const std::int64_t rows_of_round : experiment::rows_of_evaluation(e))
    most = std::max(most, rows_of_round);
  return most;
}

}  // namespace

SharedColumns share_columns(const experiment::Resolved& e, std::int32_t rank, std::int32_t group,
                            std::int32_t first_number, Access& input, plan::RankPlan& plan) {
  const auto add = [&](std::string name, std::int64_t count, bool shared) {
    plan.buffers.push_back({std::move(name), gradient_dtype(e), count, shared});
    return Access{plan::BufferId(plan.buffers.size() - 1), 0, count};
  };
  SharedColumns shared;
  shared.group = group;
  shared.first_number = first_number;
  shared.lane = plan::LaneId(plan.lanes.size());
  plan.lanes.push_back({"comm.g" + std::to_string(group), plan::LaneKind::comm, group});
  const auto [first, count] = experiment::columns_by_rank(e)[static_cast<std::size_t>(rank)];
  shared.columns = {first, count, e.data.features()};
  const std::int64_t most = max_rows(e), outputs = e.model.segments.front().outputs;
  input.count = plan.buffers[input.buffer.index()].elements = most * count;
  shared.sums = add("pre.s0", most * outputs, true);
  shared.gradients = add("pre_grad.s0", most * outputs, true);
  shared.weights = add("columns.s0", outputs * count, false);
  return shared;
}

std::vector<MicroRows> rows_of_rank(const std::vector<std::int64_t>& rows_of_all, std::int64_t rank,
                                    std::int64_t ranks) {
  std::vector<MicroRows> list;
  for (const std::int64_t all : rows_of_all) {
    const auto [first, count] =
        collective::part(all, static_cast<int>(ranks), static_cast<int>(rank));
    list.push_back({all, first, count});
  }
  return list;
}

void take_columns(const Replica& r, const MicroRows& of, Op& load) {
  load.columns = r.shared_columns.columns;
  load.writes.front() = input_of(r, of);
}

Op partial_products(const Replica& r, const MicroRows& of) {
  Op op;
  op.kind = OpKind::partial;
  op.segment = 0;
  op.columns = r.shared_columns.columns;
  op.reads = {input_of(r, of), weights_of(r)};
  op.writes = {r.shared_columns.weights, sums_of(r, of)};
  op.flops = products(r, of);
  return op;
}

// Changes a forward op to only add the bias and apply the activation. Its input is then the product
// that was summed over the columns of all ranks.
void finish_forward(const Replica& r, const MicroRows& of, Op& forward) {
  forward.reads = {local_rows(r, r.shared_columns.sums, of), bias_of(r)};
  forward.flops = 2 * of.own * row_of(r);
}

void scatter_gradient_rows(const Replica& r, const MicroRows& of, Op& backward) {
  backward.writes.push_back(local_rows(r, r.shared_columns.gradients, of));
}

// Makes a backward op compute the bias gradient of the local rows, and the weight gradient of the
// local columns.
void take_columns_of_weight(const Replica& r, const MicroRows& of, Op& backward) {
  backward.columns = r.shared_columns.columns;
  backward.reads = {input_of(r, of), gradients_of(r, of),
                    local_rows(r, r.shared_columns.gradients, of)};
  backward.writes.push_back(r.shared_columns.weights);
  backward.flops = products(r, of) + of.own * row_of(r) + 3 * first_of(r).elements;
}

Access sums_of(const Replica& r, const MicroRows& of) {
  return rows(r.shared_columns.sums, 0, of.all, row_of(r));
}
Access gradients_of(const Replica& r, const MicroRows& of) {
  return rows(r.shared_columns.gradients, 0, of.all, row_of(r));
}
std::int64_t row_of(const Replica& r) { return first_of(r).outputs; }

}  // namespace trainyard::strategy

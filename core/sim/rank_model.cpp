// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/rank_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/collective/engine_cost.h"
#include "core/plan/engine_lane.h"
#include "core/plan/text.h"
#include "core/run/bind/layout.h"
#include "core/run/bind/op_numbers.h"

namespace trainyard::sim {
namespace {

using plan::Op;
using plan::OpKind;

std::int64_t bytes_of(const std::vector<plan::Access>& accesses, const plan::RankPlan& rank) {
  std::int64_t bytes = 0;
  for (const plan::Access& access : accesses)
    bytes += access.count * base::size_of(rank.buffers[access.buffer.index()].dtype);
  return bytes;
}

// Returns the maximum number of table rows that an op transfers: the capacity of one worker's list
// of rows.
std::int64_t max_rows(const Op& op, const plan::RankPlan& rank) {
  if (!op.named) return 0;
  if (op.kind == OpKind::push) return op.reads.front().count / op.row;
  const std::int64_t lists = rank.rule ? rank.rule->workers : 1;
  return rank.buffers[op.reads.back().buffer.index()].elements / lists - plan::kListHead;
}

bool exchanges(OpKind kind) {
  return plan::communicates(kind) || plan::serves(kind) || plan::gossips_in_pairs(kind);
}

std::vector<int> peers_of(const Op& op, const plan::RankPlan& rank, const plan::Plan& plan) {
  if (!exchanges(op.kind)) return {};
  if (op.kind == OpKind::copy || plan::coarse(op.kind)) return {};
  // An op with servers or pairs that names no peer may have any worker as peer, so all workers are
  // listed.
  if (op.peer < 0 && (plan::serves(op.kind) || plan::gossips_in_pairs(op.kind))) return {};
  if (op.kind != OpKind::reduce_many) return {op.peer};
  std::vector<int> others;
  for (const int member : plan::summands(op, plan.groups))
    if (member != rank.rank) others.push_back(member);
  return others;
}

bool is_offload_op(OpKind kind) { return kind == OpKind::offload || kind == OpKind::fetch; }

Picoseconds time_of_copy(const Op& op, const plan::RankPlan& rank, const HostLink& to_host) {
  const auto& homes = op.kind == OpKind::offload ? op.writes : op.reads;
  const auto bytes = static_cast<double>(bytes_of(homes, rank));
  const bool to_disk = std::any_of(homes.begin(), homes.end(), [&](const plan::Access& home) {
    return rank.buffers[home.buffer.index()].place == plan::MemoryKind::disk;
  });
  if (!to_disk) return picoseconds(bytes / to_host.bytes_per_second + to_host.latency_seconds);
  return picoseconds(bytes / std::min(to_host.bytes_per_second, kDisk.bytes_per_second) +
                     to_host.latency_seconds + kDisk.latency_seconds);
}

Picoseconds time_of(const Op& op, const OpModel& model, const plan::RankPlan& rank,
                    const topology::Device& device, const HostLink& to_host, Picoseconds launch) {
  if (is_offload_op(op.kind)) return time_of_copy(op, rank, to_host);
  if (op.kind == OpKind::send || op.kind == OpKind::push || op.kind == OpKind::give ||
      op.kind == OpKind::offer || plan::coarse(op.kind))
    return 0;
  const std::int64_t arrived =
      model.bytes * (op.kind == OpKind::take ? 1 : static_cast<std::int64_t>(model.peers.size()));
  // Counts each table row as read or written twice: in the packed buffer and in the table.
  const std::int64_t rows = model.max_rows * model.row_bytes;
  const auto moved = static_cast<double>(
      op.named ? 3 * rows : bytes_of(op.reads, rank) + bytes_of(op.writes, rank) + arrived);
  const double busy = std::max(static_cast<double>(op.flops) / device.peak_flops,
                               moved / device.memory_bandwidth_bytes_per_second);
  if (exchanges(op.kind)) return picoseconds(busy);
  const Picoseconds without_slowdown = picoseconds(busy) + launch;
  const double mean_factor = device.slow_down * (1 + device.jitter / 2);
  return mean_factor == 1 || op.kind == OpKind::load
             ? without_slowdown
             : picoseconds(seconds(without_slowdown) * mean_factor);
}

OpModel model_op(const Op& op, const plan::RankPlan& rank, const plan::Plan& plan,
                 const topology::Device& device, const HostLink& to_host, Picoseconds launch) {
  OpModel model{op.kind,   op.lane,  0,        op.group,
                op.bucket, op.round, op.chunk, peers_of(op, rank, plan),
                0,         {},       1};
  if (plan::serves(op.kind))
    model.bytes = plan::carried(op) != nullptr ? bytes_of({*plan::carried(op)}, rank) : 0;
  else if (exchanges(op.kind))
    model.bytes = bytes_of(plan::names_destination(op.kind) ? op.reads : op.writes, rank);
  if (plan::coarse(op.kind)) {
    model.engine_bytes = collective::engine_bytes(op, rank, plan.groups);
    model.members = plan.groups[static_cast<std::size_t>(op.group)].ranks;
    model.element_bytes =
        static_cast<int>(base::size_of(rank.buffers[op.writes.front().buffer.index()].dtype));
  }
  if (op.named) {
    const plan::Access& span = op.kind == OpKind::pack ? op.reads.front() : *plan::carried(op);
    model.row_bytes = op.row * base::size_of(rank.buffers[span.buffer.index()].dtype);
    model.max_rows = max_rows(op, rank);
  }
  model.takes = time_of(op, model, rank, device, to_host, launch);
  return model;
}

base::Problem refusal(const char* id, const plan::RankPlan& rank, const plan::Program& program,
                      std::string what, std::string advice) {
  return {id,
          base::ProblemCode::bad_input,
          fmt::format("rank {}, program {}", rank.rank, program.name),
          std::move(what),
          "",
          std::move(advice)};
}

base::Result<void> check(const Op& op, const plan::RankPlan& rank, const plan::Program& program,
                         const plan::Plan& plan) {
  if (!exchanges(op.kind)) return {};
  if (plan::coarse(op.kind) && plan::engine_of(rank.lanes[op.lane.index()]).empty())
    return base::fail(
        refusal("plan_not_expanded", rank, program,
                fmt::format("the collective {} is not expanded to sends and receives of chunks",
                            plan::token(op)),
                "Expand the collectives of the plan before you simulate it."));
  if (op.group < 0 || static_cast<std::size_t>(op.group) >= plan.groups.size())
    return base::fail(refusal("op_without_group", rank, program,
                              fmt::format("{} has no group", plan::token(op)), ""));
  for (const int member : plan.groups[static_cast<std::size_t>(op.group)].ranks)
    if (member < 0 || member >= plan.ranks)
      return base::fail(
          refusal("unknown_member", rank, program,
                  fmt::format("the group of {} has member {}, which is not a rank of the plan",
                              plan::token(op), member),
                  ""));
  for (const int peer : peers_of(op, rank, plan))
    if (peer < 0 || peer >= plan.ranks || peer == rank.rank)
      return base::fail(
          refusal("unknown_peer", rank, program,
                  fmt::format("the peer of {} is {}, which is not another rank of the plan",
                              plan::token(op), peer),
                  ""));
  return {};
}

}  // namespace

HostLink host_link(const topology::Device& device, const topology::Host& host) {
  if (device.kind == topology::DeviceKind::cpu)
    return {device.memory_bandwidth_bytes_per_second / 2, 0};
  return {host.bus_bandwidth_bits_per_second / 8, host.bus_latency_seconds};
}

int RankModel::program(std::string_view name) const {
  const auto found = program_numbers.find(name);
  return found == program_numbers.end() ? -1 : found->second;
}

base::Result<RankModel> model_rank(const plan::RankPlan& rank, const plan::Plan& plan,
                                   const topology::Device& device, const HostLink& to_host,
                                   Picoseconds launch) {
  if (auto ok = run::check_op_numbers(rank); !ok) return base::fail(ok.error());
  const run::Layout layout = run::layout(rank);
  RankModel model{rank.rank, rank.lanes, {}, {}, layout.device_bytes()};
  for (const plan::Program& program : rank.programs) {
    model.program_numbers[program.name] = static_cast<int>(model.programs.size());
    ProgramModel& made =
        model.programs.emplace_back(ProgramModel{program.repeats, plan::purpose(program.name), {}});
    for (const Op& op : program.ops) {
      if (const auto fits = check(op, rank, program, plan); !fits) return base::fail(fits.error());
      made.ops.push_back(model_op(op, rank, plan, device, to_host, launch));
    }
  }
  return model;
}

}  // namespace trainyard::sim

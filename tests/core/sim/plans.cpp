// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/sim/plans.h"

#include <gtest/gtest.h>

#include <numeric>

namespace trainyard::sim {
namespace {

using plan::Access;
using plan::BufferId;
using plan::LaneId;
using plan::LaneKind;
using plan::Op;
using plan::OpKind;
using plan::Program;
using plan::RankPlan;

const LaneId kInput{0}, kCompute{1}, kComm{2};

plan::Group everyone(int ranks) {
  plan::Group group;
  group.ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

Op make(OpKind kind, LaneId lane, int segment, std::int64_t flops) {
  Op op;
  op.kind = kind;
  op.lane = lane;
  op.segment = segment;
  op.flops = flops;
  return op;
}

Op reduce(int bucket, Access span, std::vector<plan::Dependency> after) {
  Op op = make(OpKind::all_reduce, kComm, -1, 0);
  op.bucket = bucket;
  op.group = 0;
  op.reads = op.writes = {span};
  op.after = std::move(after);
  return op;
}

// Compute ops: forward of every segment, backward of every segment from the last, update in the
// same order.
Program train(const Replica& r, std::string name) {
  Program program{std::move(name), 1, r.ranks, 1, {}};
  const BufferId input{0}, grads{1}, params{2};
  const auto gradient = [&](BufferId id, int s) { return Access{id, s * r.elements, r.elements}; };
  program.ops.push_back(make(OpKind::load, kInput, -1, 0));
  program.ops.back().micro = 0;
  program.ops.back().writes = {{input, 0, 10}};
  program.ops.back().after = {{kCompute, r.segments, 1}};
  for (int s = 0; s < r.segments; ++s) {
    program.ops.push_back(make(OpKind::forward, kCompute, s, r.flops));
    if (s == 0) program.ops.back().after = {{kInput, 1, 0}};
  }
  for (int s = r.segments - 1, bucket = 0; s >= 0; --s, ++bucket) {
    program.ops.push_back(make(OpKind::backward_weight, kCompute, s, 2 * r.flops));
    program.ops.back().writes = {gradient(grads, s)};
    if (r.ranks > 1) program.ops.back().after = {{kComm, bucket + 1, 1}};
    if (r.ranks > 1)
      program.ops.push_back(
          reduce(bucket, gradient(grads, s), {{kCompute, r.segments + bucket + 1, 0}}));
  }
  for (int s = r.segments - 1, bucket = 0; s >= 0; --s, ++bucket) {
    program.ops.push_back(make(OpKind::update, kCompute, s, 0));
    program.ops.back().reads = {gradient(grads, s)};
    program.ops.back().writes = {gradient(params, s)};
    if (r.ranks > 1) program.ops.back().after = {{kComm, bucket + 1, 0}};
  }
  return program;
}

Program evaluate(const Replica& r) {
  Program program{"evaluate",
                  1,
                  r.ranks,
                  r.evaluations,
                  {make(OpKind::load, kInput, -1, 0), make(OpKind::forward, kCompute, 0, r.flops)}};
  program.ops[0].after = {{kCompute, plan::Dependency::end, 1}};
  program.ops[1].after = {{kInput, 1, 0}};
  return program;
}

}  // namespace

topology::Topology star(const Star& s) {
  topology::Topology drawing;
  drawing.switches.push_back({.name = "switch"});
  for (int i = 0; i < s.hosts; ++i) {
    const std::string name = std::to_string(i);
    topology::Device device{.name = "d" + name};
    device.peak_flops = s.peak_flops;
    device.memory_bandwidth_bytes_per_second = s.memory_bandwidth_bytes_per_second;
    drawing.hosts.push_back({.name = "h" + name,
                             .address = "",
                             .devices = {device},
                             .bus_bandwidth_bits_per_second = 1e15,
                             .bus_latency_seconds = 0});
    drawing.links.push_back(
        {"h" + name, "switch", s.bandwidth_bits_per_second, s.latency_seconds / 2});
  }
  return drawing;
}

topology::Topology one_host(int devices, double bus_bandwidth_bits_per_second,
                            double bus_latency_seconds) {
  topology::Host host{.name = "h",
                      .address = "",
                      .devices = {},
                      .bus_bandwidth_bits_per_second = bus_bandwidth_bits_per_second,
                      .bus_latency_seconds = bus_latency_seconds};
  for (int i = 0; i < devices; ++i) host.devices.push_back({.name = "d" + std::to_string(i)});
  return {{host}, {}, {}};
}

plan::Plan replica(const Replica& r) {
  const std::vector<plan::Group> groups =
      r.ranks > 1 ? std::vector{everyone(r.ranks)} : std::vector<plan::Group>{};
  const plan::Plan coarse{
      r.ranks, groups, r.schedule, [r](std::int32_t rank) {
        RankPlan plan{
            rank, {{"input", LaneKind::input, -1}, {"compute", LaneKind::compute, -1}}, {}, {}};
        if (r.ranks > 1) plan.lanes.push_back({"comm.g0", LaneKind::comm, 0});
        plan.buffers = {{"input", base::DType::fp32, 10, false},
                        {"grads", base::DType::fp32, r.segments * r.elements, true},
                        {"params", base::DType::fp32, r.segments * r.elements, false}};
        plan.programs.push_back(train(r, "train"));
        for (std::size_t t = 0; t < r.schedule.tails.size(); ++t)
          plan.programs.push_back(train(r, plan::Schedule::tail_name(t)));
        if (r.evaluations > 0) plan.programs.push_back(evaluate(r));
        return plan;
      }};
  return collective::expand(coarse, r.method);
}

plan::Plan all_reduce(int ranks, std::int64_t elements, const collective::Method& method) {
  const plan::Plan coarse{
      ranks, {everyone(ranks)}, {1, 1, {}, 0}, [=](std::int32_t rank) {
        RankPlan plan{rank,
                      {{"input", LaneKind::input, -1},
                       {"compute", LaneKind::compute, -1},
                       {"comm.g0", LaneKind::comm, 0}},
                      {{"grads", base::DType::fp32, elements, true}},
                      {}};
        plan.programs.push_back(
            {"train", 1, ranks, 1, {reduce(0, {BufferId(0), 0, elements}, {})}});
        return plan;
      }};
  return collective::expand(coarse, method);
}

plan::Plan messages(int ranks, std::int64_t elements,
                    const std::vector<std::pair<int, int>>& pairs) {
  return {ranks, {everyone(ranks)}, {1, 1, {}, 0}, [=](std::int32_t rank) {
            RankPlan plan{rank,
                          {{"send.g0", LaneKind::send, 0}, {"recv.g0", LaneKind::recv, 0}},
                          {{"data", base::DType::fp32, elements, true}},
                          {{"train", 1, 1, 1, {}}}};
            for (const auto& [from, to] : pairs) {
              if (rank != from && rank != to) continue;
              Op op = make(rank == from ? OpKind::send : OpKind::recv, LaneId(rank == from ? 0 : 1),
                           -1, 0);
              op.bucket = op.round = op.chunk = 0;
              op.group = 0;
              op.peer = rank == from ? to : from;
              (rank == from ? op.reads : op.writes) = {{BufferId(0), 0, elements}};
              plan.programs[0].ops.push_back(op);
            }
            return plan;
          }};
}

Simulated simulated(const plan::Plan& plan, const topology::Topology& drawing, Options options) {
  Simulated made;
  options.on_event = [&](int rank, const telemetry::Event& event) {
    made.events.push_back({rank, event});
  };
  const auto outcome = simulate(plan, topology::Network(drawing), options);
  EXPECT_TRUE(outcome) << (outcome ? "" : base::to_string(outcome.error()));
  if (outcome) made.outcome = *outcome;
  return made;
}

Options bare() {
  Options options;
  options.launch_seconds = 0;
  return options;
}

}  // namespace trainyard::sim

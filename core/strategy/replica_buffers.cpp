// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/replica_buffers.h"

#include <algorithm>

#include "core/experiment/mesh.h"
#include "core/experiment/precision.h"
#include "core/experiment/stages.h"
#include "core/experiment/sync_batch_norm.h"

namespace trainyard::strategy {
namespace {

std::int64_t largest_segment(const model::Model& model) {
  std::int64_t most = 0;
  for (const model::Segment& segment : model.segments) most = std::max(most, segment.elements);
  return most;
}

}  // namespace

Flat full_model(const experiment::Resolved& e) {
  return {e.model.elements, e.model.elements, e.model.elements};
}

ReplicaBuffers add_buffers(const experiment::Resolved& e, Shared peers_read, bool synchronizes,
                           std::vector<plan::Buffer>& list, const Slots& slots) {
  return add_buffers(e, peers_read, synchronizes, list, slots, full_model(e));
}

ReplicaBuffers add_buffers(const experiment::Resolved& e, Shared peers_read, bool synchronizes,
                           std::vector<plan::Buffer>& list, const Slots& slots, const Flat& flat) {
  const auto add = [&](std::string name, base::DType type, std::int64_t count,
                       bool shared = false) {
    list.push_back({std::move(name), type, count, shared});
    return plan::Access{plan::BufferId(list.size() - 1), 0, count};
  };
  const base::DType dtype = gradient_dtype(e), passing = experiment::activation_dtype(e);
  const std::int64_t batch = e.document.training.batch_per_rank;
  const auto segments = static_cast<std::int64_t>(e.model.segments.size());
  ReplicaBuffers b;
  b.parameters = add("params", dtype, flat.parameters, peers_read == Shared::parameters);
  b.gradients = add("grads", dtype, flat.gradients, peers_read == Shared::gradients);
  for (int m = 0; m < moments(e.document.training.optimizer); ++m)
    b.moments.push_back(add("moment" + std::to_string(m + 1), dtype, flat.moments));
  b.input = add("input", experiment::input_dtype(e), slots.samples * batch * e.model.features);
  b.labels = add("labels", base::DType::int32, slots.samples * batch * e.model.labels());
  for (const model::Segment& segment : e.model.segments) {
    const std::size_t s = b.activations.size();
    const std::string number = std::to_string(s);
    b.activations.push_back(
        add("act.s" + number, passing, slots.of_activation(s) * batch * segment.outputs));
    b.activation_gradients.push_back(
        add("grad.s" + number, passing, slots.of_gradient(s) * batch * segment.outputs));
    const bool normalizes = segment.kind == model::LayerKind::batch_norm,
               summed = synchronizes && segment.synchronized;
    const bool gradients_summed =
                   summed && experiment::sums_gradients(e.model, static_cast<int>(s)),
               partial = segment.accumulates && segment.kind != model::LayerKind::add;
    const std::int64_t sums = 2 * segment.channels() + 1;
    b.partial_gradients.push_back(
        partial ? add("partial.s" + number, passing, batch * segment.inputs) : plan::Access{});
    b.sums.push_back(
        normalizes ? add("sums.s" + number, base::DType::fp64, slots.of_sums(s) * sums, summed)
                   : plan::Access{});
    b.gradient_sums.push_back(
        normalizes ? add("gradient_sums.s" + number, base::DType::fp64, sums - 1, gradients_summed)
                   : plan::Access{});
  }
  if (e.model.state_elements > 0) b.running = add("running", dtype, e.model.state_elements);
  if (e.model.drops())
    b.sample_numbers = add("sample_numbers", base::DType::int32, slots.samples * batch);
  b.metrics = add("metrics", base::DType::fp64, 2);
  b.local_norms = add("local_norms", base::DType::fp64, segments);
  b.statistics = add("statistics", base::DType::fp64, 3 * segments);
  b.rate = add("rate", base::DType::fp64,
               experiment::updates_each_micro_batch(e.document.strategy) ? 3 : 2);
  if (e.document.training.accumulation_steps > 1 || e.model.ties() || experiment::mesh_of(e).calls)
    b.micro_gradients = add("micro_grads", dtype, largest_segment(e.model));
  if (e.document.training.needs_gradient_norm()) {
    b.reduced_norms = add("reduced_norms", base::DType::fp64, segments);
    b.factor = add("factor", base::DType::fp64, 1);
  }
  return b;
}

std::vector<std::int32_t> slots_by_buffer(const ReplicaBuffers& b, const Slots& slots,
                                          std::size_t count) {
  std::vector<std::int32_t> list(count, 1);
  const auto set = [&](const plan::Access& buffer, std::int32_t of) {
    if (buffer.buffer.valid()) list[buffer.buffer.index()] = of;
  };
  for (const plan::Access& samples : {b.input, b.labels, b.sample_numbers})
    set(samples, slots.samples);
  for (std::size_t s = 0; s < b.activations.size(); ++s) {
    set(b.activations[s], slots.of_activation(s));
    set(b.sums[s], slots.of_sums(s));
    set(b.activation_gradients[s], slots.of_gradient(s));
  }
  return list;
}

}  // namespace trainyard::strategy

// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/served_share.h"

#include <algorithm>
#include <thread>

#include "core/compute/combine.h"

namespace trainyard::run {

ServedShare::ServedShare(const ServedShareParts& parts) : parts_(parts), queue_(parts.compute->make_queue()) {}

// What the workers of a share were given lies one after another, shares in their order.
std::byte* ServedShare::kept(const BoundOp& takes, int worker) const {
  const std::int64_t first = takes.data - arrival().ops[1].data, workers = parts_.plan->rule->workers;
  return parts_.bound->given.data + first * workers + takes.bytes * worker;
}

void ServedShare::keep(int worker) {
  for (std::size_t op = 1; compensates() && op < arrival().ops.size(); ++op) {
    const BoundOp& takes = arrival().ops[op];
    parts_.compute->copy(kept(takes, worker), parameters().data + (takes.data - arrival().ops[1].data), takes.bytes);
  }
}

const std::byte* ServedShare::compensated(const BoundOp& takes, const std::byte* gradient, int worker) const {
  const std::int64_t first = takes.data - arrival().ops[1].data;
  std::byte* const made = parts_.bound->compensated.data + first;
  parts_.compute->copy(made, gradient, takes.bytes);
  compute::compensate(takes.dtype, made, parameters().data + first, kept(takes, worker), parts_.delay_compensation, takes.elements);
  return made;
}

void ServedShare::take(std::size_t op, const std::byte* gradient, bool first, int worker) {
  const BoundOp& takes = arrival().ops[op];
  if (compensates()) gradient = compensated(takes, gradient, worker);
  if (first) return parts_.compute->copy(takes.data, gradient, takes.bytes);
  sources_.assign({takes.data, gradient});
  parts_.compute->sum(takes.dtype, takes.data, sources_, takes.elements);
}

void ServedShare::add(std::size_t op, std::span<const std::byte* const> gradients) {
  const BoundOp& takes = arrival().ops[op];
  sources_.assign(gradients.begin(), gradients.end());
  parts_.compute->sum(takes.dtype, takes.data, sources_, takes.elements);
}

double ServedShare::begin_update(std::int64_t version, std::int64_t step, std::span<const std::int64_t> staleness, int to) {
  to_ = to;
  double rate = parts_.recipe->learning_rate(step);
  if (parts_.divides_by_staleness) {
    double sum = 0;
    for (const std::int64_t one : staleness) sum += static_cast<double>(one);
    rate /= std::max(1.0, sum / static_cast<double>(staleness.size()));
  }
  parts_.bound->rate.as<double>()[0] = rate;
  parts_.bound->rate.as<double>()[1] = static_cast<double>(version);
  return rate;
}

void ServedShare::run_update(std::size_t op) {
  const BoundOp& updates = update().ops[op];
  if (updates.kernels.empty()) return;
  updates.kernels[static_cast<std::size_t>(place_ * places() + to_)]->enqueue(*queue_);
  const std::uint64_t mark = queue_->record();
  while (!queue_->reached(mark)) std::this_thread::yield();
}

}  // namespace trainyard::run

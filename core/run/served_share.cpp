// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/served_share.h"

#include <algorithm>
#include <thread>

namespace trainyard::run {

ServedShare::ServedShare(const ServedShareParts& parts) : parts_(parts), queue_(parts.compute->make_queue()) {}

void ServedShare::take(std::size_t op, const std::byte* gradient, bool first) {
  const BoundOp& takes = arrival().ops[op];
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

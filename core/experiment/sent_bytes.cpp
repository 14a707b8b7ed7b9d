// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/sent_bytes.h"

#include "core/experiment/compression.h"
#include "core/experiment/duties.h"
#include "core/experiment/synchronised.h"

namespace trainyard::experiment {

std::optional<std::vector<std::int64_t>> sent_bytes(const Resolved& e) {
  const StrategySpec& strategy = e.document.strategy;
  std::vector<std::int64_t> sent(e.ranks.size(), 0);
  if (e.world() < 2) return sent;
  if (fixed_algorithm(strategy.kind) || strategy.engine != Engine::own) return std::nullopt;
  const auto add = [&](const Payload& payload, std::int64_t times) {
    const collective::Work work{payload.elements, static_cast<int>(base::size_of(payload.dtype)), e.ranks, e.hosts};
    const auto each = collective::sent_bytes(payload.collective, strategy.algorithm, strategy.segment_bytes, work);
    for (std::size_t rank = 0; rank < sent.size(); ++rank) sent[rank] += times * each[rank];
  };
  for (const Bucket& bucket : buckets(e))
    for (const Payload& payload : payloads(e, bucket)) add(payload, e.steps);
  for (const std::int64_t elements : summed_elements(e)) add({collective::Collective::all_reduce, base::DType::fp64, elements}, count_micro_steps(e));
  if (strategy.kind == StrategyKind::ddp) add({collective::Collective::broadcast, gradient_dtype(e), e.model.elements}, 1);
  return sent;
}

}  // namespace trainyard::experiment

// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/sent_bytes.h"

#include "core/experiment/compression.h"
#include "core/experiment/duties.h"
#include "core/experiment/local_sgd.h"
#include "core/experiment/synchronised.h"
#include "core/experiment/vertical.h"

namespace trainyard::experiment {

std::optional<std::vector<std::int64_t>> sent_bytes(const Resolved& e) {
  const StrategySpec& strategy = e.document.strategy;
  std::vector<std::int64_t> sent(e.ranks.size(), 0);
  if (e.world() < 2) return sent;
  if (fixed_algorithm(strategy.kind) || strategy.kind == StrategyKind::gossip || strategy.engine != Engine::own) return std::nullopt;
  const auto add_work = [&](const collective::Work& work, std::int64_t times) {
    const std::int64_t segment_bytes = collective::shares_out(work.collective) ? 0 : strategy.segment_bytes;
    const auto each = collective::sent_bytes(work.collective, strategy.algorithm, segment_bytes, work);
    for (std::size_t rank = 0; rank < sent.size(); ++rank) sent[rank] += times * each[rank];
  };
  const auto add = [&](const Payload& payload, std::int64_t times) {
    add_work({payload.elements, static_cast<int>(base::size_of(payload.dtype)), e.ranks, e.hosts, payload.collective}, times);
  };
  for (const Bucket& bucket : buckets(e))
    for (const Payload& payload : payloads(e, bucket)) add(payload, strategy.kind == StrategyKind::local_sgd ? count_meetings(e) : e.steps);
  for (const std::int64_t elements : summed_elements(e)) add({collective::Collective::all_reduce, base::DType::fp64, elements}, count_micro_steps(e));
  if (strategy.kind == StrategyKind::ddp) add({collective::Collective::broadcast, gradient_dtype(e), e.model.elements}, 1);
  for (const Exchange& exchange : exchanges(e)) {
    add_work(exchanged(e, exchange.rows, collective::Collective::reduce_scatter), exchange.times);
    if (exchange.backward) add_work(exchanged(e, exchange.rows, collective::Collective::all_gather), exchange.times);
  }
  return sent;
}

}  // namespace trainyard::experiment

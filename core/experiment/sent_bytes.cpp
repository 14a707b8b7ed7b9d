// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/sent_bytes.h"

#include "core/experiment/compression.h"
#include "core/experiment/duties.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/local_sgd.h"
#include "core/experiment/synchronised.h"
#include "core/experiment/tensor.h"
#include "core/experiment/vertical.h"

namespace trainyard::experiment {
namespace {

using collective::Collective;

// Of ranks that keep but a part of what they train: within shard groups, and among the ranks that have the same part.
class ShardedBytes {
 public:
  explicit ShardedBytes(const Resolved& e)
      : e_(e), groups_(shard_groups(e)), width_(static_cast<int>(base::size_of(gradient_dtype(e)))), sent_(e.ranks.size(), 0) {}

  std::vector<std::int64_t> of_run() {
    const FsdpSpec& fsdp = e_.document.strategy.fsdp;
    const bool gathers = fsdp.shard == Shard::full, scatters = fsdp.shard != Shard::optimizer;
    const std::int64_t micro_steps = count_micro_steps(e_), rounds = count_evaluations(e_) * held_out_rounds(e_).count();
    for (const Bucket& unit : buckets(e_)) {
      const std::int64_t passes = !gathers || stays_gathered(e_, unit) ? e_.steps : 2 * micro_steps;
      within_groups({unit.count, width_, {}, {}, Collective::all_gather}, passes + (gathers ? rounds : 0));
      within_groups({unit.count, width_, {}, {}, Collective::reduce_scatter}, scatters ? micro_steps : e_.steps);
      for (std::size_t p = 0; groups_.size() > 1 && p < groups_.front().size(); ++p)
        among(with_part(p), {collective::part(unit.count, static_cast<int>(groups_.front().size()), static_cast<int>(p)).second, width_, {}, {}}, e_.steps);
    }
    const std::int64_t segments = std::ssize(e_.model.segments);
    within_groups({3 * segments, sizeof(double), {}, {}}, e_.steps);
    if (e_.document.training.judges_gradients()) within_groups({segments, sizeof(double), {}, {}}, e_.steps);
    return std::move(sent_);
  }

 private:
  std::vector<int> with_part(std::size_t position) const {
    std::vector<int> ranks;
    for (const auto& group : groups_) ranks.push_back(group[position]);
    return ranks;
  }

  void within_groups(const collective::Work& work, std::int64_t times) {
    for (const auto& ranks : groups_) among(ranks, work, times);
  }

  void among(const std::vector<int>& ranks, collective::Work work, std::int64_t times) {
    if (work.elements == 0) return;
    for (const int rank : ranks) {
      work.devices.push_back(e_.ranks[static_cast<std::size_t>(rank)]);
      work.hosts.push_back(e_.hosts[static_cast<std::size_t>(rank)]);
    }
    const StrategySpec& strategy = e_.document.strategy;
    const auto each = collective::sent_bytes(work.collective, strategy.algorithm, collective::shares_out(work.collective) ? 0 : strategy.segment_bytes, work);
    for (std::size_t p = 0; p < ranks.size(); ++p) sent_[static_cast<std::size_t>(ranks[p])] += times * each[p];
  }

  const Resolved& e_;
  std::vector<std::vector<int>> groups_;
  int width_;
  std::vector<std::int64_t> sent_;
};

}  // namespace

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
  if (shards(e)) sent = ShardedBytes(e).of_run();
  const std::vector<LayerSum> sums = layer_sums(e);
  for_each_micro_batch(e, [&](std::int64_t samples, std::int64_t train, std::int64_t evaluate) {
    for (const LayerSum& sum : sums)
      add({sum.of_sample.collective, sum.of_sample.dtype, samples * sum.of_sample.elements}, train + (sum.backward ? 0 : evaluate));
  });
  if (splits_layers(e)) {
    const std::int64_t segments = std::ssize(e.model.segments);
    add({Collective::all_reduce, base::DType::fp64, 3 * segments}, e.steps);
    if (e.document.training.judges_gradients()) add({Collective::all_reduce, base::DType::fp64, segments}, e.steps);
  }
  for (const Bucket& bucket : shards(e) || splits_layers(e) ? std::vector<Bucket>{} : buckets(e))
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

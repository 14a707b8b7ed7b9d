// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/sent_bytes.h"

#include <numeric>
#include <utility>

#include "core/experiment/compression.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/local_sgd.h"
#include "core/experiment/mesh.h"
#include "core/experiment/precision.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/stages.h"
#include "core/experiment/state_groups.h"
#include "core/experiment/sync_batch_norm.h"
#include "core/experiment/tensor.h"
#include "core/experiment/ties.h"
#include "core/experiment/vertical.h"

namespace trainyard::experiment {
namespace {

using collective::Collective;

// Sums of sent bytes by rank. Each function adds the bytes of collectives among some of the ranks.
class Sent {
 public:
  explicit Sent(const Resolved& e) : e_(e), sent_(e.ranks.size(), 0) {}

  void among(const std::vector<int>& ranks, collective::Work work, std::int64_t times) {
    if (work.elements == 0 || ranks.size() < 2) return;
    for (const int rank : ranks) {
      work.devices.push_back(e_.ranks[static_cast<std::size_t>(rank)]);
      work.hosts.push_back(e_.hosts[static_cast<std::size_t>(rank)]);
    }
    const StrategySpec& strategy = e_.document.strategy;
    const auto each = collective::sent_bytes(
        work.collective, strategy.algorithm,
        collective::is_sharded(work.collective) ? 0 : strategy.segment_bytes, work);
    for (std::size_t p = 0; p < ranks.size(); ++p)
      sent_[static_cast<std::size_t>(ranks[p])] += times * each[p];
  }
  void among(const std::vector<int>& ranks, const Payload& payload, std::int64_t times) {
    among(ranks,
          collective::Work{payload.elements,
                           static_cast<int>(base::size_of(payload.dtype)),
                           {},
                           {},
                           payload.collective},
          times);
  }
  void add(int rank, std::int64_t bytes) { sent_[static_cast<std::size_t>(rank)] += bytes; }

  // Adds the bytes of all collectives among ranks that hold the same part of the model: within each
  // shard group, and among the ranks with the same shard.
  void add_sharded_replicas(const std::vector<int>& ranks, const Resolved& own) {
    const auto groups = shard_groups_within(e_, ranks);
    for (const auto& members : groups) among_sharers(members, own);
    for (std::size_t p = 0; p < groups.front().size(); ++p) {
      std::vector<int> with_part;
      for (const auto& members : groups) with_part.push_back(members[p]);
      for (const Bucket& unit : buckets(own)) {
        const std::int64_t part =
            collective::part(unit.count, static_cast<int>(groups.front().size()),
                             static_cast<int>(p))
                .second;
        among(with_part, Payload{Collective::all_reduce, gradient_dtype(own), part}, own.steps);
      }
    }
  }

  std::vector<std::int64_t> take() { return std::move(sent_); }

 private:
  // Adds the bytes of the all-gathers and reduce-scatters of all units within one shard group.
  void among_sharers(const std::vector<int>& ranks, const Resolved& own) {
    const bool gathers = own.document.strategy.fsdp.shard == Shard::full;
    const std::int64_t micro_steps = count_micro_steps(own),
                       rounds = count_evaluations(own) * held_out_rounds(own).count();
    for (const Bucket& unit : buckets(own)) {
      const std::int64_t passes =
          !gathers || stays_gathered(own, unit) ? own.steps : 2 * micro_steps;
      among(ranks, Payload{Collective::all_gather, gradient_dtype(own), unit.count},
            passes + (gathers ? rounds : 0));
      among(ranks, Payload{Collective::reduce_scatter, gradient_dtype(own), unit.count},
            accumulates_gradient(own, unit) ? own.steps : micro_steps);
    }
  }

  const Resolved& e_;
  std::vector<std::int64_t> sent_;
};

// Returns the bytes that ranks send in fsdp: within shard groups, and among ranks with the same
// shard.
class ShardedBytes {
 public:
  explicit ShardedBytes(const Resolved& e) : e_(e), groups_(shard_groups(e)), sent_(e) {}

  std::vector<std::int64_t> of_run() {
    std::vector<int> everyone(static_cast<std::size_t>(e_.world()));
    std::iota(everyone.begin(), everyone.end(), 0);
    sent_.add_sharded_replicas(everyone, e_);
    const std::int64_t segments = std::ssize(e_.model.segments);
    within_groups({Collective::all_reduce, base::DType::fp64, 3 * segments}, e_.steps);
    if (e_.document.training.needs_gradient_norm())
      within_groups({Collective::all_reduce, base::DType::fp64, segments}, e_.steps);
    return sent_.take();
  }

 private:
  void within_groups(const Payload& payload, std::int64_t times) {
    for (const auto& ranks : groups_) sent_.among(ranks, payload, times);
  }

  const Resolved& e_;
  std::vector<std::vector<int>> groups_;
  Sent sent_;
};

// Computes the bytes that ranks send if the model is split over the stages and tensor parts of a
// mesh.
class MeshBytes {
 public:
  explicit MeshBytes(const Resolved& e)
      : e_(e), mesh_(mesh_of(e)), course_(stage_graph_of(e)), sent_(e) {}

  std::vector<std::int64_t> of_run() {
    for (int rank = 0; rank < mesh_.ranks(); ++rank) add_crossings(rank);
    for (int stage = 0; stage < mesh_.pipeline; ++stage) {
      for (int replica = 0; replica < mesh_.replicas(stage); ++replica)
        add_layers({replica, stage, 0});
      for (int part = 0; part < mesh_.tensor; ++part) add_gradients({0, stage, part});
    }
    for (const std::vector<int>& ranks : tie_groups(e_.document)) {
      const model::Model own = of_rank(e_, ranks.front()).model;
      sent_.among(ranks,
                  Payload{Collective::all_reduce, gradient_dtype(e_),
                          own.owner(own.segments.back()).elements},
                  e_.steps);
    }
    if (e_.document.training.needs_gradient_norm() && mesh_.sums_norms(shards(e_)))
      sent_.among(everyone(),
                  Payload{Collective::all_reduce, base::DType::fp64, std::ssize(e_.model.segments)},
                  e_.steps);
    return sent_.take();
  }

 private:
  std::vector<int> everyone() const {
    std::vector<int> ranks(static_cast<std::size_t>(mesh_.ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  // Adds the bytes that a rank sends to other stages: activations and their gradients, or samples.
  // A server of rpc sends to all trainers that call it.
  void add_crossings(int rank) {
    const MeshCoordinates at = mesh_.place_of(rank);
    const model::Model own = of_rank(e_, rank).model;
    std::int64_t forward = 0, in_training = 0;
    for (const model::Crossing& crossing : course_.crossings) {
      if (course_.rank_of(crossing.from) != at.stage) continue;
      const bool always = crossing.forward() && crossing.value != model::kSampleNumbers;
      (always ? forward : in_training) += bytes_of_sample(own, crossing.value);
    }
    const bool is_called = mesh_.is_called(at);
    for (int replica = is_called ? 0 : at.replica, end = is_called ? mesh_.data : replica + 1;
         replica < end; ++replica)
      for_each_micro_batch(
          e_, mesh_.rank_of({replica, 0, at.part}),
          [&](std::int64_t samples, std::int64_t train, std::int64_t evaluate) {
            sent_.add(rank, samples * (train * (forward + in_training) + evaluate * forward));
          });
  }

  std::int64_t bytes_of_sample(const model::Model& own, int value) const {
    if (value == model::kSamples) return own.features * base::size_of(input_dtype(e_));
    if (value == model::kSampleNumbers) return base::size_of(base::DType::int32);
    return own.segments[static_cast<std::size_t>(value)].outputs *
           base::size_of(activation_dtype(e_));
  }

  // Adds the bytes of the all-reduces within layers, among the ranks that split these layers.
  void add_layers(const MeshCoordinates& at) {
    const int rank = mesh_.rank_of(at);
    const std::vector<int> parts = mesh_.tensor_group(rank);
    for_each_micro_batch(
        e_, rank, [&](std::int64_t samples, std::int64_t train, std::int64_t evaluate) {
          for (const LayerSum& sum : layer_sums(e_))
            if (course_.rank_of(course_.paths[static_cast<std::size_t>(sum.segment)].front()) ==
                at.stage)
              sent_.among(parts,
                          Payload{sum.of_sample.collective, sum.of_sample.dtype,
                                  samples * sum.of_sample.elements},
                          train + (sum.backward ? 0 : evaluate));
        });
    if (!shards(e_)) add_statistics(parts);
  }

  void add_statistics(const std::vector<int>& ranks) {
    sent_.among(
        ranks,
        Payload{Collective::all_reduce, base::DType::fp64, 3 * std::ssize(e_.model.segments)},
        e_.steps);
  }

  // Adds the bytes of the collectives that sum gradients over the replicas of a stage.
  void add_gradients(const MeshCoordinates& at) {
    const Resolved own = of_rank(e_, mesh_.rank_of(at));
    const std::vector<int> replicas = mesh_.replicas_of(mesh_.rank_of(at));
    if (shards(e_)) {
      sent_.add_sharded_replicas(replicas, own);
      for (const auto& ranks : at.part == 0 ? shard_groups_within(e_, mesh_.stage(at.stage))
                                            : std::vector<std::vector<int>>{})
        add_statistics(ranks);
      return;
    }
    const std::int64_t updates =
        updates_each_micro_batch(e_.document.strategy) ? count_micro_steps(e_) : e_.steps;
    for (const Bucket& bucket : buckets(own))
      sent_.among(replicas, Payload{Collective::all_reduce, gradient_dtype(e_), bucket.count},
                  updates);
  }

  const Resolved& e_;
  Mesh mesh_;
  model::StageGraph course_;
  Sent sent_;
};

}  // namespace

namespace {

// Adds the bytes of the broadcasts of running statistics. Returns nothing if a root is not the
// first rank of its group, for which there is no formula.
std::optional<std::vector<std::int64_t>> with_state(const Resolved& e,
                                                    std::vector<std::int64_t> sent) {
  Sent broadcasts(e);
  for (const StateGroup& group : state_groups(e)) {
    if (group.root != group.ranks.front()) return std::nullopt;
    broadcasts.among(group.ranks, Payload{Collective::broadcast, gradient_dtype(e), group.elements},
                     count_evaluations(e));
  }
  const std::vector<std::int64_t> added = broadcasts.take();
  for (std::size_t rank = 0; rank < sent.size(); ++rank) sent[rank] += added[rank];
  return sent;
}

}  // namespace

std::optional<std::vector<std::int64_t>> sent_bytes(const Resolved& e) {
  const StrategySpec& strategy = e.document.strategy;
  std::vector<std::int64_t> sent(e.ranks.size(), 0);
  if (e.world() < 2) return sent;
  if (splits_model(strategy.kind) && strategy.engine == Engine::own)
    return with_state(e, MeshBytes(e).of_run());
  if (fixed_algorithm(strategy.kind) || strategy.kind == StrategyKind::gossip ||
      strategy.engine != Engine::own)
    return std::nullopt;
  const auto add_work = [&](const collective::Work& work, std::int64_t times) {
    const std::int64_t segment_bytes =
        collective::is_sharded(work.collective) ? 0 : strategy.segment_bytes;
    const auto each =
        collective::sent_bytes(work.collective, strategy.algorithm, segment_bytes, work);
    for (std::size_t rank = 0; rank < sent.size(); ++rank) sent[rank] += times * each[rank];
  };
  const auto add = [&](const Payload& payload, std::int64_t times) {
    add_work({payload.elements, static_cast<int>(base::size_of(payload.dtype)), e.ranks, e.hosts,
              payload.collective},
             times);
  };
  if (shards(e)) sent = ShardedBytes(e).of_run();
  for (const Bucket& bucket : shards(e) ? std::vector<Bucket>{} : buckets(e))
    for (const Payload& payload : payloads(e, bucket))
      add(payload, strategy.kind == StrategyKind::local_sgd ? count_meetings(e) : e.steps);
  for (const std::int64_t elements : summed_elements(e))
    add({collective::Collective::all_reduce, base::DType::fp64, elements}, count_micro_steps(e));
  if (strategy.kind == StrategyKind::ddp)
    add({collective::Collective::broadcast, gradient_dtype(e), e.model.elements}, 1);
  for (const Exchange& exchange : exchanges(e)) {
    add_work(exchanged(e, exchange.rows, collective::Collective::reduce_scatter), exchange.times);
    if (exchange.backward)
      add_work(exchanged(e, exchange.rows, collective::Collective::all_gather), exchange.times);
  }
  return with_state(e, std::move(sent));
}

}  // namespace trainyard::experiment

// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/room.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/findings.h"
#include "core/experiment/recomputation.h"
#include "core/experiment/stages.h"
#include "core/experiment/swap.h"
#include "core/experiment/tensor.h"
#include "core/run/memory_use.h"
#include "core/session/put_aside.h"
#include "core/strategy/strategy.h"

namespace trainyard::session {
namespace {

using run::MemoryUse;

std::string path_of(const topology::Topology& topology, const std::string& device) {
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d)
      if (topology.hosts[h].devices[d].name == device) return "topology.hosts[" + std::to_string(h) + "].devices[" + std::to_string(d) + "].memory_bytes";
  return "topology.hosts";
}

// What a rank's buffers take.
MemoryUse use_of(const plan::Plan& plan, int rank) {
  const plan::RankPlan one = plan.rank_plan(rank);
  return run::memory_use(one, run::layout(one));
}

// What would fit: its settings, what it costs, and the most that a rank takes then.
struct Way {
  std::string settings, cost;
  std::int64_t bytes = 0;
};

class WaysToFit {
 public:
  explicit WaysToFit(const experiment::Resolved& e) : e_(e), network_(e.document.topology) {}

  std::vector<Way> find() {
    if (e_.servers > 0 || e_.evaluators > 0) return {};
    smaller_micro_steps();
    recomputation();
    swap();
    shares();
    stages();
    split_layers();
    return std::move(ways_);
  }

 private:
  // The most that a rank takes; nothing where some do not fit, or the experiment cannot be.
  std::optional<std::int64_t> fits(const experiment::Resolved& other) const {
    if (!experiment::problems_of_meaning(other.document, &other.data).empty()) return std::nullopt;
    const auto plan = strategy::make_plan(other);
    if (!plan) return std::nullopt;
    std::int64_t most = 0;
    for (int rank = 0; rank < plan->ranks; ++rank) {
      const std::int64_t needs = use_of(*plan, rank).total();
      if (needs > network_.device(e_.ranks[static_cast<std::size_t>(rank)]).memory_bytes) return std::nullopt;
      most = std::max(most, needs);
    }
    return most;
  }

  void smaller_micro_steps() {
    const experiment::TrainingSpec& training = e_.document.training;
    for (std::int64_t k = 2; k <= training.batch_per_rank; ++k) {
      if (training.batch_per_rank % k != 0) continue;
      experiment::Resolved other = e_;
      other.document.training.batch_per_rank /= k;
      other.document.training.accumulation_steps *= k;
      const auto bytes = fits(other);
      if (!bytes) continue;
      ways_.push_back({"training.batch_per_rank=" + std::to_string(other.document.training.batch_per_rank) +
                           " with training.accumulation_steps=" + std::to_string(other.document.training.accumulation_steps),
                       "the same batch in more and smaller products", *bytes});
      return;
    }
  }

  // Short runs first: they compute least again.
  void recomputation() {
    for (std::int64_t k = 2; k < std::ssize(e_.model.segments); k += std::max<std::int64_t>(1, k / 2)) {
      experiment::Resolved other = e_;
      other.document.training.recompute_segments = k;
      const auto bytes = fits(other);
      if (!bytes) continue;
      ways_.push_back({"training.recompute_segments=" + std::to_string(k),
                       std::to_string(std::lround(100 * experiment::recomputed_share(other))) + " % more operations", *bytes});
      return;
    }
  }

  // Outputs, else moments, else both: to the host, which is nearer than a disk.
  void swap() {
    using experiment::SwapTo;
    if (experiment::swaps(e_.document.training)) return;
    for (const auto& [activations, optimizer] : {std::pair{SwapTo::host, SwapTo::nowhere}, {SwapTo::nowhere, SwapTo::host}, {SwapTo::host, SwapTo::host}}) {
      experiment::Resolved other = e_;
      other.document.training.swap.activations = activations;
      other.document.training.swap.optimizer = optimizer;
      const auto bytes = fits(other);
      if (!bytes) continue;
      const bool both = activations == optimizer;
      ways_.push_back(
          {std::string("training.swap.") + (optimizer == SwapTo::nowhere ? "activations=host" : "optimizer=host") +
               (both ? " with training.swap.activations=host" : ""),
           base::format_bytes(static_cast<double>(bytes_put_aside(strategy::make_plan(other).value()))) + " are copied to the host and back in a step",
           *bytes});
      return;
    }
  }

  bool all_reduces() const {
    using enum experiment::StrategyKind;
    const auto kind = e_.document.strategy.kind;
    return e_.world() > 1 && (kind == mirrored || kind == multi_worker_mirrored || kind == ddp || kind == fsdp);
  }

  // Among all replicas; of a mesh, of what each place has.
  void shares() {
    using experiment::Shard;
    const bool mesh = e_.document.strategy.kind == experiment::StrategyKind::hybrid;
    if (!mesh && !all_reduces()) return;
    for (const auto shard : {Shard::optimizer, Shard::gradients, Shard::full}) {
      experiment::Resolved other = e_;
      if (mesh) other.document.strategy.mesh.shards_data = true;
      else other.document.strategy.kind = experiment::StrategyKind::fsdp;
      other.document.strategy.fsdp.shard = shard;
      const auto bytes = fits(other);
      if (!bytes) continue;
      const std::string cost = shard == Shard::full ? "half as many bytes again as ddp sends" : "as many bytes as ddp sends, the second half after the update";
      const std::string of_mesh =
          shard == Shard::optimizer ? cost : std::string(shard == Shard::full ? "parameters and " : "") + "gradients travel with every micro-batch";
      ways_.push_back(
          {std::string(mesh ? "strategy.mesh.shards_data=true" : "strategy.kind=fsdp") + " with strategy.fsdp.shard=" + std::string(base::name_of(shard)),
           mesh ? of_mesh : cost, *bytes});
      return;
    }
  }

  // Every sample then passes all ranks: as many micro-batches more.
  void stages() {
    if (!all_reduces()) return;
    experiment::Resolved other = e_;
    other.document.strategy = {};
    other.document.strategy.kind = experiment::StrategyKind::pipeline;
    other.document.strategy.stages.partition = experiment::Partition::memory;
    other.document.training.accumulation_steps *= e_.world();
    if (!experiment::stage_problems(other.document, other.model).empty()) return;
    other.document.strategy.stages.places = experiment::places_of(other);
    if (const auto bytes = fits(other))
      ways_.push_back({"strategy.kind=pipeline with strategy.stages.partition=memory and training.accumulation_steps=" +
                           std::to_string(other.document.training.accumulation_steps),
                       "devices idle at least " + std::to_string(std::lround(100 * experiment::ideal_bubble(other).value_or(0))) + " % of the time", *bytes});
  }

  // Likewise; every device then has all samples' activations, but within pairs of layers its part of them.
  void split_layers() {
    if (!all_reduces()) return;
    experiment::Resolved other = e_;
    other.document.strategy = {};
    other.document.strategy.kind = experiment::StrategyKind::tensor_parallel;
    other.document.training.accumulation_steps *= e_.world();
    if (!experiment::tensor_problems(other.document, other.model).empty()) return;
    if (const auto bytes = fits(other))
      ways_.push_back({"strategy.kind=tensor_parallel with training.accumulation_steps=" + std::to_string(other.document.training.accumulation_steps),
                       "activations of every pair of layers are all-reduced, both ways", *bytes});
  }

  const experiment::Resolved& e_;
  topology::Network network_;
  std::vector<Way> ways_;
};

std::string advice(const experiment::Resolved& e, int rank) {
  if (e.serves(rank)) return "Give it more memory, draw more servers, or take a smaller model.";
  if (e.evaluates_alone(rank)) return "Give it more memory, or take a smaller model.";
  std::string text;
  for (const Way& way : WaysToFit(e).find())
    text += (text.empty() ? "These fit: " : "; ") + way.settings + " (" + base::format_bytes(static_cast<double>(way.bytes)) + "; " + way.cost + ")";
  return text.empty() ? "Give it more memory, or take a smaller model or batch." : text + ". Or give it more memory.";
}

}  // namespace

base::Problems room_problems(const experiment::Resolved& e, const plan::Plan& plan) {
  base::Problems problems;
  const topology::Network network(e.document.topology);
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const topology::Device& device = network.device(e.ranks[static_cast<std::size_t>(rank)]);
    const MemoryUse use = use_of(plan, rank);
    const std::int64_t needs = use.total();
    if (needs <= device.memory_bytes) continue;
    const auto said = [](std::int64_t bytes) { return base::format_bytes(static_cast<double>(bytes)); };
    const std::string who = device.name + " (rank " + std::to_string(rank) + ", " + std::string(experiment::duty_of(e.document, rank)) + ")";
    problems.push_back({base::ProblemCode::bad_input, path_of(e.document.topology, device.name),
                        who + " would be out of memory: its buffers take " + run::in_words(use) + "; that is " + said(needs - device.memory_bytes) +
                            " more than the " + said(device.memory_bytes) + " that it has",
                        said(needs) + " or more", problems.empty() ? advice(e, rank) : ""});
  }
  return problems;
}

}  // namespace trainyard::session

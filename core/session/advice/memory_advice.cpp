// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/advice/memory_advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/recomputation.h"
#include "core/experiment/stages.h"
#include "core/experiment/swap.h"
#include "core/experiment/tensor.h"
#include "core/experiment/validation_result.h"
#include "core/session/advice/offload_estimate.h"
#include "core/strategy/strategy.h"

namespace trainyard::session {
namespace {

using experiment::Mesh;
using experiment::Resolved;
using experiment::StrategyKind;

using Settings = std::vector<std::string>;
using Words = std::function<std::string(const Resolved& other)>;

std::string set(const std::string& path, std::int64_t value) {
  return fmt::format("{}={}", path, value);
}

Words words(const std::string& text) {
  return [text](const Resolved&) { return text; };
}

// Time limit for the search, after which no further try starts. Only searches for very large models
// reach it, because each try takes long there.
constexpr std::chrono::seconds kPatience{10};

constexpr const char* kRounded = "activations are rounded to 8 significant bits";

std::string percent(double part) { return fmt::format("{} %", std::lround(100 * part)); }

class FittingOptions {
 public:
  FittingOptions(const Resolved& e, const std::vector<std::int64_t>& lacking,
                 const CostOfStep& cost)
      : e_(e), lacking_(lacking), cost_(cost), network_(e.document.topology) {
    if (!e.algorithm_reason.empty())
      // Sets the algorithm back to auto if the user chose auto, because the resolved experiment
      // names the algorithm that auto selected.
      document_.strategy.algorithm = collective::Algorithm::automatic;
    written_ = experiment::to_json(document_);
  }

  std::vector<MemoryOption> find() {
    smaller_micro_steps();
    recomputation();
    offload();
    half_precision();
    shares();
    meshes();
    schedules();
    stages_by_memory();
    several();
    std::ranges::stable_sort(
        ways_, {}, [](const MemoryOption& way) { return way.step ? way.step->seconds : 0; });
    return std::move(ways_);
  }

 private:
  // Returns the experiment with the settings applied; nothing if the result is invalid.
  std::optional<Resolved> with(const Settings& settings) const {
    base::Json json = written_;
    for (const std::string& setting : settings)
      if (!experiment::apply_override(json, setting)) return std::nullopt;
    const auto document = experiment::from_json(json);
    if (!document || !experiment::semantic_problems(*document, &e_.data).empty())
      return std::nullopt;
    if (!experiment::stage_problems(*document, e_.model).empty() ||
        !experiment::tensor_problems(*document, e_.model).empty())
      return std::nullopt;
    Resolved other;
    other.document = *document;
    other.data = e_.data;
    other.shards = e_.shards;
    auto resolved = experiment::resolved_from_json(experiment::to_json(other));
    return resolved ? std::optional(std::move(*resolved)) : std::nullopt;
  }

  // Returns the largest memory that a rank would need with the settings of `other`. Considers only
  // the ranks whose devices lack memory now. Returns nothing if one of these ranks would still lack
  // memory.
  std::optional<std::int64_t> fits(const Resolved& other) const {
    const auto plan = strategy::make_plan(other);
    if (!plan) return std::nullopt;
    std::int64_t most = 0;
    for (int rank = 0; rank < plan->ranks; ++rank) {
      const std::int64_t needs = memory_of(*plan, rank).total();
      if (needs > network_.device(e_.ranks[static_cast<std::size_t>(rank)]).memory_bytes)
        return std::nullopt;
      if (lacking_[static_cast<std::size_t>(rank)] > 0) most = std::max(most, needs);
    }
    return most;
  }

  // Adds the settings as an option if all ranks fit into memory with them. Returns true if it was
  // added.
  bool add(const Settings& settings, const Words& other_cost) {
    if (std::chrono::steady_clock::now() > ends_) return false;
    const auto other = with(settings);
    const auto bytes = other ? fits(*other) : std::nullopt;
    if (!bytes) return false;
    const auto step = cost_ ? cost_(*other) : base::fail({});
    ways_.push_back(
        {settings, other_cost(*other), *bytes, step ? std::optional(*step) : std::nullopt});
    return true;
  }

  // Tries smaller micro-batches. Skips strategies that update after every micro-batch, because
  // their updates would change.
  void smaller_micro_steps() {
    if (experiment::updates_each_micro_batch(document_.strategy)) return;
    const experiment::TrainingSpec& training = document_.training;
    const Words other_cost =
        words("the batch is processed in smaller matrix products, which takes longer");
    for (std::int64_t k = 2; k <= training.batch_per_rank; ++k)
      if (training.batch_per_rank % k == 0 &&
          add({set("training.batch_per_rank", training.batch_per_rank / k),
               set("training.accumulation_steps", training.accumulation_steps * k)},
              other_cost))
        return;
  }

  // Tries short sequences of recomputed segments first, because these recompute the least.
  void recomputation() {
    for (std::int64_t k = 2; k < std::ssize(e_.model.segments);
         k += std::max<std::int64_t>(1, k / 2))
      if (add({set("training.recompute_segments", k)}, recompute_cost_text)) return;
  }

  static std::string recompute_cost_text(const Resolved& other) {
    return fmt::format("{} more operations", percent(experiment::recomputed_share(other)));
  }

  // Tries to offload what is not offloaded yet: the activations alone, the moments alone, then
  // both. The target is host memory, which is faster than a disk.
  void offload() {
    const Settings away = offload_settings();
    for (const std::string& one : away)
      if (add({one}, copied)) return;
    if (away.size() > 1) add(away, copied);
  }

  Settings offload_settings() const {
    const experiment::OffloadSpec& offload = document_.training.swap;
    Settings away;
    if (offload.activations == experiment::OffloadTarget::nowhere)
      away.emplace_back("training.swap.activations=host");
    if (offload.optimizer == experiment::OffloadTarget::nowhere)
      away.emplace_back("training.swap.optimizer=host");
    return away;
  }

  static std::string copied(const Resolved& other) {
    return base::format_bytes(
               static_cast<double>(offloaded_bytes(strategy::make_plan(other).value()))) +
           " are copied to the host and back in a step";
  }

  void half_precision() {
    if (document_.training.precision == experiment::Precision::fp32)
      add({"training.precision=bf16"}, words(kRounded));
  }

  bool all_reduces() const {
    using enum StrategyKind;
    const auto kind = document_.strategy.kind;
    return e_.world() > 1 && (kind == mirrored || kind == multi_worker_mirrored || kind == ddp ||
                              kind == fsdp || kind == data_parallel);
  }

  // Settings of one kind of option that save the most memory, and what they cost besides time.
  struct StrongOption {
    Settings settings;
    Words other_cost;
  };

  std::vector<StrongOption> strong_options() const {
    const experiment::TrainingSpec& training = document_.training;
    std::vector<StrongOption> all;
    if (training.batch_per_rank > 1 && !experiment::updates_each_micro_batch(document_.strategy))
      all.push_back({{"training.batch_per_rank=1",
                      set("training.accumulation_steps",
                          training.accumulation_steps * training.batch_per_rank)},
                     words("the batch is processed in matrix products of one sample each")});
    if (const auto run = std::lround(std::sqrt(std::ssize(e_.model.segments))); run > 1)
      all.push_back({{set("training.recompute_segments", run)}, recompute_cost_text});
    if (Settings away = offload_settings(); !away.empty()) all.push_back({std::move(away), copied});
    if (training.precision == experiment::Precision::fp32)
      all.push_back({{"training.precision=bf16"}, words(kRounded)});
    if (all_reduces())
      all.push_back(
          {with_any_algorithm({"strategy.kind=fsdp", "strategy.fsdp.shard=full"}), cost_of_shares});
    for (const Mesh& mesh : {Mesh{1, e_.world(), 1}, Mesh{1, 1, e_.world()}})
      if (const Settings settings = splits_more() ? settings_for(mesh) : Settings{};
          !settings.empty())
        all.push_back({settings, cost_of_mesh()});
    return all;
  }

  static std::string path_of(const std::string& setting) {
    return setting.substr(0, setting.find('='));
  }
  static bool set_same_fields(const Settings& some, const Settings& others) {
    return std::ranges::any_of(some, [&](const std::string& one) {
      return std::ranges::count(others, path_of(one), path_of) > 0;
    });
  }

  // Combines several options if no single option fits: tries all pairs, then as many compatible
  // options as possible.
  void several() {
    const std::vector<StrongOption> all =
        ways_.empty() ? strong_options() : std::vector<StrongOption>{};
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = i + 1; j < all.size(); ++j)
        if (!set_same_fields(all[i].settings, all[j].settings)) add_together({all[i], all[j]});
    for (std::size_t last = 0; ways_.empty() && last < all.size(); ++last)
      add_together(with_all_before(all, last));
  }

  // Returns `all[last]` together with earlier options of `all`: as many as are compatible with
  // `all[last]` and with each other.
  static std::vector<StrongOption> with_all_before(const std::vector<StrongOption>& all,
                                                   std::size_t last) {
    std::vector<StrongOption> parts{all[last]};
    for (std::size_t i = 0; i < last; ++i)
      if (std::ranges::none_of(parts, [&](const StrongOption& part) {
            return set_same_fields(part.settings, all[i].settings);
          }))
        parts.push_back(all[i]);
    return parts;
  }

  void add_together(const std::vector<StrongOption>& parts) {
    Settings settings;
    for (const StrongOption& part : parts)
      settings.insert(settings.end(), part.settings.begin(), part.settings.end());
    add(settings, [&](const Resolved& other) {
      std::string note;
      for (const StrongOption& part : parts)
        note += (note.empty() ? "" : ", and ") + part.other_cost(other);
      return note;
    });
  }

  // Resets the algorithm to auto if the current strategy allows only one algorithm; the new
  // strategy may not support it.
  Settings with_any_algorithm(Settings settings) const {
    if (experiment::fixed_algorithm(document_.strategy.kind))
      settings.emplace_back("strategy.algorithm=auto");
    return settings;
  }

  // Tries to shard optimizer state, then gradients, then parameters. ddp becomes fsdp, which shards
  // among all replicas. A mesh shards among the ranks that hold the same part of the model.
  void shares() {
    const bool mesh = document_.strategy.kind == StrategyKind::hybrid;
    if (!all_reduces() && (!mesh || experiment::mesh_of(e_).data < 2)) return;
    for (const char* shard : {"optimizer", "gradients", "full"})
      if (add(with_any_algorithm({mesh ? "strategy.mesh.shards_data=true" : "strategy.kind=fsdp",
                                  std::string("strategy.fsdp.shard=") + shard}),
              cost_of_shares))
        return;
  }

  static std::string cost_of_shares(const Resolved& other) {
    const experiment::Shard shard = other.document.strategy.fsdp.shard;
    if (other.document.strategy.kind == StrategyKind::hybrid &&
        shard != experiment::Shard::optimizer)
      return std::string(shard == experiment::Shard::full ? "parameters and " : "") +
             "gradients are sent for every micro-batch";
    return shard == experiment::Shard::full
               ? "ranks send 1.5 times the bytes of ddp"
               : "ranks send as many bytes as ddp, half of them after the update";
  }

  // True if the advice may try meshes: a pipeline, tensor parallelism, and both, each with as many
  // replicas as possible. Each replica then takes the micro-batches of several former replicas.
  bool splits_more() const {
    return all_reduces() || experiment::splits_model(document_.strategy.kind);
  }
  void meshes() {
    if (!splits_more()) return;
    for (const auto& [several_stages, several_parts] :
         {std::pair{true, false}, {false, true}, {true, true}})
      for (int group = 2; group <= e_.world(); ++group)
        if (e_.world() % group == 0 && any_mesh(group, several_stages, several_parts)) break;
  }

  bool any_mesh(int group, bool several_stages, bool several_parts) {
    for (int parts = 1; parts <= group; ++parts)
      if (const int stages = group / parts;
          group % parts == 0 && (stages > 1) == several_stages && (parts > 1) == several_parts)
        if (add_mesh({e_.world() / group, stages, parts})) return true;
    return false;
  }

  bool add_mesh(const Mesh& mesh) {
    const Settings settings = settings_for(mesh);
    return !settings.empty() && add(settings, cost_of_mesh());
  }

  // Returns the settings that select `mesh`. Returns none if `mesh` is the drawn mesh, or if it
  // cannot keep the global batch.
  Settings settings_for(const Mesh& mesh) const {
    const Mesh drawn = experiment::mesh_of(e_);
    const std::int64_t micro_batches = document_.training.accumulation_steps * drawn.data;
    if (mesh == drawn || micro_batches % mesh.data != 0) return {};
    Settings settings = settings_of(mesh);
    if (mesh.pipeline > 1 && document_.strategy.stages.partition != experiment::Partition::memory)
      settings.emplace_back("strategy.stages.partition=memory");
    // If the drawn strategy allows only one algorithm, the user did not choose it, so auto chooses
    // the algorithm of the new mesh.
    if (mesh.data * mesh.tensor > 1 && experiment::fixed_algorithm(document_.strategy.kind))
      settings.emplace_back("strategy.algorithm=auto");
    if (mesh.data != drawn.data)
      settings.push_back(set("training.accumulation_steps", micro_batches / mesh.data));
    return settings;
  }

  Settings settings_of(const Mesh& mesh) const {
    if (mesh.data == 1 && mesh.tensor == 1) return {"strategy.kind=pipeline"};
    if (mesh.data == 1 && mesh.pipeline == 1) return {"strategy.kind=tensor_parallel"};
    Settings settings{"strategy.kind=hybrid", set("strategy.mesh.data", mesh.data),
                      set("strategy.mesh.pipeline", mesh.pipeline),
                      set("strategy.mesh.tensor", mesh.tensor)};
    if (document_.strategy.kind == StrategyKind::hybrid) settings.erase(settings.begin());
    return settings;
  }

  Words cost_of_mesh() const {
    return [this](const Resolved& other) {
      const Mesh mesh = experiment::mesh_of(other);
      const bool fewer = experiment::updates_each_micro_batch(document_.strategy) &&
                         !experiment::updates_each_micro_batch(other.document.strategy);
      std::string note;
      const auto add = [&](bool applies, const std::string& what) {
        note += applies ? (note.empty() ? "" : ", and ") + what : "";
      };
      add(mesh.pipeline > 1,
          fmt::format("devices are idle for at least {} of the time",
                      percent(experiment::ideal_bubble_fraction(other).value_or(0))));
      add(mesh.tensor > 1,
          "activations of every pair of layers are all-reduced, in the forward and in the backward "
          "pass");
      add(fewer, "one update per step instead of one per micro-batch");
      return note;
    };
  }

  // Tries pipeline schedules that hold activations of fewer micro-batches. The schedule "naive"
  // holds the activations of one micro-batch, but only one device works at a time.
  void schedules() {
    if (!experiment::has_stages(document_.strategy.kind)) return;
    for (const char* schedule : {"1f1b", "naive"})
      if (schedule != base::name_of(experiment::schedule_of(document_.strategy)) &&
          add({std::string("strategy.stages.schedule=") + schedule}, cost_of_mesh()))
        return;
  }

  void stages_by_memory() {
    if (experiment::has_stages(document_.strategy.kind) &&
        document_.strategy.stages.partition != experiment::Partition::memory)
      add({"strategy.stages.partition=memory"},
          words("the stages may differ more in time per sample"));
  }

  const Resolved& e_;
  const std::vector<std::int64_t>& lacking_;  // Missing bytes, by rank.
  const CostOfStep& cost_;
  topology::Network network_;
  experiment::Experiment document_ = e_.document;
  base::Json written_;
  std::chrono::steady_clock::time_point ends_ = std::chrono::steady_clock::now() + kPatience;
  std::vector<MemoryOption> ways_;
};

}  // namespace

run::MemoryUse memory_of(const plan::Plan& plan, int rank) {
  const plan::RankPlan one = plan.rank_plan(rank);
  return run::memory_use(one, run::layout(one));
}

std::vector<run::MemoryUse> memory_of(const plan::Plan& plan) {
  std::vector<run::MemoryUse> list;
  list.reserve(static_cast<std::size_t>(plan.ranks));
  for (int rank = 0; rank < plan.ranks; ++rank) list.push_back(memory_of(plan, rank));
  return list;
}

std::vector<MemoryOption> options_that_fit(const Resolved& experiment,
                                           const std::vector<std::int64_t>& lacking,
                                           const CostOfStep& cost) {
  if (experiment.servers > 0 || experiment.evaluators > 0) return {};
  return FittingOptions(experiment, lacking, cost).find();
}

}  // namespace trainyard::session

// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/stages.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/units.h"
#include "core/experiment/buckets.h"
#include "core/experiment/cells.h"
#include "core/experiment/duties.h"
#include "core/experiment/fields.h"
#include "core/experiment/findings.h"
#include "core/experiment/in_vain.h"
#include "core/experiment/measured.h"
#include "core/experiment/mesh.h"
#include "core/experiment/placement.h"
#include "core/experiment/precision.h"
#include "core/experiment/rpc.h"
#include "core/model/split.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Problems;

constexpr const char* kPlaces = "strategy.stages.places";

double flops_per_second(const topology::Device& device) { return device.peak_flops / (device.slow_down * (1 + device.jitter / 2)); }

// Of a stage, by its slowest device, which has one part of its layers.
std::vector<double> speeds_of_stages(const Resolved& e) {
  const topology::Network network(e.document.topology);
  const std::vector<topology::DeviceId> ranks = network.ranks();
  const Mesh mesh = mesh_of(e);
  std::vector<double> speeds;
  for (int stage = 0; stage < mesh.pipeline; ++stage) {
    double slowest = std::numeric_limits<double>::infinity();
    for (const int rank : mesh.stage(stage)) slowest = std::min(slowest, flops_per_second(network.device(ranks[static_cast<std::size_t>(rank)])));
    speeds.push_back(mesh.tensor * slowest);
  }
  return speeds;
}

// Whoever has layers, for a person.
std::string who(const StrategySpec& strategy) {
  if (strategy.kind == StrategyKind::rpc) return "parameter server";
  return strategy.kind == StrategyKind::hybrid ? "stage" : "worker";
}

int moments_of(const OptimizerSpec& optimizer) {
  if (optimizer.kind != OptimizerKind::sgd) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

// The first place that gets layers: whoever calls takes none.
int first_place(const StrategySpec& strategy) { return strategy.kind == StrategyKind::rpc ? 1 : 0; }

// Runs of segments, one after the other, go to the ranks in turn.
struct Turns {
  int ranks = 1, runs = 1, first = 0;
  int rank_of(int run) const { return first + run % ranks; }
};

Turns turns_of(const Resolved& e, int segments) {
  const bool interleaves = schedule_of(e.document.strategy) == PipelineSchedule::interleaved_1f1b;
  const int first = first_place(e.document.strategy), ranks = std::min(mesh_of(e).pipeline - first, segments),
            chunks = interleaves ? static_cast<int>(e.document.strategy.stages.chunks) : 1;
  return {ranks, std::min(ranks * chunks, segments / ranks * ranks), first};
}

// What a segment would take in a run.
using CostOf = std::function<double(int run, int segment)>;

CostOf seconds_of(const Resolved& e, const Turns& turns) {
  const std::vector<double> speeds = speeds_of_stages(e);
  const auto speed_of = [speeds, turns](int run) { return speeds[static_cast<std::size_t>(turns.rank_of(run))]; };
  const StageSpec& stages = e.document.strategy.stages;
  if (stages.partition == Partition::measured && !stages.times.empty())
    return [&times = stages.times, speed_of, fastest = *std::max_element(speeds.begin(), speeds.end())](int run, int s) {
      return times[static_cast<std::size_t>(s)].seconds * fastest / speed_of(run);
    };
  return [&model = e.model, speed_of](int run, int s) { return static_cast<double>(flops_of_sample(model, s)) / speed_of(run); };
}

CostOf bytes_of(const Resolved& e, const Turns& turns) {
  const TrainingSpec& training = e.document.training;
  const std::int64_t width = base::size_of(gradient_dtype(e)), passing = base::size_of(activation_dtype(e)), copies = 2 + moments_of(training.optimizer);
  std::vector<int> ranks, held;  // by run
  for (int run = 0; run < turns.runs; ++run) ranks.push_back(turns.rank_of(run));
  const bool keeps_versions = updates_each_micro_batch(e.document.strategy);
  const Callers callers = mesh_of(e).callers({0, turns.first, 0});
  const int micro_batches = callers.count * static_cast<int>(training.accumulation_steps);
  for (int run = 0; run < turns.runs; ++run)
    held.push_back(most_held(cells_of(schedule_of(e.document.strategy), ranks, turns.rank_of(run), micro_batches, callers), run));
  const std::int64_t k = std::max<std::int64_t>(training.recompute_segments, 1);  // of so many outputs in a row one is held of them all, the others of one
  return [&e, width, passing, copies, keeps_versions, held, k](int run, int s) {
    const model::Segment& segment = e.model.segments[static_cast<std::size_t>(s)];
    const std::int64_t older = keeps_versions ? held[static_cast<std::size_t>(run)] - 1 : 0;
    const double samples = static_cast<double>((held[static_cast<std::size_t>(run)] + k - 1) * e.document.training.batch_per_rank) / static_cast<double>(k);
    return static_cast<double>(width * (copies + older) * segment.elements) + static_cast<double>(passing) * samples * static_cast<double>(segment.outputs);
  };
}

struct Worst {
  double most = 0, squares = 0;
  bool operator<(const Worst& other) const { return most < other.most || (most == other.most && squares < other.squares); }
};

// Cuts `segments` in a row into so many runs, none of them empty.
class Cut {
 public:
  Cut(int segments, int runs, const CostOf& cost) : segments_(segments), runs_(runs), sums_(static_cast<std::size_t>(runs)) {
    for (int r = 0; r < runs; ++r) {
      auto& sums = sums_[static_cast<std::size_t>(r)];
      sums.push_back(0);
      for (int s = 0; s < segments; ++s) sums.push_back(sums.back() + cost(r, s));
    }
  }

  // By run, its first segment.
  std::vector<int> firsts() {
    const double most = search(kNever, [](const Worst& a, const Worst& b) { return a.most < b.most; });
    search(most, [](const Worst& a, const Worst& b) { return a.squares < b.squares; });
    std::vector<int> firsts(static_cast<std::size_t>(runs_));
    for (int r = runs_ - 1, end = segments_; r >= 0; --r) firsts[static_cast<std::size_t>(r)] = end = first_[index(r, end)];
    return firsts;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  std::size_t index(int run, int end) const { return static_cast<std::size_t>(run) * static_cast<std::size_t>(segments_ + 1) + static_cast<std::size_t>(end); }
  double cost(int run, int first, int end) const {
    const auto& sums = sums_[static_cast<std::size_t>(run)];
    return sums[static_cast<std::size_t>(end)] - sums[static_cast<std::size_t>(first)];
  }

  // Of runs that take no more than `limit` each, the best: what its worst takes.
  template <class Better>
  double search(double limit, Better better) {
    first_.assign(static_cast<std::size_t>(runs_) * static_cast<std::size_t>(segments_ + 1), 0);
    std::vector<Worst> worst(first_.size(), {kNever, kNever});
    const auto consider = [&](int run, int first, int end, const Worst& before) {
      const double own = cost(run, first, end);
      const Worst now{std::max(before.most, own), before.squares + own * own};
      if (now.most > limit || !better(now, worst[index(run, end)])) return;
      worst[index(run, end)] = now;
      first_[index(run, end)] = first;
    };
    for (int end = 1; end <= segments_; ++end) consider(0, 0, end, {});
    for (int run = 1; run < runs_; ++run)
      for (int end = run + 1; end <= segments_; ++end)
        for (int first = run; first < end; ++first) consider(run, first, end, worst[index(run - 1, first)]);
    return worst[index(runs_ - 1, segments_)].most;
  }

  int segments_, runs_;
  std::vector<std::vector<double>> sums_;  // by run: of the first so many segments
  std::vector<int> first_;                 // by run and its end
};

// What is tied to the first segment goes with it, at no cost of another run.
std::vector<StagePlace> balanced(const Resolved& e, Partition by) {
  const auto& segments = e.model.segments;
  const bool ties = e.model.ties();
  const int tied = static_cast<int>(segments.size()) - 1;
  const std::vector<int> shared = shared_out(e.document.strategy, e.model);
  const int count = static_cast<int>(shared.size());
  std::vector<int> owners(segments.size(), 0);
  if (count > 0) {
    const Turns turns = turns_of(e, count);
    const CostOf cost = by == Partition::memory ? bytes_of(e, turns) : seconds_of(e, turns);
    const CostOf with_tied = [&](int run, int i) {
      const int s = shared[static_cast<std::size_t>(i)];
      return cost(run, s) + (ties && s == 0 ? cost(run, tied) : 0);
    };
    int run = 0;
    for (const int first : Cut(count, turns.runs, with_tied).firsts()) {
      for (int i = first; i < count; ++i) owners[static_cast<std::size_t>(shared[static_cast<std::size_t>(i)])] = turns.rank_of(run);
      ++run;
    }
  }
  if (ties) owners.back() = owners.front();
  std::vector<StagePlace> places;
  for (const model::Stage& stage : model::stages_of(owners)) places.push_back({place_name(segments[static_cast<std::size_t>(stage.first)]), stage.rank});
  return places;
}

// -1: there is none.
int segment_named(const model::Model& model, const std::string& name) {
  const auto at = std::find_if(model.segments.begin(), model.segments.end(), [&](const model::Segment& segment) { return place_name(segment) == name; });
  return at == model.segments.end() ? -1 : static_cast<int>(at - model.segments.begin());
}

std::vector<int> owners_by(const std::vector<StagePlace>& places, const model::Model& model) {
  std::vector<int> owners(model.segments.size(), 0);
  for (const StagePlace& place : places)
    std::fill(owners.begin() + std::max(0, segment_named(model, place.segment)), owners.end(), static_cast<int>(place.rank));
  return owners;
}

std::string at_place(std::size_t i, const char* field) { return std::string(kPlaces) + "[" + std::to_string(i) + "]." + field; }

Problem unknown_segment(const model::Model& model, std::size_t i, const std::string& name) {
  return {
      ProblemCode::bad_input, at_place(i, "segment"), "\"" + name + "\" is no layer that can be on a device by itself",
      "as " + place_name(model.segments.front()) + " to " + place_name(model.segments.back()) + ": an activation and a flatten go with the layer before them",
      "Name a layer by its number, or of a block as 1.4."};
}

// Of a list that is read from first to last.
Problems problems_of_places(const std::vector<StagePlace>& places, const model::Model& model, std::int64_t ranks, const StrategySpec& strategy) {
  const bool mesh = strategy.kind == StrategyKind::hybrid, calls = strategy.kind == StrategyKind::rpc;
  Problems problems;
  int before = -1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int segment = segment_named(model, places[i].segment);
    if (segment < 0) return {unknown_segment(model, i, places[i].segment)};
    if (i == 0 && segment != 0)
      return {{ProblemCode::bad_input, at_place(i, "segment"), "layers before " + places[i].segment + " are on no device", place_name(model.segments.front()),
               "Let the first place begin with the first layer."}};
    if (segment <= before)
      return {{ProblemCode::bad_input, at_place(i, "segment"), places[i].segment + " does not come after " + places[i - 1].segment, "a later layer",
               "Name places in the order of the layers."}};
    before = segment;
    if (places[i].rank >= ranks)
      problems.push_back({ProblemCode::bad_input, at_place(i, "rank"), "there is no " + who(strategy) + " " + format_count(places[i].rank),
                          "0 to " + format_count(ranks - 1) + (calls ? ", of which 0 is the trainers" : ""),
                          mesh ? "Name a stage of the mesh." : "Name a " + who(strategy) + " that is drawn."});
  }
  return problems;
}

// Every worker has as many stages, in turn.
bool in_turn(const std::vector<model::Stage>& stages, std::int64_t ranks) {
  for (std::size_t k = 0; k < stages.size(); ++k)
    if (stages[k].rank != stages[k % static_cast<std::size_t>(ranks)].rank) return false;
  return static_cast<std::int64_t>(stages.size()) % ranks == 0;
}

Problems problems_of_schedule(const Experiment& experiment, const model::Model& model, const std::vector<int>& owners, std::int64_t ranks) {
  const PipelineSchedule schedule = schedule_of(experiment.strategy);
  const std::vector<model::Stage> stages = model::stages_of(owners);
  const bool interleaves = schedule == PipelineSchedule::interleaved_1f1b;
  const std::int64_t micro_batches = experiment.training.accumulation_steps;
  const std::string one = who(experiment.strategy);
  if (schedule == PipelineSchedule::naive || schedule == PipelineSchedule::gpipe) return {};
  if (interleaves && micro_batches % ranks != 0)
    return {{ProblemCode::bad_input, "training.accumulation_steps",
             "interleaved_1f1b sends micro-batches through the " + format_count(ranks) + " " + one + "s in groups of as many, and " +
                 format_count(micro_batches) + " cannot be grouped so",
             "a multiple of " + format_count(ranks), "Take another number of micro-batches, or strategy.stages.schedule=1f1b."}};
  if (in_turn(stages, ranks) && (interleaves || static_cast<std::int64_t>(stages.size()) == ranks)) return {};
  const std::string why = model.ties()  ? "the last layer is tied to the first, so both are on one " + one
                          : interleaves ? "the places give them otherwise"
                                        : "a " + one + " has layers before and after those of others";
  const std::string name(base::name_of(schedule));
  return {{ProblemCode::bad_input, "strategy.stages.schedule",
           name + (interleaves ? " gives the " + one + "s equally many stages, in turn, and " : " has one stage on each " + one + ", and ") + why,
           "naive, gpipe", model.ties() ? "Untie the last layer, or take another schedule." : "Place the layers so, or take another schedule."}};
}

Problems problems_of_owners(const Experiment& experiment, const model::Model& model, const std::vector<int>& owners, std::int64_t ranks) {
  const std::string one = who(experiment.strategy);
  if (experiment.strategy.kind == StrategyKind::rpc)
    if (Problems problems = remote_place_problems(experiment, model, owners); !problems.empty()) return problems;
  const int first = first_place(experiment.strategy);
  for (int rank = first; rank < ranks; ++rank)
    if (std::find(owners.begin(), owners.end(), rank) == owners.end())
      return {{ProblemCode::bad_input, kPlaces, one + " " + format_count(rank) + " has no layer",
               "a layer for each of the " + format_count(ranks - first) + " " + one + "s",
               experiment.strategy.kind == StrategyKind::hybrid ? "Give it a layer, or lower strategy.mesh.pipeline."
                                                                : "Give it a layer, or set the role of its device to idle."}};
  for (std::size_t s = 0; s < owners.size(); ++s)
    if (const int tied = model.segments[s].tied_to; tied >= 0 && owners[static_cast<std::size_t>(tied)] != owners[s])
      return {
          {ProblemCode::bad_input, kPlaces,
           model.segments[s].name + " uses the weight of layer " + place_name(model.segments[static_cast<std::size_t>(tied)]) + ", which is on another " + one,
           "both on one " + one, "Put both on one " + one + ", or untie them."}};
  return problems_of_schedule(experiment, model, owners, ranks);
}

// Where the segments are too few.
Problems too_many_stages(const StrategySpec& strategy, std::int64_t ranks, const model::Model& model) {
  const std::int64_t most = std::ssize(model.segments) - (model.ties() ? 1 : 0);
  const bool interleaves = schedule_of(strategy) == PipelineSchedule::interleaved_1f1b && strategy.stages.partition != Partition::by_hand;
  const bool mesh = strategy.kind == StrategyKind::hybrid;
  const std::string all = format_count(ranks) + " " + who(strategy) + "s";
  if (interleaves && ranks <= most && strategy.stages.chunks > most / ranks)
    return {{ProblemCode::bad_input, "strategy.stages.chunks",
             format_count(strategy.stages.chunks) + " stages on each of " + all + " are more than the " + format_count(most) +
                 " layers that the model can be cut into",
             "at most " + format_count(most / ranks), "Lower it, take another schedule, or a deeper model."}};
  if (ranks <= most) return {};
  return {{ProblemCode::bad_input, mesh ? "strategy.mesh.pipeline" : "topology.hosts",
           all + " are more than the " + format_count(most) + (most == 1 ? " layer" : " layers") + " that the model can be cut into" +
               (model.ties() ? ", its last one tied to its first" : ""),
           "at most " + format_count(most) + " " + who(strategy) + "s",
           mesh ? "Lower it, or take a deeper model." : "Set the role of some devices to idle, or take a deeper model."}};
}

}  // namespace

std::string place_name(const model::Segment& segment) { return segment.name.substr(0, segment.name.find(' ')); }

std::int64_t flops_of_sample(const model::Model& model, int segment) {
  const model::Segment& s = model.segments[static_cast<std::size_t>(segment)];
  const std::int64_t back = segment > model.first_with_parameters ? s.backward_input_flops() : 0;
  const std::int64_t learnt = model.owner(s).elements > 0 ? s.backward_weight_flops() : 0;
  return s.forward_flops() + back + learnt;
}

std::vector<int> owners_of(const Resolved& resolved) { return owners_by(resolved.document.strategy.stages.places, resolved.model); }

std::vector<int> owners_by_segment(const Resolved& resolved) {
  return has_stages(resolved.document.strategy.kind) ? owners_of(resolved) : std::vector<int>(resolved.model.segments.size(), 0);
}

model::Course course_of(const Resolved& resolved) { return {resolved.model, owners_by_segment(resolved), calls_of(resolved.document.strategy)}; }

Resolved of_rank(const Resolved& resolved, int rank) {
  if (!splits_model(resolved.document.strategy.kind)) return resolved;
  const Mesh mesh = mesh_of(resolved);
  const MeshPlace at = mesh.place_of(rank);
  Resolved own = resolved;
  if (mesh.tensor > 1) own.model = model::split_of(own.model, mesh.tensor, at.part);
  if (has_stages(resolved.document.strategy.kind)) own.model = model::part_of(own.model, owners_of(resolved), at.stage);
  return own;
}

std::vector<StagePlace> places_of(const Resolved& resolved) {
  const StageSpec& stages = resolved.document.strategy.stages;
  return stages.partition == Partition::by_hand ? stages.places : balanced(resolved, stages.partition);
}

PipelineSchedule schedule_of(const StrategySpec& strategy) {
  const bool overlaps = strategy.kind == StrategyKind::pipeline || (strategy.kind == StrategyKind::hybrid && strategy.mesh.pipeline > 1);
  return overlaps ? strategy.stages.schedule : PipelineSchedule::naive;
}

bool updates_each_micro_batch(const StrategySpec& strategy) { return schedule_of(strategy) == PipelineSchedule::pipedream; }

std::optional<double> ideal_bubble(const Resolved& resolved) {
  const Experiment& e = resolved.document;
  if (!has_stages(e.strategy.kind) || e.strategy.kind == StrategyKind::rpc) return std::nullopt;
  const std::vector<model::Stage> stages = model::stages_of(owners_of(resolved));
  const PipelineSchedule schedule = schedule_of(e.strategy);
  const bool interleaves = schedule == PipelineSchedule::interleaved_1f1b;
  const int pipeline = mesh_of(resolved).pipeline;
  if (!in_turn(stages, pipeline) || (!interleaves && std::cmp_not_equal(stages.size(), pipeline))) return std::nullopt;
  const double p = pipeline, m = static_cast<double>(e.training.accumulation_steps), v = static_cast<double>(stages.size()) / p;
  switch (schedule) {
    case PipelineSchedule::naive: return (p - 1) / p;
    case PipelineSchedule::zb_h1: return (p - 1) / (3 * m + p - 1);
    default: return (p - 1) / (v * m + p - 1);
  }
}

std::optional<std::string> stages_said(const Resolved& resolved) {
  if (!has_stages(resolved.document.strategy.kind)) return std::nullopt;
  const Mesh mesh = mesh_of(resolved);
  std::string text;
  for (const model::Stage& stage : model::stages_of(owners_of(resolved))) {
    const auto name = [&](int s) { return place_name(resolved.model.segments[static_cast<std::size_t>(s)]); };
    const std::vector<int> ranks = mesh.stage(stage.rank);
    const bool several = ranks.size() > 1;
    text += std::string(text.empty() ? "rank" : ", rank") + (several ? "s " : " ") + std::to_string(ranks.front());
    if (several) text += " to " + std::to_string(ranks.back());
    text += std::string(several ? " have" : " has") + (stage.first == stage.last ? " layer " : " layers ") + name(stage.first);
    if (stage.last > stage.first) text += " to " + name(stage.last);
  }
  if (mesh.calls) text += mesh.data > 1 ? "; ranks 0 to " + std::to_string(mesh.data - 1) + " call what others have" : "; rank 0 calls what others have";
  text += times_said(resolved);
  for (const std::string& said : stages_in_vain(resolved)) text += "; " + said;
  return text;
}

Problems split_problems(const Experiment& experiment) {
  if (!splits_model(experiment.strategy.kind)) return {};
  const std::string kind(base::name_of(experiment.strategy.kind));
  Problems problems;
  const bool once_a_step = experiment.strategy.kind == StrategyKind::model_parallel || experiment.strategy.kind == StrategyKind::rpc;
  if (once_a_step && experiment.strategy.stages.schedule == PipelineSchedule::pipedream)
    problems.push_back({ProblemCode::bad_input, "strategy.stages.schedule",
                        "pipedream updates after every micro-batch, and " + kind + " takes one after the other and updates once a step",
                        "naive, gpipe, 1f1b, interleaved_1f1b, zb_h1: the same here", "Take another schedule, or the strategy pipeline."});
  if (updates_each_micro_batch(experiment.strategy) && experiment.training.judges_gradients())
    problems.push_back({ProblemCode::bad_input, experiment.training.clip_norm > 0 ? "training.clip_norm" : "training.non_finite",
                        "a stage of pipedream updates as soon as it has its own gradient, and nobody sees the whole",
                        experiment.training.clip_norm > 0 ? "0" : "go_on, stop", "Do without, or take another schedule, as strategy.stages.schedule=1f1b."});
  if (experiment.data.sharding.kind != data::ShardingKind::iid)
    problems.push_back({ProblemCode::bad_input, "data.sharding.kind",
                        "in " + kind + " " +
                            (calls_of(experiment.strategy) == model::Calls::none ? "every sample passes all ranks, so nobody owns any"
                                                                                 : "trainers are dealt the samples of every step alike, so nobody owns any"),
                        "iid", "Set it to iid."});
  if (has_stages(experiment.strategy.kind) && experiment.strategy.stages.partition == Partition::by_hand && experiment.strategy.stages.places.empty())
    problems.push_back({ProblemCode::bad_input, kPlaces, "no layer is on any device", "a place for the first layer at least",
                        "Say from which layer on which " + who(experiment.strategy) + " has them, or set strategy.stages.partition to cost."});
  return problems;
}

Problems stage_problems(const Experiment& experiment, const model::Model& model) {
  if (!has_stages(experiment.strategy.kind)) return {};
  const StageSpec& stages = experiment.strategy.stages;
  const std::int64_t ranks = mesh_of(experiment).pipeline;
  const bool calls = experiment.strategy.kind == StrategyKind::rpc;
  if (Problems problems = calls ? remote_problems(experiment, model) : too_many_stages(experiment.strategy, ranks, model); !problems.empty()) return problems;
  if (Problems problems = time_problems(stages, model); !problems.empty()) return problems;
  Resolved drawn;
  drawn.document = experiment;
  drawn.model = model;
  drawn.ranks.resize(static_cast<std::size_t>(mesh_of(experiment).ranks()));
  const std::vector<StagePlace> places = places_of(drawn);
  if (Problems problems = problems_of_places(places, model, ranks, experiment.strategy); stages.partition == Partition::by_hand && !problems.empty())
    return problems;
  return problems_of_owners(experiment, model, owners_by(places, model), ranks);
}

}  // namespace trainyard::experiment

// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/partition.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "core/experiment/buckets.h"
#include "core/experiment/cells.h"
#include "core/experiment/mesh.h"
#include "core/experiment/precision.h"
#include "core/experiment/rpc.h"
#include "core/experiment/stages.h"
#include "core/experiment/ties.h"
#include "core/topology/network.h"

namespace trainyard::experiment {
namespace {

double flops_per_second(const topology::Device& device) {
  return device.peak_flops / (device.slow_down * (1 + device.jitter / 2));
}

// Returns the computing speed of each stage: its slowest device times the number of its devices,
// because the devices of a stage split its layers into equal parts.
std::vector<double> speeds_of_stages(const Resolved& e) {
  const topology::Network network(e.document.topology);
  const std::vector<topology::DeviceId> ranks = network.ranks();
  const Mesh mesh = mesh_of(e);
  std::vector<double> speeds;
  for (int stage = 0; stage < mesh.pipeline; ++stage) {
    double slowest = std::numeric_limits<double>::infinity();
    for (const int rank : mesh.stage(stage))
      slowest = std::min(slowest,
                         flops_per_second(network.device(ranks[static_cast<std::size_t>(rank)])));
    speeds.push_back(mesh.tensor * slowest);
  }
  return speeds;
}

int moments_of(const OptimizerSpec& optimizer) {
  if (optimizer.kind != OptimizerKind::sgd) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

// Assignment of sequences of consecutive segments to ranks in turn: sequence i belongs to rank
// `first` + i modulo `ranks`. Below, `run` is the index of a sequence.
struct Turns {
  int ranks = 1, runs = 1, first = 0;
  int rank_of(int run) const { return first + run % ranks; }
};

Turns turns_of(const Resolved& e, int segments) {
  const bool interleaves = schedule_of(e.document.strategy) == PipelineSchedule::interleaved_1f1b;
  const int first = first_place(e.document.strategy),
            ranks = std::min(mesh_of(e).pipeline - first, segments),
            chunks = interleaves ? static_cast<int>(e.document.strategy.stages.chunks) : 1;
  return {ranks, std::min(ranks * chunks, segments / ranks * ranks), first};
}

// Returns the cost of a segment if it is in sequence `run`. The cost depends on the rank to which
// this sequence is assigned.
using CostOf = std::function<double(int run, int segment)>;

CostOf seconds_of(const Resolved& e, const Turns& turns) {
  const std::vector<double> speeds = speeds_of_stages(e);
  const auto speed_of = [speeds, turns](int run) {
    return speeds[static_cast<std::size_t>(turns.rank_of(run))];
  };
  const StageSpec& stages = e.document.strategy.stages;
  if (stages.partition == Partition::measured && !stages.times.empty())
    return [&times = stages.times, speed_of,
            fastest = *std::max_element(speeds.begin(), speeds.end())](int run, int s) {
      return times[static_cast<std::size_t>(s)].seconds * fastest / speed_of(run);
    };
  return [&model = e.model, speed_of](int run, int s) {
    return static_cast<double>(flops_of_sample(model, s)) / speed_of(run);
  };
}

CostOf bytes_of(const Resolved& e, const Turns& turns) {
  const TrainingSpec& training = e.document.training;
  const std::int64_t width = base::size_of(gradient_dtype(e)),
                     passing = base::size_of(activation_dtype(e)),
                     copies = 2 + moments_of(training.optimizer);
  std::vector<int> ranks, held;  // By sequence.
  for (int run = 0; run < turns.runs; ++run) ranks.push_back(turns.rank_of(run));
  const bool keeps_versions = updates_each_micro_batch(e.document.strategy);
  const CallerSet callers = mesh_of(e).callers({0, turns.first, 0});
  const int micro_batches = callers.count * static_cast<int>(training.accumulation_steps);
  for (int run = 0; run < turns.runs; ++run)
    held.push_back(max_held(cells_of(schedule_of(e.document.strategy), ranks, turns.rank_of(run),
                                     micro_batches, callers),
                            run));
  const std::int64_t k = std::max<std::int64_t>(training.recompute_segments,
                                                // With recomputation, one of every k consecutive
                                                // outputs is held for all micro-batches in flight.
                                                // The other outputs are held for one micro-batch.
                                                1);
  return [&e, width, passing, copies, keeps_versions, held, k, turns](int run, int s) {
    const model::Segment& segment = e.model.segments[static_cast<std::size_t>(s)];
    const bool has_copy = segment.tied_to >= 0 && turns.rank_of(run) != turns.rank_of(0);
    const std::int64_t elements = has_copy ? e.model.owner(segment).elements : segment.elements;
    const std::int64_t older = keeps_versions ? held[static_cast<std::size_t>(run)] - 1 : 0;
    const double samples = static_cast<double>((held[static_cast<std::size_t>(run)] + k - 1) *
                                               e.document.training.batch_per_rank) /
                           static_cast<double>(k);
    return static_cast<double>(width * (copies + older) * elements) +
           static_cast<double>(passing) * samples * static_cast<double>(segment.outputs);
  };
}

// Divides the segments into nonempty sequences of consecutive segments so that the most expensive
// sequence costs as little as possible. Among equally good divisions, chooses the one with the
// least sum of squared costs.
class RunPartitioner {
 public:
  RunPartitioner(int segments, int runs, const CostOf& cost)
      : segments_(segments), runs_(runs), sums_(static_cast<std::size_t>(runs)) {
    for (int r = 0; r < runs; ++r) {
      auto& sums = sums_[static_cast<std::size_t>(r)];
      sums.push_back(0);
      for (int s = 0; s < segments; ++s) sums.push_back(sums.back() + cost(r, s));
    }
  }

  // Returns the first segment of each sequence.
  std::vector<int> firsts() {
    limit_ = min_limit();
    firsts_.assign(static_cast<std::size_t>(runs_), std::vector<int>(places()));
    squares_.assign(places(), kNever);
    squares_[0] = 0;
    Ends begins(places());
    begins[0] = true;
    for (int r = 0; r < runs_; ++r) {
      begins = ends_of(r, begins, limit_);
      std::vector<int> ends;
      for (int end = 1; end <= segments_; ++end)
        if (begins[static_cast<std::size_t>(end)]) ends.push_back(end);
      before_ = std::exchange(squares_, std::vector<double>(places(), kNever));
      find_squares(r, ends, 0, segments_);
    }
    std::vector<int> firsts(static_cast<std::size_t>(runs_));
    for (int r = runs_ - 1, end = segments_; r >= 0; --r)
      firsts[static_cast<std::size_t>(r)] = end = first_of(r, end);
    return firsts;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  // Possible ends of a sequence: element n is true if the sequence can end after the first n
  // segments of the model. The next sequence can then begin there.
  using Ends = std::vector<bool>;

  std::size_t places() const { return static_cast<std::size_t>(segments_) + 1; }
  int& first_of(int run, int end) {
    return firsts_[static_cast<std::size_t>(run)][static_cast<std::size_t>(end)];
  }
  double cost(int run, int first, int end) const {
    const auto& sums = sums_[static_cast<std::size_t>(run)];
    return sums[static_cast<std::size_t>(end)] - sums[static_cast<std::size_t>(first)];
  }

  // Returns the positions at which sequence `run` can end if it begins at one of `begins` and costs
  // at most `limit`.
  Ends ends_of(int run, const Ends& begins, double limit) const {
    Ends ends(places());
    for (int end = 1, low = 0, within = 0; end <= segments_; ++end) {
      // Number of positions in [low, end) at which this sequence can begin.
      within += begins[static_cast<std::size_t>(end - 1)] ? 1 : 0;
      for (; low < end && cost(run, low, end) > limit; ++low)
        within -= begins[static_cast<std::size_t>(low)] ? 1 : 0;
      ends[static_cast<std::size_t>(end)] = within > 0;
    }
    return ends;
  }

  bool can_be_cut(double limit) const {
    Ends ends(places());
    ends[0] = true;
    for (int r = 0; r < runs_; ++r) ends = ends_of(r, ends, limit);
    return ends.back();
  }

  // Returns the least cost limit with which all segments can be divided into sequences. Bisects
  // over the bit patterns of costs, because non-negative floating-point numbers have the same order
  // as their bit patterns.
  double min_limit() const {
    double all = 0;
    for (const auto& sums : sums_) all = std::max(all, sums.back());
    std::uint64_t low = 0, high = std::bit_cast<std::uint64_t>(all);
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (can_be_cut(std::bit_cast<double>(middle))) high = middle;
      else low = middle + 1;
    }
    return std::bit_cast<double>(high);
  }

  // Divide and conquer. `ends`: possible ends of part number `run`. For each end, finds the start
  // in [from, to] with the least sum of squared costs of all parts so far. The best start never
  // decreases as the end increases, because squares are convex.
  void find_squares(int run, std::span<const int> ends, int from, int to) {
    if (ends.empty()) return;
    const std::size_t middle = ends.size() / 2;
    const int end = ends[middle];
    double& best = squares_[static_cast<std::size_t>(end)];
    for (int first = from; first <= std::min(to, end - 1); ++first) {
      const double own = cost(run, first, end),
                   squares = before_[static_cast<std::size_t>(first)] + own * own;
      if (own <= limit_ && squares < best) best = squares, first_of(run, end) = first;
    }
    find_squares(run, ends.first(middle), from, first_of(run, end));
    find_squares(run, ends.subspan(middle + 1), first_of(run, end), to);
  }

  int segments_, runs_;
  std::vector<std::vector<double>> sums_;  // By sequence: prefix sums of the cost of segments.
  double limit_ = 0;                       // Maximum cost of a sequence.
  std::vector<std::vector<int>> firsts_;   // First segment, by sequence and its end.
  std::vector<double> before_,
      // Both by end of a sequence: least sum of squared costs of all previous sequences
      // (`before_`), and of all sequences up to and including this one (`squares_`).
      squares_;
};

}  // namespace

int first_place(const StrategySpec& strategy) { return strategy.kind == StrategyKind::rpc ? 1 : 0; }

int segment_named(const model::Model& model, const std::string& name) {
  const auto at =
      std::find_if(model.segments.begin(), model.segments.end(),
                   [&](const model::Segment& segment) { return place_name(segment) == name; });
  return at == model.segments.end() ? -1 : static_cast<int>(at - model.segments.begin());
}

std::vector<int> owners_by(const std::vector<StagePlace>& places, const model::Model& model) {
  std::vector<int> owners(model.segments.size(), 0);
  for (const StagePlace& place : places)
    std::fill(owners.begin() + std::max(0, segment_named(model, place.segment)), owners.end(),
              static_cast<int>(place.rank));
  return owners;
}

bool is_round_robin(const std::vector<model::Stage>& stages, std::int64_t ranks) {
  for (std::size_t k = 0; k < stages.size(); ++k)
    if (stages[k].rank != stages[k % static_cast<std::size_t>(ranks)].rank) return false;
  return static_cast<std::int64_t>(stages.size()) % ranks == 0;
}

// Partitions segments into stages by cost, measured time or memory. A segment that is tied to the
// first segment and must be in the same stage is not in any sequence; its cost is added to that of
// the first segment.
std::vector<StagePlace> balanced(const Resolved& e, Partition by) {
  const auto& segments = e.model.segments;
  const bool together = e.model.ties() && !may_span_stages(e.document.strategy);
  const int tied = static_cast<int>(segments.size()) - 1;
  const std::vector<int> shared = partitioned_segments(e.document.strategy, e.model);
  const int count = static_cast<int>(shared.size());
  std::vector<int> owners(segments.size(), 0);
  if (count > 0) {
    const Turns turns = turns_of(e, count);
    const CostOf cost = by == Partition::memory ? bytes_of(e, turns) : seconds_of(e, turns);
    const CostOf with_tied = [&](int run, int i) {
      const int s = shared[static_cast<std::size_t>(i)];
      return cost(run, s) + (together && s == 0 ? cost(run, tied) : 0);
    };
    int run = 0;
    for (const int first : RunPartitioner(count, turns.runs, with_tied).firsts()) {
      for (int i = first; i < count; ++i)
        owners[static_cast<std::size_t>(shared[static_cast<std::size_t>(i)])] = turns.rank_of(run);
      ++run;
    }
  }
  if (together) owners.back() = owners.front();
  std::vector<StagePlace> places;
  for (const model::Stage& stage : model::stages_of(owners))
    places.push_back({place_name(segments[static_cast<std::size_t>(stage.first)]), stage.rank});
  return places;
}

}  // namespace trainyard::experiment

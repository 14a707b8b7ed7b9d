// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/stage_transfer.h"

#include <functional>
#include <set>

namespace trainyard::model {
namespace {

constexpr int kCaller = 0;

// Adds to the stages of the called ranks the stages of the calling rank in which it only forwards
// data, without a segment.
std::vector<Stage> called(const std::vector<Stage>& with_segments, bool by_value) {
  std::vector<Stage> stages;
  for (const Stage& stage : with_segments) {
    const bool calls = stages.empty() || (by_value && stages.back().rank != kCaller);
    if (stage.rank != kCaller && calls) stages.push_back({stage.first, stage.first - 1, kCaller});
    stages.push_back(stage);
  }
  const int last = stages.back().last;
  if (stages.back().rank != kCaller) stages.push_back({last + 1, last, kCaller});
  return stages;
}

// Inserts a stage of the calling rank between any two stages of called ranks, for outputs that are
// returned to the caller and sent on.
std::vector<int> with_relays(const std::vector<int>& path, const std::vector<Stage>& stages) {
  const auto rank_of = [&](int stage) { return stages[static_cast<std::size_t>(stage)].rank; };
  std::vector<int> all;
  for (const int stage : path) {
    if (!all.empty() && rank_of(all.back()) != rank_of(stage) && rank_of(all.back()) != kCaller &&
        rank_of(stage) != kCaller)
      all.push_back(stage - 1);
    all.push_back(stage);
  }
  return all;
}

bool drops(const Segment& segment) { return segment.kind == LayerKind::dropout; }

// Adds a transfer of samples, or of their numbers (`value`), to each rank that has a segment that
// needs them. The sender is the last stage of the calling rank before that segment.
void add_sample_transfers(const std::vector<Stage>& stages, int value,
                          const std::function<bool(int)>& asks, std::vector<Crossing>& list) {
  std::set<int> have{kCaller};
  for (int k = 0, caller = 0; k < static_cast<int>(stages.size()); ++k) {
    const Stage& stage = stages[static_cast<std::size_t>(k)];
    if (stage.rank == kCaller) caller = k;
    for (int s = stage.first; s <= stage.last; ++s)
      if (asks(s) && have.insert(stage.rank).second) list.push_back({value, caller, k});
  }
}

}  // namespace

StageGraph::StageGraph(const Model& model, const std::vector<int>& owners, RemoteCalls calls)
    : stages(stages_of(owners)) {
  const int segments = static_cast<int>(model.segments.size());
  if (calls != RemoteCalls::none) stages = called(stages, calls == RemoteCalls::by_value);
  paths = paths_of(model, stages);
  if (paths.back().back() != last() && calls != RemoteCalls::none) paths.back().push_back(last());
  if (calls == RemoteCalls::by_value)
    for (auto& path : paths) path = with_relays(path, stages);
  const auto segment = [&](int s) -> const Segment& {
    return model.segments[static_cast<std::size_t>(s)];
  };
  if (calls != RemoteCalls::none) {
    add_sample_transfers(
        stages, kSamples, [&](int s) { return s == 0 || segment(s).looks_up(); }, crossings);
    add_sample_transfers(
        stages, kSampleNumbers, [&](int s) { return drops(segment(s)); }, crossings);
  }
  for (int value = 0; value < segments; ++value) {
    const auto& path = paths[static_cast<std::size_t>(value)];
    std::set<int> have{rank_of(path.front())};
    for (std::size_t i = 1; i < path.size(); ++i)
      if (have.insert(rank_of(path[i])).second) crossings.push_back({value, path[i - 1], path[i]});
  }
  for (int value = model.first_with_parameters; value < segments; ++value) {
    const auto& path = paths[static_cast<std::size_t>(value)];
    for (std::size_t i = path.size(); i-- > 1;)
      if (rank_of(path[i]) != rank_of(path[i - 1]))
        crossings.push_back({value, path[i], path[i - 1]});
  }
}

}  // namespace trainyard::model

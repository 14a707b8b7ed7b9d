// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/measured_partition.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "core/experiment/mesh.h"
#include "core/experiment/stages.h"

namespace trainyard::experiment {

bool needs_measured_times(const StrategySpec& strategy) {
  return has_stages(strategy.kind) && strategy.stages.partition == Partition::measured &&
         strategy.stages.times.empty();
}

std::optional<std::string> times_pending_line(const StrategySpec& strategy) {
  if (!needs_measured_times(strategy)) return std::nullopt;
  return "layer times are measured on this machine before the run; until then layers are "
         "partitioned "
         "by cost, which determines the memory and bytes shown";
}

void set_measured_times(Resolved& resolved, std::vector<SegmentTime> times) {
  StageSpec& stages = resolved.document.strategy.stages;
  stages.times = std::move(times);
  stages.places = places_of(resolved);
}

std::string segment_times_text(const Resolved& resolved) {
  const std::vector<SegmentTime>& times = resolved.document.strategy.stages.times;
  if (needs_measured_times(resolved.document.strategy))
    return " (by cost, until layers are measured before the run)";
  if (resolved.document.strategy.stages.partition != Partition::measured) return "";
  std::vector<double> seconds(static_cast<std::size_t>(mesh_of(resolved).pipeline));
  const std::vector<int> owners = owners_of(resolved);
  for (std::size_t s = 0; s < owners.size(); ++s)
    seconds[static_cast<std::size_t>(owners[s])] += times[s].seconds;
  std::string text;
  for (const double of_rank : seconds)
    text += (text.empty() ? "; measured " : ", ") + base::format_seconds(of_rank);
  return text + " per sample";
}

base::Problems time_problems(const StageSpec& stages, const model::Model& model) {
  if (stages.partition != Partition::measured || stages.times.empty()) return {};
  const std::string all =
      fmt::format("every layer from {} to {} once, in model order",
                  place_name(model.segments.front()), place_name(model.segments.back()));
  const std::string advice =
      "Clear strategy.stages.times. The times are then measured before the run.";
  for (std::size_t i = 0; i < std::min(stages.times.size(), model.segments.size()); ++i)
    if (const std::string wanted = place_name(model.segments[i]); stages.times[i].segment != wanted)
      return {{"times_out_of_order", base::ProblemCode::bad_input,
               fmt::format("strategy.stages.times[{}].segment", i),
               fmt::format("found layer \"{}\" where layer {} is expected", stages.times[i].segment,
                           wanted),
               all, advice}};
  if (stages.times.size() == model.segments.size()) return {};
  return {{"times_incomplete", base::ProblemCode::bad_input, "strategy.stages.times",
           fmt::format("the list has {} of {}", base::counted(std::ssize(stages.times), "time"),
                       base::counted(std::ssize(model.segments), "layer")),
           all, advice}};
}

}  // namespace trainyard::experiment
